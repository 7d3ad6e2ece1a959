"""Split: bring the rows of each category together, in order. Here points go to the four quarters of a square."""

import numpy as np
import sheaf

points = np.array([[0.9, 0.1], [0.1, 0.2], [0.7, 0.8], [0.3, 0.4], [0.6, 0.3]])
quarter = ((points[:, 0] >= 0.5) + 2 * (points[:, 1] >= 0.5)).astype(np.uint8)

by_quarter, begin = sheaf.split(points, quarter, 4)
for q in range(4):
    print(f"quarter {q}:", *by_quarter[begin[q] : begin[q + 1]].tolist())

# Prints:
# quarter 0: [0.1, 0.2] [0.3, 0.4]
# quarter 1: [0.9, 0.1] [0.6, 0.3]
# quarter 2:
# quarter 3: [0.7, 0.8]
