"""Gather: fetch the rows that an index list names. Here each order fetches the record of its customer."""

import numpy as np
import sheaf

customers = np.array([(b"ann", 0.0), (b"bo", 0.1), (b"cy", 0.2)], dtype=[("name", "S8"), ("discount", "f4")])
customer_of_order = np.array([2, 0, 2, 1])

of_order = sheaf.gather(customers, customer_of_order)  # an index that names no row raises IndexError
for name, discount in of_order:
    print(name.decode(), f"{discount:.1f}")

# Prints:
# cy 0.2
# ann 0.0
# cy 0.2
# bo 0.1
