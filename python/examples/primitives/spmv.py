"""Sparse matrix-vector product: ``A @ x`` of a matrix in compressed rows.

Here it is prepared once for many products, by which a walker on three pages that link to each other finds how often each
is visited.
"""

import numpy as np
import sheaf

# Row: to this page; column: from that page. Page 0 links to 1 and 2, page 1 to 2, page 2 to 0.
offsets, columns, share = np.array([0, 1, 2, 4]), np.array([2, 0, 0, 1]), np.array([1.0, 0.5, 0.5, 1.0])
walk = sheaf.csr((share, columns, offsets), shape=(3, 3)).prepare(runs=100)

visits = np.full(3, 1 / 3)
for step in range(100):
    visits = walk @ visits
print(*visits.round(2))

# Prints:
# 0.4 0.2 0.4
