"""Sort: whole records by fields that lie in them.

Here people by age, the oldest first, and by name where ages are equal.
"""

import numpy as np
import sheaf

people = np.array([(41, b"max"), (7, b"bo"), (41, b"ann"), (90, b"eve")], dtype=[("age", "i4"), ("name", "S4")])

for age, name in sheaf.sort(people, keys=["age", "name"], descending=[True, False]):
    print(age, name.decode())

# Prints:
# 90 eve
# 41 ann
# 41 max
# 7 bo
