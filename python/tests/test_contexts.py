"""Contexts: `with`, threads, forks, scratch, and that nothing leaks."""

import ctypes
import gc
import multiprocessing
import os
import resource
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import sheaf


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_context_says_what_it_is():
    ctx = sheaf.context("cpu", threads=1, scratch_limit=1 << 20)
    assert (ctx.device, ctx.backend, ctx.threads, ctx.scratch_limit, ctx.stream) == ("cpu", "cpu", 1, 1 << 20, 0)
    assert ctx.status == "done" and "threads=1" in repr(ctx)
    assert sheaf.context("cpu", threads=3).threads == 3
    assert sheaf.context().backend in ("cpu", "cuda")


def test_a_context_learns_if_it_is_told_to(monkeypatch):
    monkeypatch.delenv("SHEAF_LEARN", raising=False)
    assert not sheaf.context("cpu", threads=1).learns
    rng = np.random.default_rng(1)
    rows = 1 << 20
    keys, index = rng.integers(0, 1 << 60, rows), rng.integers(0, rows, rows)
    calls = [("sort", keys), ("argsort", keys), ("argsort", keys.astype(np.uint32)), ("gather", keys, index)]
    wanted = [np.sort(keys), np.argsort(keys), np.argsort(keys.astype(np.uint32), kind="stable"), keys[index]]
    learned = 0
    for (name, *arrays), right in zip(calls, wanted):
        with sheaf.context("cpu", threads=1, learn=True) as ctx:
            assert ctx.learns
            for _ in range(8):
                assert np.array_equal(getattr(sheaf, name)(*arrays), right)
            plan = sheaf.explain(name, *arrays)
            # Calls are timed where the two cheapest plans lie within a factor of 2, which the profile decides.
            may_run = [v for v in plan.variants if v["applicable"] and v["reason"] != "runs by name only"]
            first, second = sorted([v["seconds"] for v in may_run] + [np.inf])[:2]
            timed = sum(v["timed_calls"] for v in plan.variants)
            if first >= 1e-3 and second < 1.9 * first:
                assert timed == 4 and "chosen by 4 timed calls" in repr(plan)
                learned += 1
                ctx.learns = False
                assert not ctx.learns and sheaf.explain(name, *arrays).learned == ""
            elif second > 2.1 * first:
                assert timed == 0 and plan.learned == ""
    assert learned > 0, "none of these has two close plans: take others"
    monkeypatch.setenv("SHEAF_LEARN", "2")
    with pytest.raises(sheaf.BadArgument, match="SHEAF_LEARN: '2' is not 0 or 1"):
        sheaf.context("cpu")


def test_calls_take_the_innermost_with():
    table, index = np.ones(5), np.arange(5)
    with sheaf.context("cpu", threads=1) as outer:
        with sheaf.context("cpu", threads=1, scratch_limit=16):
            with pytest.raises(MemoryError):
                sheaf.argsort(np.arange(10000))
        sheaf.argsort(np.arange(10000))
        sheaf.gather(table, index, ctx=outer)
    with pytest.raises(sheaf.BadArgument, match="not the one that this thread entered last"):
        outer.__exit__(None, None, None)


def test_an_error_in_a_with_is_the_blocks():
    with pytest.raises(KeyError):
        with sheaf.context("cpu", threads=1):
            raise KeyError("mine")
    with pytest.raises(IndexError):
        with sheaf.context("cpu", threads=1):
            sheaf.gather(np.ones(1), np.array([3]), check="now")


def test_each_thread_has_its_own_context():
    table = np.arange(1 << 16)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in range(30):
            index = rng.integers(0, 1 << 16, 5000)
            if not np.array_equal(sheaf.gather(table, index), index):
                wrong.append(seed)
            if i % 5 == 0:
                try:
                    sheaf.gather(table, np.array([seed - (1 << 20)]))
                    wrong.append("no error")
                except IndexError as e:
                    if str(seed - (1 << 20)) not in str(e):
                        wrong.append(str(e))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_threads_may_share_a_context():
    table, index = np.arange(1 << 18), np.random.default_rng(1).integers(0, 1 << 18, 1 << 18)
    ctx, wrong = sheaf.context("cpu", threads=2), []

    def work():
        for _ in range(10):
            if not np.array_equal(sheaf.gather(table, index, ctx=ctx), index):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_threads_run_while_a_call_works():
    a = np.random.default_rng(2).integers(0, 1 << 60, 1 << 22)
    ran, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ran[0] += 1
            time.sleep(0)  # lets go of the interpreter, which the switch interval below would not

    before = sys.getswitchinterval()
    counter = threading.Thread(target=count)
    with sheaf.context("cpu", threads=1):
        sys.setswitchinterval(1000)  # nobody gives way unless it wants to
        try:
            counter.start()
            for _ in range(3):
                was = ran[0]
                sheaf.sort(a)
                if ran[0] > was:
                    break
            else:
                pytest.fail("the counter stood still")
        finally:
            stop.set()
            sys.setswitchinterval(before)
    counter.join()


def in_a_child(queue):
    try:
        table = np.arange(100000)
        taken = sheaf.gather(table, table[::-1].copy())
        ctx = sheaf.context("cpu")
        queue.put((ctx.threads, sheaf.context().threads, bool((taken == table[::-1]).all()), len(sheaf.sort(taken))))
    except BaseException as e:  # the parent shows it
        queue.put(repr(e))


def test_forked_workers_get_contexts_of_one_thread():
    a = np.arange(100000)
    with sheaf.context("cpu", threads=2):
        sheaf.sort(a)  # OpenMP's threads are there
    sheaf.gather(a, a)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    workers = [fork.Process(target=in_a_child, args=(queue,)) for _ in range(3)]
    for w in workers:
        w.start()
    answers = [queue.get(timeout=60) for _ in workers]
    for w in workers:
        w.join(60)
        assert w.exitcode == 0
    assert answers == [(1, 1, True, 100000)] * 3
    np.testing.assert_array_equal(sheaf.gather(a, a), a)  # and the parent goes on


def test_a_context_of_the_parent_is_refused_in_a_child():
    said = run("""
        import os, numpy as np, sheaf
        ctx = sheaf.context("cpu", threads=2)
        a = np.arange(100000)
        sheaf.sort(a, ctx=ctx)
        if os.fork() == 0:
            try:
                sheaf.sort(a, ctx=ctx)
            except sheaf.BackendUnavailable as e:
                print(e.code, flush=True)
            os._exit(0)
        os.wait()
    """)
    assert said == "backend_unavailable\n"


class Malloc:
    """An allocator of one's own that counts."""

    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def __init__(self):
        self.taken, self.given = 0, 0

    def allocate(self, size, stream):
        assert stream == 0
        self.taken += size
        return self.libc.aligned_alloc(256, (size + 255) // 256 * 256)

    def release(self, address, size, stream):
        self.given += size
        self.libc.free(address)


def test_scratch_from_elsewhere():
    memory = Malloc()
    a = np.random.default_rng(3).integers(0, 1 << 60, 100000)
    ctx = sheaf.context("cpu", threads=1, scratch=(memory.allocate, memory.release))
    np.testing.assert_array_equal(sheaf.argsort(a, ctx=ctx), np.argsort(a, kind="stable"))
    index = sheaf.HashIndex(a, ctx=ctx)
    kept = sheaf.prepare_gather(np.arange(1000), 1000, 8, 10, ctx=ctx)
    offsets, ids = index.search(a[:10])
    assert 0 < memory.given < memory.taken
    del ctx, index, kept, offsets, ids
    gc.collect()
    assert memory.taken == memory.given


def test_scratch_that_runs_out():
    ctx = sheaf.context("cpu", threads=1, scratch=(lambda size, stream: None, lambda address, size, stream: None))
    with pytest.raises(MemoryError):
        sheaf.argsort(np.arange(100000), ctx=ctx)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_allocator_that_raises():
    def raises(size, stream):
        raise KeyError("mine")

    ctx = sheaf.context("cpu", threads=1, scratch=(raises, raises))
    with pytest.raises(MemoryError):
        sheaf.argsort(np.arange(100000), ctx=ctx)


def test_calls_and_errors_leak_nothing():
    table, index, out, bad = np.ones((4, 2)), np.array([1]), np.zeros((1, 2)), np.array([9])
    fresh = np.arange(4)

    def work(calls):
        for i in range(calls):
            sheaf.gather(table, index, out=out)
            if i % 10 == 0:
                sheaf.gather(table, index)
                sheaf.sort(fresh)
                for function, arguments, options in (
                    (sheaf.gather, (table, bad), {}),
                    (sheaf.gather, (table, index), {"out": table}),
                    (sheaf.gather, (table, [1]), {}),
                    (sheaf.gather, (table, index), {"check": "x"}),
                    (sheaf.context, ("gpu",), {}),
                    (sheaf.csr, ((table, index, index), (1, 1)), {}),
                ):
                    try:
                        function(*arguments, **options)
                    except (sheaf.Error, TypeError):
                        pass
                    else:
                        pytest.fail("no error")

    work(5000)
    gc.collect()
    objects, peak = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(100000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 2048  # KiB: 20 bytes a call would show


def test_objects_leak_nothing():
    a = np.random.default_rng(4).integers(0, 1000, 20000)

    def work(times):
        for _ in range(times):
            index = sheaf.HashIndex(a)
            index.search(a[:100])
            sheaf.prepare_gather(a, 20000, 8, 10)
            sheaf.csr((a.astype(float), a, np.array([0, 20000])), (1, 1000)).prepare(10)
            sheaf.context("cpu", threads=1)

    work(20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 8192


def test_subinterpreters_are_refused():
    try:
        import _xxsubinterpreters as interpreters  # 3.11, 3.12
    except ImportError:
        interpreters = pytest.importorskip("_interpreters")
    said = run(f"""
        import sheaf, {interpreters.__name__} as interpreters
        other = interpreters.create()
        try:
            failed = interpreters.run_string(other, "import sheaf")
            print("refused" if failed else "imported")
        except Exception:
            print("refused")
    """)
    assert said.endswith("refused\n")


def test_import_brings_numpy_and_nothing_large():
    said = run("""
        import sys, numpy
        before = set(sys.modules)
        import sheaf
        print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - {"sheaf"}))
    """)
    assert "scipy" not in said and "torch" not in said and "ctypes" not in said, said


@pytest.mark.parametrize("order", ["numpy sheaf scipy.sparse", "sheaf numpy scipy.linalg"])
def test_import_in_any_order(order):
    lines = "\n".join(f"import {name}" for name in order.split())
    assert run(lines + "\nimport numpy as n\nprint(sheaf.sort(n.array([2, 1])))") == "[1 2]\n"
