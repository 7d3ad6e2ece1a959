"""Scatter: put rows where an index list says. Here readings of sensors arrive in any order, and the last one counts."""

import numpy as np
import sheaf

sensor = np.array([3, 1, 3, 0])
reading = np.array([20.5, 18.0, 21.0, 19.5])
latest = np.full(5, -1.0)  # sensors that did not report keep this

sheaf.scatter(reading, sensor, latest, duplicates="last")
print(*latest)

# Prints:
# 19.5 18.0 -1.0 21.0 -1.0
