"""Hash search: the rows that have a key, for many keys at once.

Here it joins orders to customers: each pair of an order and a customer of the same number, of which there may be none or
several.
"""

import numpy as np
import sheaf

customer_number = np.array([1007, 1001, 1003, 1007])
number_in_order = np.array([1003, 1007, 9999])

first, customer = sheaf.HashIndex(customer_number).search(number_in_order)
order = np.repeat(np.arange(len(number_in_order)), np.diff(first))
for pair in zip(order, customer):
    print("order {} is of customer {}".format(*pair))

# Prints:
# order 0 is of customer 2
# order 1 is of customer 0
# order 1 is of customer 3
