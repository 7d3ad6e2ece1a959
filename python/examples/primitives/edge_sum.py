"""Sums over edges: each edge of a mesh adds to one of its nodes and subtracts from the other.

Here heat flows between the nodes of a square, along its sides and a diagonal that conducts half as well, and no heat is
lost.
"""

import numpy as np
import sheaf

edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
conductance = np.array([1, 1, 1, 1, 0.5])
heat = np.array([8.0, 0, 0, 0])

flow = sheaf.prepare_edge_sum(edges, nodes=4, components=1, runs=100)
for step in range(100):
    heat += 0.1 * flow(heat, weights=conductance)  # conductance (u_j - u_i)
print(*heat.round(2))

# Prints:
# 2.0 2.0 2.0 2.0
