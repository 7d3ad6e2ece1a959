"""The features of each node's neighbours, averaged: one layer of a graph network, in three ways."""

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

# The mean of the rows of each node's neighbours. Nothing of 400,000 rows is stored in between.
mean = sheaf.gather_reduce(features, neighbours, offsets, "mean", pattern="random")
degree = np.diff(offsets)
some = int(np.argmax(degree))
np.testing.assert_allclose(mean[some], features[source[target == some]].mean(axis=0), rtol=1e-4, atol=1e-6)

# Without the order, from rows that are there already: messages along edges, combined where they arrive.
messages = sheaf.gather(features, source)
arrived, counts = sheaf.scatter_reduce(messages, target, size=nodes, op="mean", counts=True)
np.testing.assert_array_equal(counts, degree)
np.testing.assert_allclose(arrived, mean, rtol=1e-4, atol=1e-5)

# The sums are also a product by a sparse matrix, with a weight for each edge.
adjacency = sheaf.csr((np.ones(edges, np.float32), neighbours, offsets), (nodes, nodes))
np.testing.assert_allclose(adjacency @ features, mean * degree[:, None], rtol=1e-4, atol=1e-4)

# How far each node is from the mean of its neighbours: minus the Laplacian, times the features of eight columns.
edge_pairs = np.stack([source, target], axis=1)
laplacian = sheaf.edge_sum(edge_pairs, np.ascontiguousarray(features[:, :8]))
print(
    f"{nodes} nodes, {edges} edges; node {some} has {degree[some]} neighbours; |L u| = {np.linalg.norm(laplacian):.1f}"
)
