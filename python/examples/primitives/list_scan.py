"""List scan: prefix sums along linked lists that lie in an array.

Here stops of two bus lines are linked to the next stop, and each gets its number on the line and the minutes from the
line's first stop to it.
"""

import numpy as np
import sheaf

following = np.array([2, -1, 4, 1, -1])  # the lines 0, 2, 4 and 3, 1
minutes = np.array([3, 5, 4, 2, 6])  # from the stop to the one after it

number = sheaf.list_rank(following, lists="many")
from_first = sheaf.list_scan(following, minutes, "add", initial=0, lists="many")
print(*number)
print(*from_first)

# Prints:
# 0 1 1 0 2
# 0 2 3 0 7
