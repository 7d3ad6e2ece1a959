"""``python -m sheaf.torch.bench``: training with sheaf.torch beside torch's own calls.

Times are medians of steps of forward and backward, by CUDA events, or by the clock on the CPU. The last column is
torch's time over ours: above 1, sheaf is faster. Tables are in Markdown, as docs/torch.md has them.
"""

import argparse
import math
import time

import torch

import sheaf
import sheaf.torch


class Steps:
    """Times steps in turn: at least three of each, and more while there is time."""

    def __init__(self, device, seconds):
        self.device, self.seconds = device, seconds

    def milliseconds(self, step):
        if self.device == "cpu":
            begin = time.perf_counter()
            step()
            return (time.perf_counter() - begin) * 1e3
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def medians(self, *steps):
        for step in steps:
            step()
        times = [[] for _ in steps]
        end = time.perf_counter() + self.seconds
        while len(times[0]) < 3 or (time.perf_counter() < end and len(times[0]) < 50):
            for step, taken in zip(steps, times, strict=True):
                taken.append(self.milliseconds(step))
        return [sorted(taken)[len(taken) // 2] for taken in times]


def heading(unit):
    print(
        f"\n| what | sheaf.torch, {unit} | torch | {unit} | torch / sheaf |\n| --- | --- | --- | --- | --- |",
        flush=True,
    )


def row(what, ours, peer, theirs):
    print(f"| {what} | {ours:.3f} | {peer} | {theirs:.3f} | {theirs / ours:.2f} |", flush=True)


def backward(leaf, result):
    """A whole step: the result, and its gradient for the leaf. The gradient of the result is the result."""
    made = result()
    leaf.grad = None
    made.backward(made.detach())


def in_deterministic_mode(step):
    def run():
        torch.use_deterministic_algorithms(True)
        try:
            step()
        finally:
            torch.use_deterministic_algorithms(False)

    return run


def message_passing(steps, nodes, edges, width):
    """The sum of 64 features of each node's neighbours, and its gradient."""
    device = steps.device
    x = torch.randn(nodes, width, device=device, requires_grad=True)
    source, target = (torch.randint(0, nodes, (edges,), device=device) for _ in range(2))
    pair = torch.stack([source, target])
    lists, layer = sheaf.torch.prepare_edges(pair, nodes), sheaf.torch.MessagePassing()

    def with_torch():
        return torch.zeros(nodes, width, device=device).index_add_(0, target, x[source])

    def with_calls():
        return sheaf.torch.scatter_reduce(sheaf.torch.gather(x, source), target, size=nodes)

    ours = {
        "prepared lists": lambda: layer(x, lists),
        "lists made in each step": lambda: layer(x, sheaf.torch.prepare_edges(pair, nodes)),
        "gather and scatter_reduce": with_calls,
    }
    torch.testing.assert_close(layer(x, lists), with_torch(), rtol=1e-4, atol=1e-3)
    theirs = lambda: backward(x, with_torch)  # noqa: E731
    what = f"messages along {edges:.0e} edges of {width} float32 into {nodes:.0e} nodes"
    heading("ms")
    for name, result in ours.items():
        mine, other = steps.medians(lambda result=result: backward(x, result), theirs)
        row(f"{what}, {name}", mine, "gather, `index_add_`", other)
    step = lambda: backward(x, ours["prepared lists"])  # noqa: E731
    mine, other = steps.medians(step, in_deterministic_mode(theirs))
    row(f"{what}, prepared lists", mine, "the same, deterministic", other)
    (once,) = steps.medians(lambda: sheaf.torch.prepare_edges(pair, nodes))
    print(f"\nprepare_edges takes {once:.3f} ms once.", flush=True)


def zipf(count, rows, device):
    """Row numbers whose ranks follow Zipf's law, the ranks spread over the table."""
    ranks = (torch.rand(count, device=device, dtype=torch.float64) * math.log(rows)).exp().long()
    return ranks.clamp(1, rows) * 2654435761 % rows


def embeddings(steps, rows, count, width):
    """Rows of a large table, whose popular rows come often, and the dense gradient of the table."""
    table = torch.randn(rows, width, device=steps.device, requires_grad=True)
    index = zipf(count, rows, steps.device)
    offsets = torch.arange(0, count + 1, 20, device=steps.device)
    offsets = torch.cat([offsets, torch.full_like(offsets[:1], count)]) if offsets[-1] != count else offsets

    def bags():
        return torch.nn.functional.embedding_bag(index, table, offsets, mode="sum", include_last_offset=True)

    what = f"{count:.0e} Zipf rows of {rows:.0e} x {width} float32"
    heading("ms")
    gather = lambda: backward(table, lambda: sheaf.torch.gather(table, index))  # noqa: E731
    lookup = lambda: backward(table, lambda: torch.nn.functional.embedding(index, table))  # noqa: E731
    row(f"embedding of {what}", *between(steps.medians(gather, lookup), "`embedding`"))
    row(
        f"embedding of {what}",
        *between(steps.medians(gather, in_deterministic_mode(lookup)), "the same, deterministic"),
    )
    ours = lambda: backward(table, lambda: sheaf.torch.gather_reduce(table, index, offsets))  # noqa: E731
    row(f"bags of 20 of {what}", *between(steps.medians(ours, lambda: backward(table, bags)), "`embedding_bag`"))


def between(medians, peer):
    return medians[0], peer, medians[1]


def small_calls(device, seconds):
    """What the host spends on a gather of 100 rows of 32 bytes: by the calls, and by torch's dispatcher."""
    table, index = torch.randn(1000, 8, device=device), torch.randint(0, 1000, (100,), device=device)
    leaf = table.clone().requires_grad_()
    operator = torch.ops.sheaf.gather.default

    def microseconds(call):
        times = []
        end = time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            if device != "cpu":
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(500):
                call()
            times.append((time.perf_counter() - begin) / 500 * 1e6)
        return sorted(times)[len(times) // 2]

    heading("us")
    ours, theirs = lambda: sheaf.torch.gather(table, index), lambda: torch.index_select(table, 0, index)
    row("gather of 100 rows", microseconds(ours), "`index_select`", microseconds(theirs))
    ours, theirs = lambda: sheaf.torch.gather(leaf, index), lambda: torch.index_select(leaf, 0, index)
    row("the same, recorded by autograd", microseconds(ours), "`index_select`", microseconds(theirs))
    plain = lambda: sheaf.gather(table, index)  # noqa: E731
    plain, dispatcher = lambda: sheaf.gather(table, index), lambda: operator(table, index)  # noqa: E731
    row("`sheaf.gather`", microseconds(plain), "operator `sheaf::gather`", microseconds(dispatcher))
    dispatcher = lambda: operator(leaf, index)  # noqa: E731
    row("gather, recorded", microseconds(ours), "operator, recorded", microseconds(dispatcher))
    # Of no rows nothing is queued: the host's work alone, which the device's may hide.
    none = index[:0]
    plain, direct = lambda: sheaf.gather(table, none), lambda: sheaf.torch.gather(table, none)  # noqa: E731
    row("`sheaf.gather` of no rows", microseconds(plain), "`sheaf.torch.gather`", microseconds(direct))
    dispatcher = lambda: operator(table, none)  # noqa: E731
    row("`sheaf.gather` of no rows", microseconds(plain), "operator `sheaf::gather`", microseconds(dispatcher))


def main():
    parser = argparse.ArgumentParser(prog="python -m sheaf.torch.bench", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--edges", type=int, default=20_000_000, help="edges; a tenth as many nodes (default: 2e7)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table of embeddings (default: 1e7)")
    parser.add_argument("--lookups", type=int, default=4_000_000, help="rows that are looked up (default: 4e6)")
    parser.add_argument("--width", type=int, default=64, help="float32 in a row (default: 64)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each comparison (default: 2)")
    options = parser.parse_args()
    if min(options.edges, options.rows, options.lookups, options.width) < 20:
        parser.error("sizes are to be 20 or more")
    name = torch.cuda.get_device_name(options.device) if options.device != "cpu" else "CPU"
    print(f"sheaf {sheaf.__version__}, torch {torch.__version__}, {name}")
    torch.manual_seed(1)
    steps = Steps(options.device, options.seconds)
    small_calls(options.device, min(options.seconds, 0.5))
    message_passing(steps, options.edges // 10, options.edges, options.width)
    if options.device != "cpu":
        torch.cuda.empty_cache()
    embeddings(steps, options.rows, options.lookups, options.width)


if __name__ == "__main__":
    main()
