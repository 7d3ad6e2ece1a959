"""GraphSAGE on a graph that is made here: two layers of neighbours' means, trained to tell communities apart.

With torch_geometric, if it is installed, the same model is trained beside, with the same weights to begin with. The
default sizes take a second; ``--nodes 1000000 --edges 10000000 --features 64 --device cuda`` is a graph of 10^7 edges.
"""

import argparse
import time

import torch

import sheaf.torch


def graph_of(nodes, edges, features, communities, device):
    """Edges that mostly stay within a community, and features that say little about it on their own."""
    label = torch.randint(0, communities, (nodes,), device=device)
    source = torch.randint(0, nodes, (edges,), device=device)
    by_label = sheaf.torch.argsort(label)
    begins = torch.nn.functional.pad(torch.bincount(label, minlength=communities).cumsum(0), (1, 0))
    sizes = begins.diff()[label[source]]
    mate = (torch.rand(edges, device=device) * sizes).long().clamp(max=nodes - 1)
    mate = sheaf.torch.gather(by_label, (begins[label[source]] + mate).clamp(max=nodes - 1))
    anybody = torch.randint(0, nodes, (edges,), device=device)
    target = torch.where(torch.rand(edges, device=device) < 0.7, mate, anybody)
    x = torch.randn(nodes, features, device=device)
    x[:, :communities] += torch.nn.functional.one_hot(label, communities)[:, :features]
    return torch.stack([source, target]), x, label


class Sage(torch.nn.Module):
    """A node's new features: one matrix times the mean of its neighbours', and another times its own."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.mean = sheaf.torch.MessagePassing("mean")
        self.lin_l, self.lin_r = torch.nn.Linear(inputs, outputs), torch.nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, edges):
        return self.lin_l(self.mean(x, edges)) + self.lin_r(x)


class Model(torch.nn.Module):
    def __init__(self, layer, features, hidden, communities):
        super().__init__()
        self.first, self.second = layer(features, hidden), layer(hidden, communities)

    def forward(self, x, edges):
        return self.second(torch.relu(self.first(x, edges)), edges)


def train(name, model, x, edges, label, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        scores = model(x, edges)
        loss = torch.nn.functional.cross_entropy(scores, label)
        loss.backward()
        optimizer.step()
        last = loss.item()  # waits
        times.append(time.perf_counter() - begin)
    right = (scores.argmax(1) == label).float().mean().item()
    median = sorted(times)[len(times) // 2]
    print(f"{name}: loss {last:.4f}, {right:.1%} of nodes right, {median * 1e3:.2f} ms a step")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--edges", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--communities", type=int, default=6)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(3)
    edges, x, label = graph_of(options.nodes, options.edges, options.features, options.communities, options.device)
    sizes = options.features, options.hidden, options.communities
    ours = Model(Sage, *sizes).to(options.device)
    try:
        from torch_geometric.nn import SAGEConv
    except ImportError:
        SAGEConv = None
        print("torch_geometric is not installed: nothing is trained beside")
    if SAGEConv is not None:
        theirs = Model(SAGEConv, *sizes).to(options.device)
        theirs.load_state_dict(ours.state_dict())
    lists = sheaf.torch.prepare_edges(edges, options.nodes)  # one for both layers
    train("sheaf.torch", ours, x, lists, label, options.steps)
    if SAGEConv is not None:
        train("torch_geometric", theirs, x, edges, label, options.steps)


if __name__ == "__main__":
    main()
