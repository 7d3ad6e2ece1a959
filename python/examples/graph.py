"""The features of each node's neighbours, averaged: one layer of a graph network, by gather and edge lists."""

import numpy as np

import sheaf

rng = np.random.default_rng(2)
nodes, edges, width = 50_000, 400_000, 32
source = rng.integers(0, nodes, edges)
target = rng.integers(0, nodes, edges)
features = rng.normal(size=(nodes, width)).astype(np.float32)

# Edges by target: the neighbours of node n are neighbours[offsets[n]:offsets[n + 1]].
order, offsets = sheaf.split_index(target.astype(np.uint32), nodes)
neighbours = sheaf.gather(source, order)

# The rows of all neighbours side by side, node by node.
rows = sheaf.gather(features, neighbours, pattern="random")
degree = np.diff(offsets)
some = int(np.argmax(degree))
mean = rows[offsets[some] : offsets[some + 1]].mean(axis=0)
np.testing.assert_allclose(mean, features[source[target == some]].mean(axis=0), rtol=1e-4, atol=1e-6)

# One feature alone needs no rows: sums over lists are a product by a sparse matrix.
first = np.ascontiguousarray(features[:, 0])
sums = sheaf.gather_reduce(first, neighbours, offsets)
np.testing.assert_allclose(sums[some], features[source[target == some], 0].sum(), rtol=1e-4, atol=1e-4)

# How far each node is from the mean of its neighbours: minus the Laplacian, times the features of eight columns.
edge_pairs = np.stack([source, target], axis=1)
laplacian = sheaf.edge_sum(edge_pairs, np.ascontiguousarray(features[:, :8]))
print(
    f"{nodes} nodes, {edges} edges; node {some} has {degree[some]} neighbours; |L u| = {np.linalg.norm(laplacian):.1f}"
)
