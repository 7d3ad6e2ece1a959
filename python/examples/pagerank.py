"""PageRank: many products by one sparse matrix, which is inspected once."""

import numpy as np
import scipy.sparse

import sheaf

rng = np.random.default_rng(3)
pages, links, damping = 20_000, 200_000, 0.85
source = rng.integers(0, pages, links)
target = (pages * rng.random(links) ** 3).astype(np.int64)  # few pages have many links
degree = np.bincount(source, minlength=pages)
matrix = scipy.sparse.csr_array((1.0 / degree[source], (target, source)), (pages, pages))

product = sheaf.csr(matrix).prepare(runs=100)
rank = np.full(pages, 1 / pages)
following = np.empty(pages)
for step in range(1, 101):
    product.matvec(rank, out=following)
    lost = 1 - following.sum()  # what pages without links pass on to all
    following *= damping
    following += (1 - damping) / pages + damping * lost / pages
    change = np.abs(following - rank).sum()
    rank, following = following, rank
    if change < 1e-10:
        break

assert abs(rank.sum() - 1) < 1e-9
best, best_pages = sheaf.top_k(rank, 3)
print(f"{step} steps by the variant {product.report['variant']}; the first three pages: {best_pages.tolist()}")
