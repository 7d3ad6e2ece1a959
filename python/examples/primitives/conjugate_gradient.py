"""Conjugate gradient: solve A x = b for a symmetric positive definite matrix.

Here springs hold a row of masses, each pulled by a force of 1, and x is how far each one moves.
"""

import numpy as np
import sheaf

masses = 5
rows = [[(j, 2.0 if i == j else -1.0) for j in (i - 1, i, i + 1) if 0 <= j < masses] for i in range(masses)]
columns = np.array([column for row in rows for column, _ in row])
entries = np.array([entry for row in rows for _, entry in row])
offsets = np.cumsum([0] + [len(row) for row in rows])

moved, info = sheaf.cg(sheaf.csr((entries, columns, offsets), shape=(masses, masses)), np.ones(masses))
print("converged" if info == 0 else "not converged", *moved.round(6))

# Prints:
# converged 2.5 4.0 4.5 4.0 2.5
