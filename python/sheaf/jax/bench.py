"""``python -m sheaf.jax.bench``: sums of segments by sheaf.jax beside those of JAX, each inside jit.

Times are medians of calls that are waited for. The last column is JAX's time over ours: above 1, sheaf is faster. The
table is in Markdown, as docs/jax.md has it.
"""

import argparse
import time
from functools import partial

import jax
import jax.numpy as jnp

import sheaf
import sheaf.jax


def medians(seconds, *calls):
    """Milliseconds of calls that take turns: at least three of each, and more while there is time."""
    for call in calls:
        jax.block_until_ready(call())
    times = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while len(times[0]) < 3 or (time.perf_counter() < end and len(times[0]) < 50):
        for call, taken in zip(calls, times, strict=True):
            begin = time.perf_counter()
            jax.block_until_ready(call())
            taken.append((time.perf_counter() - begin) * 1e3)
    return [sorted(taken)[len(taken) // 2] for taken in times]


def random_segments(rows, segments):
    """Segments whose rows lie anywhere."""
    return jax.random.randint(jax.random.key(1), (rows,), 0, segments, jnp.int32)


@partial(jax.jit, static_argnums=(0, 1))
def whole_numbers(rows, width):
    """Numbers from -8 to 8, whose sums are exact: they have the same bits in any order."""
    row, column = (jax.lax.broadcasted_iota(jnp.int32, (rows, width), axis) for axis in (0, 1))
    return ((row % 1009 * 31 + column % 1009 * 7) % 17 - 8).astype(jnp.float32)


def sums(rows, segments, width, seconds):
    data = whole_numbers(rows, width)
    shuffled = random_segments(rows, segments)
    what = f"{rows:.0e} rows of {width} float32 into {segments:.0e} segments"
    print("| what | sheaf.jax, ms | JAX, ms | JAX / sheaf |\n| --- | --- | --- | --- |", flush=True)
    for place, ids in (("in any order", shuffled), ("sorted", jnp.sort(shuffled))):
        ours = {
            order: jax.jit(partial(sheaf.jax.segment_sum, num_segments=segments, order=order))
            for order in ("deterministic", "any")
        }
        is_sorted = place == "sorted"
        theirs = jax.jit(partial(jax.ops.segment_sum, num_segments=segments, indices_are_sorted=is_sorted))
        wanted = theirs(data, ids)
        for order, call in ours.items():
            made = call(data, ids)
            wrong = jnp.any(made != wanted, axis=1)
            if wrong.any():
                first = int(jnp.argmax(wrong))
                raise SystemExit(
                    f"the sums of {what}, {place}, order '{order}', are not those of JAX: {int(wrong.sum())} segments "
                    f"differ, first {first}: {made[first]} and {wanted[first]}"
                )
        del made, wrong, wanted
        calls = [*(partial(call, data, ids) for call in ours.values()), partial(theirs, data, ids)]
        *mine, other = medians(seconds, *calls)
        for order, taken in zip(ours, mine, strict=True):
            print(f"| {what}, {place}, order '{order}' | {taken:.3f} | {other:.3f} | {other / taken:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="python -m sheaf.jax.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows; a tenth as many segments (default: 2e7)")
    parser.add_argument("--width", type=int, default=64, help="float32 in a row (default: 64)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each comparison (default: 2)")
    options = parser.parse_args()
    if options.rows < 10 or options.width < 1:
        parser.error("there are to be 10 rows or more, of one number or more")
    device = jax.devices()[0]
    print(f"sheaf {sheaf.__version__}, JAX {jax.__version__}, {device.device_kind}\n")
    sums(options.rows, options.rows // 10, options.width, options.seconds)


if __name__ == "__main__":
    main()
