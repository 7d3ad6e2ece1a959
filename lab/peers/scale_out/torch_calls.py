#!/usr/bin/env python3
"""What one would write with PyTorch in place of calls between GPUs: torch.sort, index_select and all_to_all_single over
NCCL, one process a GPU. Writes rows of the form that `sheaf-bench scale-out --json` writes, with "who": "torch".

    torch_calls.py --devices 2 --log2-sizes 20,24,27 --json torch.json

Every answer is checked. Times are medians, taken as sheaf-bench takes its own: calls between processes from when the
first one begins until the last one is done, by the clock of their one host; calls of one GPU by the slowest process.
PyTorch sorts and indexes by int64: keys are signed, and lists of indices have 8 bytes an entry, where the rows that are
named u32 have 4. Rows say so in "note".
"""

import argparse
import datetime
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

ROUNDS = 7
SAMPLES = 1024
FACTOR = 0x1E3779B97F4A7C15  # odd, so that rows have different words


class Ranks:
    """This process, and what it measures with."""

    def __init__(self, rank, size, device):
        self.rank, self.size, self.device = rank, size, device

    def seconds(self, call, is_together=True):
        """Times from when the first process begins until the last one is done, or where processes do not wait for each
        other, of the slowest one's own call."""
        times = []
        for measured in range(ROUNDS + 1):
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.monotonic_ns()  # one clock for the processes of a host
            call()
            torch.cuda.synchronize()
            end = time.monotonic_ns()
            edges = torch.tensor([end, -begin, end - begin], dtype=torch.int64, device=self.device)
            dist.all_reduce(edges, dist.ReduceOp.MAX)
            last_end, minus_first_begin, longest = edges.tolist()
            if measured:
                times.append((last_end + minus_first_begin if is_together else longest) * 1e-9)
        return times

    def all_to_all(self, parts, counts, width=1):
        """Rows of `width` words for each process; returns what came, and how many of each."""
        sent = torch.tensor(counts, device=self.device)
        got = torch.empty_like(sent)
        dist.all_to_all_single(got, sent)
        got = got.tolist()
        shape = (sum(got),) if width == 1 else (sum(got), width)
        came = torch.empty(shape, dtype=torch.int64, device=self.device)
        dist.all_to_all_single(came, parts, got, counts)
        return came, got

    def all_agree(self, is_right):
        agreed = torch.tensor([1 if is_right else 0], device=self.device)
        dist.all_reduce(agreed, dist.ReduceOp.MIN)
        return bool(agreed[0])


def random_numbers(ranks, count, seed):
    generator = torch.Generator(device=ranks.device)
    generator.manual_seed(seed * 1000 + ranks.rank)
    return torch.randint(-2**63, 2**63 - 1, (count,), dtype=torch.int64, device=ranks.device, generator=generator)


def sort_between(ranks, keys):
    """A sort of this process's keys, splitters of a sample, an exchange, and a sort of what came."""
    mine = torch.sort(keys).values
    sample = mine[:: max(1, mine.numel() // SAMPLES)][:SAMPLES].contiguous()
    samples = torch.empty(sample.numel() * ranks.size, dtype=torch.int64, device=ranks.device)
    dist.all_gather_into_tensor(samples, sample)
    samples = torch.sort(samples).values
    places = [samples.numel() * r // ranks.size for r in range(1, ranks.size)]
    ends = torch.searchsorted(mine, samples[places]).tolist() + [mine.numel()]
    counts = [end - begin for begin, end in zip([0] + ends, ends)]
    came, _ = ranks.all_to_all(mine, counts)
    return torch.sort(came).values


def is_sorted_between(ranks, keys, out):
    """In order within and between processes, and with the sum of the input."""
    ends = torch.stack([out[0], out[-1]]) if out.numel() else torch.zeros(2, dtype=torch.int64, device=ranks.device)
    all_ends = torch.empty(2 * ranks.size, dtype=torch.int64, device=ranks.device)
    dist.all_gather_into_tensor(all_ends, ends)
    sums = torch.stack([(keys * FACTOR ^ keys >> 7).sum() - (out * FACTOR ^ out >> 7).sum(),
                        torch.tensor(keys.numel() - out.numel(), device=ranks.device)])
    dist.all_reduce(sums)
    is_in_order = bool((out[1:] >= out[:-1]).all()) and bool((all_ends[1:] >= all_ends[:-1]).all())
    return ranks.all_agree(is_in_order and not sums.any())


def gather_between(ranks, table, index):
    """Entries in the order of their owners, their rows asked for, and records brought back into the order of the list."""
    rows, width = table.shape
    owner, order = torch.sort(torch.div(index, rows, rounding_mode="floor"), stable=True)
    asked = index[order] - owner * rows
    counts = torch.bincount(owner, minlength=ranks.size).tolist()
    wanted, wanted_counts = ranks.all_to_all(asked, counts)
    served = table.index_select(0, wanted)
    came = torch.empty((index.numel(), width), dtype=torch.int64, device=ranks.device)
    dist.all_to_all_single(came, served, counts, wanted_counts)
    out = torch.empty_like(came)
    out[order] = came
    return out


def words_of(rows, width):
    places = torch.arange(width, dtype=torch.int64, device=rows.device)
    return rows[:, None] * FACTOR + places[None, :]


class Rows:
    def __init__(self, ranks):
        self.ranks, self.rows = ranks, []

    def add(self, problem, times, verified, one_seconds, note):
        row = {"problem": problem, "who": "torch", "is_prepared": False, "backend": "cuda",
               "devices": self.ranks.size, "transport": "nccl", "calls": len(times),
               "median_seconds": statistics.median(times), "least_seconds": min(times), "most_seconds": max(times),
               "one_seconds": one_seconds, "verified": verified, "note": note}
        self.rows.append(row)
        if self.ranks.rank == 0:
            print(f"{problem:<52} {row['median_seconds'] * 1e3:9.3f} ms{'' if verified else '  WRONG ANSWER'}", flush=True)


def run_sort(ranks, found, count):
    keys = random_numbers(ranks, count, 1)
    out = sort_between(ranks, keys)
    one = statistics.median(ranks.seconds(lambda: torch.sort(keys), is_together=False))
    found.add(f"sort_keys/uniform/r8/u64/n={count}", ranks.seconds(lambda: sort_between(ranks, keys)),
              is_sorted_between(ranks, keys, out), one, "keys are int64")


def run_gather(ranks, found, count, record_bytes):
    rows = count if record_bytes == 8 else count * 16 // record_bytes
    width = record_bytes // 8
    first = ranks.rank * rows
    table = words_of(torch.arange(first, first + rows, dtype=torch.int64, device=ranks.device), width)
    index = random_numbers(ranks, rows, 2) & 0x7FFFFFFFFFFFFFFF
    index %= rows * ranks.size
    out = gather_between(ranks, table, index)
    is_right = ranks.all_agree(bool((out == words_of(index, width)).all()))
    del out
    own = index % rows
    one = statistics.median(ranks.seconds(lambda: table.index_select(0, own), is_together=False))
    found.add(f"gather/uniform/r{record_bytes}/u32/n={rows}", ranks.seconds(lambda: gather_between(ranks, table, index)),
              is_right, one, "indices are int64")


def write(path, ranks, rows):
    document = {"schema_version": 2,
                "recorded": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "machines": {"cuda": {"machine": torch.cuda.get_device_name(ranks.device),
                                      "versions": {"torch": torch.__version__,
                                                   "nccl": ".".join(map(str, torch.cuda.nccl.version()))}}},
                "rows": []}
    text = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps(document, indent=0)[:-2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{head},\n"scale_out_rows": [\n{text}\n]\n}}\n')


def run(rank, arguments):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=arguments.devices)
    ranks = Ranks(rank, arguments.devices, torch.device("cuda", rank))
    found = Rows(ranks)
    for log2_size in arguments.log2_sizes.split(","):
        count = 1 << int(log2_size)
        run_sort(ranks, found, count)
        for record_bytes in (8, 128, 1024):
            run_gather(ranks, found, count, record_bytes)
        torch.cuda.empty_cache()
    if rank == 0:
        write(arguments.json, ranks, found.rows)
    dist.destroy_process_group()
    if not all(row["verified"] for row in found.rows):
        raise SystemExit("an answer is wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--log2-sizes", default="20,24,27", help="rows of 8 bytes for each device, as powers of two")
    parser.add_argument("--json", required=True, help="file to write")
    arguments = parser.parse_args()
    multiprocessing.spawn(run, args=(arguments,), nprocs=arguments.devices)


if __name__ == "__main__":
    main()
