"""What Wei and JaJa 2010 claim, figure by figure: see script/paper_claims.py."""

from paper_claims import (
    Claim, Described, Paper, accesses, best, fact, fastest, growth, least, most, past, per_record, rows, scaling,
    slowest, spread, spread_by, summed)

SUMS = r"list_scan/{0}/.*/n=(?P<n>\d+)"
STRIDED = SUMS.format("strided:1001")
STEPS = r"the paper's steps by \d+ x \d+ walkers, \d+ sublists dealt"
# Step 4 by one thread of the host, on CUDA; on a CPU by one of its threads.
PAPERS_STEPS = STEPS + r"(?:, step 4 by one thread)?"
# The walkers and sublists of table II stand first in its rows.
BY_SUBLISTS = r"the paper's steps by (?P<walkers>\d+ x \d+) walkers, (?P<sublists>\d+) sublists dealt: (?P<step>.*)"
WALKS_BY_SUBLISTS = r"the paper's steps by (?P<walkers>\d+ x \d+) walkers, (?P<sublists>\d+) sublists dealt: step 3"
WALKS = rows("5", of=STRIDED, who=STEPS + ": step 3")
BY_BLOCKS = r"the paper's steps by (?P<blocks>\d+) x 64 walkers, (?P<sublists>\d+) sublists dealt: (?P<step>.*)"


def steps(which):
    """Steps of the paper's form in table II, the first of the rows of each length; `which` is a pattern."""
    return summed(rows("table2", of=STRIDED, who=PAPERS_STEPS + rf": (?P<step>step {which}.*)"))


def step_4(where):
    """Step 4 of 61,440 sublists; where it is made stands behind their number."""
    steps_of = r"the paper's steps by (?P<walkers>\d+ x \d+) walkers, 61440 sublists dealt"
    return summed(rows("table2", of=STRIDED, who=rf"{steps_of}{where}: (?P<step>step 4.*)"))


def scan(order, figure="4"):
    return rows(figure, of=SUMS.format(order), who="sheaf")


def test(table, places, n=r"\d+"):
    """Seconds of an access of the memory test."""
    tests = rows(table, of=rf"(?P<n>{n}) words of 64 bits, {places}", who=r"memory test, reads, .*")
    return tests / accesses(tests)


def list_over_test(table, order, places):
    return per_record(rows(table, of=SUMS.format(order), who="sheaf")) / test(table, places)


CACHED = ("Lists of a run on two cores are short: some lie in the caches and some do not, and threads start and end in "
          "a good part of a call's time.")
ORDERED = {
    "cuda": "Walks along an ordered list meet lines that are there already, and a last cache of tens of megabytes "
            "keeps them until their last node; the C1060 had no such cache.",
    "cpu": "Walks along an ordered list have all nodes of a line at one miss, and prefetches bring the next line; the "
           "C1060 had no cache.",
}
CLAIMS = [
    Described("1", "A drawing of the Tesla C1060."),
    Described("2", "A drawing of a cluster of its multiprocessors."),
    Described("table1", "Table I describes the memories of the C1060. It is a description, not a measurement; the "
                        "machines measured here stand at the head of this page."),
    Described("3", "A drawn example of a list and of its prefix sums."),
    Claim("4", "Times of ordered, random and stride lists of 64 M nodes are at most 10 % apart.", "10 %",
          "the slowest list over the fastest, all kinds",
          spread(rows("4", of=r"list_scan/.*", who="sheaf")), at_most=1.1, less=1.5, why=ORDERED),
    Claim("4", "Lists of a stride over 100 are almost as slow as random lists, or slower.", "1x",
          "stride 1001 over random order", least(scan("strided:1001") / scan("permutation")), at_least=0.9, less=0.4,
          why={"cuda": "Walkers that are 1001 nodes apart meet lines that others have brought to the last cache.",
               "cpu": "A stride of 8 KB repeats, so that hardware prefetches and the translations of addresses follow "
                      "it, as they cannot follow a random list."}),
    Claim("4", "Ordered lists are slightly faster than random ones.", "slightly", "random order over in order",
          least(scan("permutation") / scan("identity")), at_least=1.02, less=1.0,
          why={"cpu": CACHED, "cuda": "Walks wait for the chain of successors, not for lines."}),
    Claim("5", "The time of step 3 falls as the number of sublists grows.", "no number in the text",
          "the fewest sublists over the best number, a block of 64 walkers for each multiprocessor",
          most(slowest(WALKS) / fastest(WALKS)),
          at_least=1.1, less=1.02,
          why={"cpu": "With few walkers every thread walks about as many nodes, whatever the number of sublists.",
               "cuda": "Few walkers wait for latencies alone, which are the same for any number of sublists."}),
    Claim("5", "The largest load of a multiprocessor falls as the number of sublists grows.", "no number in the text",
          "the largest load with the most sublists over that with the fewest, of 64 walkers or one for each",
          most(growth(fact(rows("5", of=STRIDED, who=WALKS_BY_SUBLISTS), "largest_load"), "sublists")), at_most=0.95,
          less=1.0,
          why={"cpu": "Two threads with sublists of their own have halves that differ little from the start.",
               "cuda": "Each multiprocessor has 64 sublists at the fewest, whose lengths even out."}),
    Claim("5", "Of 64 M nodes the whole call is fastest with 61,440 sublists.", "61,440",
          "the fastest number of sublists, the most of all numbers of walkers",
          most(best(summed(rows("5", of=STRIDED, who=BY_SUBLISTS)), "sublists")), unit="", within=(30720, 122880),
          less=(7680, 1e9), large=True,
          why={"cuda": "Today's devices have more multiprocessors, and a host scan of sublists costs less.",
               "cpu": "One walker in a thread needs few sublists to be balanced, and each more is a miss more."}),
    Claim("6", "Time falls in proportion to the number of blocks, up to one for each multiprocessor.", "linear",
          "share that each further block adds, the least over the first 64 times as many",
          least(scaling(summed(rows("6", of=STRIDED, who=BY_BLOCKS)), "blocks", 64)), unit="%", at_least=0.8, less=0.4,
          why={"cpu": "The 64 walkers of one thread already have as many accesses under way as a core takes, so that "
                      "walks gain by more threads only as the memory behind them does; the other steps take all "
                      "threads in any case.",
               "cuda": "Steps 4 and 5 do not become faster by blocks, and step 4 by one thread is a fixed part."}),
    Claim("6", "Beyond one block for each multiprocessor, time stays the same.", "1x",
          "8 blocks for each multiprocessor over one",
          most(past(summed(rows("6", of=STRIDED, who=BY_BLOCKS)), "blocks", 8)), within=(0.9, 1.1), less=(0.3, 1.5),
          on=("cuda",),
          why={"cuda": "A multiprocessor of today holds 2048 threads, and 64 have far too few accesses under way: more "
                       "blocks are faster."}),
    Claim("7", "Time is linear in the number of nodes, from 1 M to 256 M.", "4.28 to 5.33 ns, 1.25x",
          "time a node of our choice, the most over the least, stride 1001",
          most(spread_by(per_record(rows("7", of=STRIDED, who="sheaf")), "n")), at_most=1.25, less=2.5,
          why={"cpu": CACHED,
               "cuda": "Lists of some million nodes lie in the last cache, whose accesses at random are several times "
                       "as fast as those of memory."}),
    Claim("table2", "A node takes 4.28 to 5.33 ns, by a block of 64 threads for each multiprocessor.", "4.28 to 5.33 "
                                                                                                       "ns",
          "the paper's steps in the paper's numbers, the most of all lengths",
          most(per_record(steps(r"\d"))), unit="ns", at_most=5.33e-9,
          why={"cpu": "One walker in each thread has one access under way, so that a node costs the latency of memory "
                      "over the number of threads.",
               "cuda": "As many walkers as the C1060 had keep too few accesses under way on more multiprocessors, "
                       "whose memory is no nearer; our choice has many more."}),
    Claim("table2", "Our choice takes no longer for a node than the paper's times.", "4.28 ns",
          "time a node of our choice, stride 1001, the least of all lengths",
          least(per_record(rows("7", of=STRIDED, who="sheaf"))), unit="ns", at_most=4.28e-9, less=10e-9,
          why={"cpu": "The few accesses that two cores keep under way to memory take longer than those of 240 cores of "
                      "a GPU."}),
    Claim("table2", "Most of the time, 69 to 79 %, is step 3, the walks along sublists.", "69 %",
          "step 3 over all steps, the least of all lengths", least(steps("3") / steps(r"\d")), unit="%", at_least=0.69,
          less=0.5,
          why={"cpu": "Steps 1, 2 and 5 pass over all nodes, each at the bandwidth of memory, of which a CPU has "
                      "little.",
               "cuda": "Copies of sublists to the host and back, and the starts of seven kernels, weigh more in calls "
                       "that take a tenth of the C1060's time."}),
    Claim("table2", "Step 4 takes less than 3 % of the time.", "3 %", "step 4 with its copies over all steps, the most",
          most(steps("4") / steps(r"\d")), unit="%", at_most=0.03, less=0.1,
          why={"cpu": "A short list has many sublists for its length, which one thread walks along.",
               "cuda": "Two copies and a wait for the host take tens of microseconds, which the other steps of short "
                       "lists no longer dwarf."}),
    Claim("table2", "Of 64 M nodes, step 4 takes 56.72 ms by one thread of the GPU, and 2.08 ms (0.35 + 1.37 + 0.37) "
                    "on the CPU with the copies.", "27x", "step 4 by one thread of the device over that on the host "
                                                       "with copies",
          least(step_4(", step 4 by one thread") / step_4("")),
          at_least=27, less=1.05, on=("cuda",), large=True,
          why={"cuda": "The list of splitters lies in the last cache of the device, which the C1060 had not, and a "
                       "host's reads of it miss its own caches at first."}),
    Claim("table3", "The best memory test takes 4.04 ns for an access, by 16 blocks of 64 threads.", "4.04 ns",
          "the memory test, stride 1001, the most of all sizes", most(test("table3", "stride 1001")), unit="ns",
          at_most=4.04e-9, less=8e-9,
          why={"cpu": "Two cores keep some tens of accesses under way, each of which takes some 100 ns."}),
    Claim("table3", "A list takes 5 to 44 % longer for a node than the test for an access, with stride 1001.", "1.44x",
          "our choice's time a node over the test's time an access, the most of all lengths",
          most(list_over_test("table3", "strided:1001", "stride 1001")), at_most=1.44, less=4,
          why={"cpu": "The test reads words of 8 bytes at addresses that are known beforehand, many at once, and words "
                      "of short tests stay in the cache; the next node of a list is known when the one before has "
                      "come.",
               "cuda": "The test only reads; a list's nodes are read, and their sums written at random or to a log "
                       "that is read again."}),
    Described("8", "Draws table III."),
    Claim("table4", "With extremely large strides a list takes 3 to 43 % longer for a node than the test for an "
                    "access.",
          "1.43x", "our choice's time a node over the test's time an access, neighbours half the array apart, the most",
          most(list_over_test("table4", r"strided:(?!1001/)\d+", "at random")), at_most=1.43, less=4,
          why={"cpu": "The test has many accesses under way whose addresses are known beforehand; the next node of a "
                      "list is known when the one before has come.",
               "cuda": "The test only reads; a list's nodes are read, and their sums written at random or to a log "
                       "that is read again."}),
    Claim("table4", "Beyond 64 M nodes, accesses at random slow down, from 4.07 to 13.40 ns.", "3.3x",
          "an access of the test with 256 M words over one with 64 M",
          least(growth(test("table4", "at random", "67108864|268435456"), "n")), at_least=3.3, less=1.1, large=True,
          why={"cuda": "Translations of addresses reach over more of the memory than the C1060's did.",
               "cpu": "Huge pages let the translations of addresses reach over all of these words."}),
    Described("9", "Draws table IV."),
    Described("10", "A drawing of the 8-core Clovertown."),
    Claim("11", "On a random list of 8 M nodes the GPU is faster than a CPU of 8 cores, a Cell and 8 MTA-2 processors.",
          "no number in the text", "our choice on the CPU over our choice on the GPU, ranks and sums, the least",
          least(rows("11", who="sheaf", beside="cpu") / rows("11", who="sheaf")), at_least=1.5, less=1, on=("cuda",),
          why={"cuda": "The last cache of this machine's CPU holds much of 8 M nodes."}),
    Claim("12", "An ordered list takes 7 to 8 times as long as the scan of an array on the same device, whatever the "
                "size.",
          "7x to 8x", "our choice over the fastest scan of an array, the most of all lengths",
          most(rows("12", who="sheaf") / fastest(rows("12", who=r"cub\..*|tbb\.parallel_scan"))), at_most=8, less=16,
          why={"cuda": "Array scans run at copy speed today, a thirtieth of the C1060's time; walks wait for "
                       "latencies, which fell far less.",
               "cpu": "An array's scan streams at the bandwidth of caches or memory; walks wait for one node after the "
                      "other."}),
    Described("abstract", "Scalability from 1 M to 256 M nodes is judged with figure 7, the cost of a node beside the "
                          "best possible with tables III and IV, other machines with figure 11, and the scan with "
                          "figure 12."),
]

FIGURES = {
    "1": "Figure 1. Architecture of the Tesla C1060",
    "2": "Figure 2. Architecture of its texture processing cluster",
    "table1": "Table I. Memory of the Tesla C1060",
    "3": "Figure 3. Input array and output for list ranking",
    "4": "Figure 4. Types of lists with 64 M nodes",
    "5": "Figure 5. Step 3, the whole algorithm and the largest load by the number of sublists",
    "6": "Figure 6. By the number of blocks",
    "7": "Figure 7. Scalability to list sizes",
    "table2": "Table II. Times of the steps by list size",
    "table3": "Table III. List ranking and the memory test, stride 1001",
    "8": "Figure 8. Time per element, stride 1001",
    "table4": "Table IV. List ranking and the memory test, extremely large strides",
    "9": "Figure 9. Time per element, extremely large strides",
    "10": "Figure 10. The architecture of the Clovertown",
    "11": "Figure 11. Platforms on a random list of 8 M nodes",
    "12": "Figure 12. Scan of an array and of an ordered list of 64 M nodes",
    "abstract": "Abstract",
}

PAPER = Paper("wei2010", "Wei and JaJa 2010, prefix computations on linked lists", FIGURES, CLAIMS)
