#!/usr/bin/env python3
"""faults.py STARTER... -- PROGRAM [TIMES]: faults of one of MPI's processes end all of them within 30 seconds.

Each of the faults is planted TIMES times, in ranks that take turns. The job must end by itself, with a code that is not
0; where MPI's launcher does not end it, the other ranks must name the rank and what happened to it.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time

RANKS = 4
LIMIT = 30
JOBS_AT_A_TIME = 3
# What other ranks say, where the launcher leaves them the time for it.
SAID = {
    "throw": r"rank {rank}: planted",
    "memory": r"rank {rank}: .*(memory|scratch)",
    "stop": r"rank {rank}: has not been heard of for 2 s",
}


def run(starter, program, fault, rank, wait):
    started = time.monotonic()
    job = subprocess.Popen(starter + ["-n", str(RANKS), program, fault, str(rank), str(wait)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said = job.communicate(timeout=4 * LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, 9)
        said = job.communicate()[0] + "\n(it did not end)"
    return job.returncode, time.monotonic() - started, said


def main():
    at = sys.argv.index("--")
    starter, program = sys.argv[1:at], sys.argv[at + 1]
    times = int(sys.argv[at + 2]) if len(sys.argv) > at + 2 else 1
    failed = 0
    code, seconds, said = run(starter, program, "none", 0, 20)
    whole = seconds
    if code != 0:
        failed += 1
        print("without a fault:", code, said)
    trials = [(fault, number % RANKS) for fault in ("kill", "exit", "throw", "memory", "stop") for number in range(times)]
    with concurrent.futures.ThreadPoolExecutor(JOBS_AT_A_TIME) as jobs:
        ends = jobs.map(lambda trial: run(starter, program, *trial, 2), trials)
        for (fault, rank), (code, seconds, said) in zip(trials, ends):
            wrong = []
            if code == 0:
                wrong.append("the job says that all is well")
            if seconds - whole > LIMIT:
                wrong.append(f"the job took {seconds:.0f} s")
            pattern = SAID.get(fault)
            if pattern:
                others = [line for line in said.splitlines() if line.startswith("process ")
                          and not line.startswith(f"process {rank} ")]
                if not others or not all(re.search(pattern.format(rank=rank), line) for line in others):
                    wrong.append("other ranks do not say what happened")
            print(f"{fault} of rank {rank}: code {code} after {seconds:.1f} s", "" if not wrong else "WRONG")
            if wrong:
                failed += 1
                print("; ".join(wrong), said, sep="\n")
    return 1 if failed else 0


sys.exit(main())
