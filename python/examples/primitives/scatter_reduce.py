"""Scatter with a reduction: combine the rows that an index list names alike.

Here rows are measurements of two values, and each station gets their mean and how many there were.
"""

import numpy as np
import sheaf

station = np.array([0, 2, 0, 2, 2])
measured = np.array([[10, 1], [20, 2], [12, 3], [22, 4], [24, 6]], np.float32)  # temperature and wind

mean, counts = sheaf.scatter_reduce(measured, station, size=3, op="mean", counts=True)
for row, count in zip(mean, counts):
    print(count, "measurements,", *row)

# Prints:
# 2 measurements, 11.0 2.0
# 0 measurements, 0.0 0.0
# 3 measurements, 22.0 4.0
