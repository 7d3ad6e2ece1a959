"""What Patidar and Narayanan 2009 claim, figure by figure: see script/paper_claims.py."""

from paper_claims import (
    Claim, Described, Paper, best, fastest, growth, least, mean, median, most, number, per_record, published, rows,
    scaling, spread_by, summed)

GPU = ("cuda",)
OWN = r"(?:cpu|cuda)\."  # before the paper's own forms
ITERATED = OWN + "iterated_split"
SPLIT_SORT = OWN + "split_sort"
NOW_PEER = "cub"
STEP = r"split(?:_unstable)?/uniform:b8/(?P<record>r\d+)/own/n=(?P<n>\d+)"
TWO_STEP = rows("4", of=r"split/uniform:b(?P<bits>\d+)/(?P<record>r\d+)/own/n=(?P<n>\d+)", who=OWN + "two_step")
MILLION = 2**20

CLAIMED_SCATTER = ("The local split and the copy overlap what the one-step scatter waits for; a last cache gathers its "
                   "scattered writes to whole lines.")
SHORT = "Lists of a run on two cores are short, and lie in the caches, where scattered writes cost as little as others."
OVERHEAD = "Short lists are sorted in microseconds, of which starts of kernels, or of threads, are a part."


def steps(form, which):
    """Steps of a form of algorithm 2 by segments of 8192."""
    return summed(rows("4", of=STEP, who=rf"basic split in {form}, segments of 8192, step (?P<step>{which})"))


def at(count_in_millions):
    return count_in_millions * MILLION


def scattered(record_bytes, count):
    return rows("12", of=rf"scatter/permutation/r{record_bytes}/u32/n={at(count)}", who=r"cuda\.lane_rule")


def sorted_by(who, key_bytes, record_bytes):
    """Sorts of table 1."""
    kind = {4: "u32", 6: "u48", 8: "u64"}[key_bytes]
    return rows("table1", of=rf"sort_records/uniform/r(?P<record>{record_bytes})/{kind}/n=(?P<n>\d+)", who=who)


def of_table_1(key_bytes, milliseconds):
    """{record_bytes: {millions: ms}} as published seconds."""
    return published(*(({"record": str(record), "n": str(at(count))}, time * 1e-3)
                       for record, row in milliseconds.items() for count, time in row.items()))


TABLE_1 = {
    4: of_table_1(4, {32: {8: 270, 16: 352, 32: 733, 48: 1102, 64: 1488}, 64: {8: 182, 16: 367, 32: 752},
                      128: {8: 194, 16: 373}, 256: {8: 196}}),
    6: of_table_1(6, {32: {8: 210, 16: 460, 32: 955, 48: 1720, 64: 2650}, 64: {8: 230, 16: 473, 32: 972},
                      128: {8: 244, 16: 489}, 256: {8: 248}}),
    8: of_table_1(8, {32: {8: 251, 16: 530, 32: 1080, 48: 1980, 64: 3124}, 64: {8: 263, 16: 540, 32: 1190},
                      128: {8: 278, 16: 555}, 256: {8: 281}}),
}
SLOW_CPU = "A few cores have a fortieth of a GPU's bandwidth."


OF_TABLE_1 = {4: "182 to 1488 ms", 6: "210 to 2650 ms", 8: "251 to 3124 ms"}


def table_1_claims():
    for key_bytes, paper in TABLE_1.items():
        yield Claim("table1", f"Sorts of 8 to 64 M records of 32 to 256 bytes by keys of {key_bytes} bytes, each time "
                              "of the table.", OF_TABLE_1[key_bytes],
                    "the paper's time over our choice's, the least of the table",
                    least(paper / sorted_by("sheaf", key_bytes, r"\d+")), at_least=1, less=0.5, large=True,
                    why={"cpu": SLOW_CPU, "cuda": "A time of the table is shorter than ours."})
        yield Claim("table1", f"The same by the paper's own SplitSort, keys of {key_bytes} bytes.",
                    OF_TABLE_1[key_bytes],
                    "the paper's time over SplitSort's, the least of the table",
                    least(paper / sorted_by(SPLIT_SORT, key_bytes, r"\d+")), at_least=1, less=0.5, large=True,
                    why={"cpu": SLOW_CPU, "cuda": "Ordered increments take turns within a warp, whose clock is hardly "
                                                  "faster than that of 2009."})


def index_claim(key_bits, count, milliseconds):
    of = rf"split_gather_index/uniform:b{key_bits}/r4/k{(key_bits + 31) // 32 * 32}/n={at(count)}"
    return Claim("10", f"The index of {count} M records is split by keys of {key_bits} bits in {milliseconds} ms.",
                 f"{milliseconds} ms", "Algorithm 3, `iterated_split`", least(rows("10", of=of, who=ITERATED)),
                 unit="ms", at_most=milliseconds * 1e-3, less=2e-3 * milliseconds, large=True,
                 why={"cpu": SLOW_CPU, "cuda": "Ordered increments take turns within a warp, whose clock is hardly "
                                               "faster than that of 2009."})


def sort_claim(key_bits, milliseconds):
    of = rf"sort_keys/uniform/r{key_bits // 8}/u{key_bits}/n={at(128)}"
    return Claim("13", f"128 M numbers of {key_bits} bits are sorted in about {milliseconds} ms.", f"{milliseconds} ms",
                 "the paper's own SplitSort", least(rows("13", of=of, who=SPLIT_SORT)), unit="ms",
                 at_most=milliseconds * 1e-3, less=2e-3 * milliseconds, large=True,
                 why={"cpu": SLOW_CPU, "cuda": "Ordered increments take turns within a warp, whose clock is hardly "
                                               "faster than that of 2009."})


CLAIMS = [
    Described("1", "A drawing of the counts of blocks, written to memory in column-major order."),
    Claim("2", "The wider the range that neighbours scatter to, the longer a scatter takes.", "no number in the text",
          "one-pass scatter to the widest range over that to 32", most(growth(
              rows("2", of=r"scatter/clustered:(?P<range>\d+)/r4/u32/n=(?P<n>\d+)", who=OWN + r"\w+"), "range")),
          at_least=2, less=1.1, why={"cpu": SHORT, "cuda": "Today's last cache gathers scattered writes to lines."}),
    Claim("2", "Reads that coalesce can be 50 to 100 times as fast as those at random.", "50x",
          "one-pass scatter to the widest range over that to 32", most(growth(
              rows("2", of=r"scatter/clustered:(?P<range>\d+)/r4/u32/n=(?P<n>\d+)", who=OWN + r"\w+"), "range")),
          at_least=50, less=1.1,
          why={"cpu": SHORT, "cuda": "Accesses at random move sectors of 32 bytes today, an eighth of what 2009's "
                                     "moved."}),
    Described("3", "A drawing of the split in two steps."),
    Claim("4", "With 256 categories and segments of 8192, the two-step scatter takes 14 ms where one step takes 24 ms.",
          "1.71x", "step 3 in one step over steps 3 and 4 in two, the most of both widths",
          most(steps("one step", "3") / steps("two steps", "[34]")), at_least=1.71, less=1.02,
          why={"cuda": CLAIMED_SCATTER,
               "cpu": "A thread's segment and what it scatters lie in its cache, so that one step writes each record "
                      "once where two steps write it twice."}),
    Claim("4", "The two-step scatter of 16 M records takes 14 ms.", "14 ms", "steps 3 and 4, the most of both widths",
          most(steps("two steps", "[34]")), unit="ms", at_most=14e-3, less=28e-3, large=True,
          why={"cpu": SLOW_CPU, "cuda": "Ordered increments take turns within a warp, of which each block is one."}),
    Claim("4", "In one step, writing is some 90 % of the time.", "90 %", "step 3 over all steps of the split in one "
                                                                         "step",
          least(steps("one step", "3") / steps("one step", "[123]")), unit="%", at_least=0.9, less=0.5,
          why={"cuda": "Scattered writes gather in the last cache, so that the counts and their sums weigh more.",
               "cpu": "A CPU counts at the speed at which it writes to its cache."}),
    Claim("4", "A pass is best with 8 bits, 256 categories.", "8 bits", "bits of the least time for a bit, two-step "
                                                                        "split",
          most(best(TWO_STEP / number(TWO_STEP, "bits"), "bits")), unit="", within=(7, 9), less=(5, 11),
          why={"cuda": "Shared memory is fourteen times as large as in 2009, and holds counts of more categories.",
               "cpu": "Caches hold the counts and the lines of more than 256 categories."}),
    Claim("4", "Ordered atomic increments are 8 to 10 times slower than the hardware's, or 5 to 10 in the appendix.",
          "5x to 10x", "step 3 ordered over step 3 by the hardware's atomics, 256 categories, the most of both widths",
          most(steps("two steps", "3") / steps("hardware atomics", "3")), at_least=5, less=1.05, on=GPU,
          why={"cuda": "Increments of a warp take turns in fewer instructions today, and the hardware's atomics on "
                       "shared memory wait for those of their own bin."}),
    Claim("5", "Above 8 M numbers, scattering them takes longer than sorting them.", "1x",
          "one-pass scatter over the split by all bits of the key, over 8 M, the least",
          least(fastest(rows("5", of=r"scatter/permutation/r4/u32/n=(?P<n>\d{8,})", who=OWN + r"\w+")) /
                rows("5", of=r"split/.*/n=(?P<n>\d{8,})", who="sheaf")), at_least=1, less=0.8, large=True,
          why={"cuda": "A scatter is a single pass, which a last cache of tens of megabytes serves well; a sort by all "
                       "bits of the key is three.",
               "cpu": "A scatter has many writes under way; a sort by all bits of the key passes over the numbers "
                      "several times."}),
    Claim("6", "A scatter index takes longer than a gather index, of which it is made.", "no number in the text",
          "scatter index over gather index, our choices, the least",
          least(rows("6", of=r"split_scatter_index/(?P<rest>.*)", who="sheaf") /
                rows("6", of=r"split_gather_index/(?P<rest>.*)", who="sheaf")), at_least=1.02, less=0.97,
          why={"cpu": "The last pass writes the places of the numbers in place of the numbers, which costs as much.",
               "cuda": "The last pass writes the places of the numbers in place of the numbers, which costs as much."}),
    Claim("6", "Above 8 M numbers, the second sort makes the scatter index faster than a scatter.", "1x",
          "the fastest way that scatters over the second sort, over 8 M, the least",
          least(fastest(rows("6", of=r"split_scatter_index/.*/n=(?P<n>\d{8,})",
                             who=r"cpu\.buffered|cuda\.stable|cuda\.cub")) /
                fastest(rows("6", of=r"split_scatter_index/.*/n=(?P<n>\d{8,})", who=OWN + "second_sort"))), at_least=1,
          less=0.8, large=True,
          why={"cuda": "A scatter is a single pass, which a last cache of tens of megabytes serves well.",
               "cpu": "A scatter has many writes under way; a second sort passes over the numbers several times."}),
    Described("7", "A drawing of record, key and start bit. `split_key::of_record` has the three."),
    Claim("8", "The time to split 64-bit records increases linearly with the key's bits.", "8x from 8 to 64 bits",
          "Algorithm 3 by 64 bits over 8 bits, the mean of all lengths",
          mean(rows("8", of=r"split/uniform:b64/r8/own/n=(?P<n>\d+)", who=ITERATED) /
               rows("8", of=r"split/uniform:b8/r8/own/n=(?P<n>\d+)", who=ITERATED)), within=(6, 10), less=(4, 16),
          why={"cpu": OVERHEAD, "cuda": OVERHEAD}),
    Claim("8", "Our choice for wide keys takes no longer than in proportion.", "8x from 8 to 64 bits",
          "our choice by 64 bits over 8 bits, the mean of all lengths",
          mean(rows("8", of=r"split/uniform:b64/r8/own/n=(?P<n>\d+)", who="sheaf") /
               rows("8", of=r"split/uniform:b8/r8/own/n=(?P<n>\d+)", who="sheaf")), at_most=8, less=16,
          why={"cpu": OVERHEAD, "cuda": OVERHEAD}),
    Claim("8", "The time to split increases linearly with the number of records.", "1x",
          "Algorithm 3's time a record, the most over the least of all lengths, the mean of all keys",
          mean(spread_by(per_record(rows("8", of=r"split/uniform:(?P<bits>b\d+)/r8/own/n=(?P<n>\d+)", who=ITERATED)),
                         "n")), at_most=1.25, less=2, why={"cpu": OVERHEAD, "cuda": OVERHEAD}),
    Claim("9", "The time depends on the record's size less than linearly, because wide records are read by wide "
               "accesses.",
          "under 4x from 32 to 128 bits", "records of 128 bits over those of 32, keys of 32 bits, Algorithm 3",
          most(rows("9", of=r"split/uniform:b32/r16/own/n=(?P<n>\d+)", who=ITERATED) /
               rows("9", of=r"split/uniform:b32/r4/own/n=(?P<n>\d+)", who=ITERATED)), at_most=3.5, less=4,
          why={"cpu": "Records of 128 bits leave the caches that hold those of 32.", "cuda": CLAIMED_SCATTER}),
    index_claim(16, 32, 91),
    index_claim(32, 32, 180),
    index_claim(32, 64, 350),
    index_claim(96, 32, 804),
    Claim("11", "Records are gathered faster by lanes that cooperate than by one thread each.", "no number in the text",
          "a thread each over the lane rule, records of 32 bytes and more, the median",
          median(rows("11", of=r"gather/permutation/(?!r16/).*", who=r"cuda\.thread_per_record") /
                 rows("11", of=r"gather/permutation/(?!r16/).*", who=r"cuda\.lane_rule")), at_least=1.1, less=1.0,
          on=GPU, why={"cuda": "A thread's sectors of a record stay in its cache until it comes to them."}),
    Claim("12", "16 M records of 128 bytes are scattered at random in 290 ms.", "290 ms", "by the lane rule",
          least(scattered(128, 16)), unit="ms", at_most=0.29, less=0.58, on=GPU, large=True,
          why={"cuda": "Scattered writes bound it."}),
    Claim("12", "8 M records of 256 bytes are scattered at random in under 150 ms.", "150 ms", "by the lane rule",
          least(scattered(256, 8)), unit="ms", at_most=0.15, less=0.3, on=GPU, large=True,
          why={"cuda": "Scattered writes bound it."}),
    Claim("12", "16 M records of 128 bytes take twice as long as 8 M of 256 bytes, which are as many bytes.", "2x",
          "by the lane rule", least(scattered(128, 16)).over(least(scattered(256, 8))), at_least=1.5, less=1.1, on=GPU,
          large=True,
          why={"cuda": "Both move whole lines: 128 bytes are one, which 16 lanes of 8 bytes fill as well as 16 of "
                       "16."}),
    Claim("12", "The time to scatter is linear in the number of records.", "1x",
          "our choice's time a record, the most over the least of all lengths, the mean of all widths",
          mean(spread_by(per_record(rows("12", of=r"scatter/permutation/(?P<record>r\d+)/u32/n=(?P<n>\d+)",
                                         who="sheaf")), "n")), at_most=1.25, less=2,
          why={"cpu": SHORT, "cuda": "Lists of 4 M records lie partly in the last cache."}),
    Claim("12", "The dependence on the record's size is highly sublinear.", "8x the bytes in under 8x the time",
          "records of 256 bytes over those of 32, our choice, the least of all lengths",
          least(rows("12", of=r"scatter/permutation/r256/u32/n=(?P<n>\d+)", who="sheaf") /
                rows("12", of=r"scatter/permutation/r32/u32/n=(?P<n>\d+)", who="sheaf")), at_most=4, less=7.5,
          why={"cpu": "Records of 32 bytes in the cache cost as many moves as their bytes.",
               "cuda": "Our choice for records of 32 bytes is at the limit of bandwidth, too."}),
    Claim("13", "The time to sort is linear in the number of records.", "1x",
          "SplitSort's time a number, the most over the least of all lengths, the mean of all widths",
          mean(spread_by(per_record(rows("13", of=r"sort_keys/uniform/(?P<record>r\d+)/.*/n=(?P<n>\d+)",
                                         who=SPLIT_SORT)), "n")), at_most=1.25, less=2.5,
          why={"cpu": OVERHEAD, "cuda": OVERHEAD}),
    Claim("13", "The time to sort is linear in the key's size: four times the bits in some six times the time.", "6.2x",
          "SplitSort of 128 bits over 32, the mean of all lengths",
          mean(rows("13", of=r"sort_keys/uniform/r16/u128/n=(?P<n>\d+)", who=SPLIT_SORT) /
               rows("13", of=r"sort_keys/uniform/r4/u32/n=(?P<n>\d+)", who=SPLIT_SORT)), within=(4, 9), less=(2, 16),
          why={"cpu": OVERHEAD, "cuda": "Four times as many passes over four times the bytes are sixteen times the "
                                        "work where bandwidth bounds it."}),
    sort_claim(32, 650),
    sort_claim(64, 1500),
    sort_claim(128, 4000),
    Claim("14", "SplitSort is about 25 % faster than CUDPP 1.1, in whose place CUB of today stands.", "1.25x",
          "CUB's sort of pairs over SplitSort, the least of all lengths",
          least(fastest(rows("14", who=NOW_PEER)) / rows("14", who=SPLIT_SORT)), at_least=1.25, less=1, on=GPU,
          why={"cuda": "CUB sorts by one pass over memory for each digit, with decoupled look-back and without ordered "
                       "increments that take turns; it came ten years after CUDPP 1.1."}),
    Claim("14", "The same by our choice.", "1.25x", "CUB's sort of pairs over our choice, the mean of all lengths",
          mean(fastest(rows("14", who=NOW_PEER)) / rows("14", who="sheaf")), at_least=1.25, less=1, on=GPU,
          why={"cuda": "Keys and values of 4 bytes leave little room: both move them as often as copy speed allows."}),
    Claim("14", "CUDPP's sort is 3.5 times as fast as comparable routines on 8 cores.", "3.5x",
          "our choice on the CPU over our choice on the GPU, the least of all lengths",
          least(rows("14", who="sheaf", beside="cpu") / rows("14", who="sheaf")), at_least=3.5, less=1, on=GPU,
          why={"cuda": "Short lists lie in the CPU's caches."}),
    Claim("14", "Satish et al. sort 16 M pairs in 110 ms.", "110 ms", "our choice, 16 M pairs",
          least(rows("14", of=rf"sort_pairs/.*/n={at(16)}", who="sheaf")), unit="ms", at_most=0.11, less=0.22,
          large=True, why={"cpu": SLOW_CPU, "cuda": "A sort of pairs passes over memory four times."}),
    Claim("15", "The sorting time of 32-bit numbers scales about linearly with the number of cores.", "linear",
          "share that each further core adds, the mean of all lengths: blocks on a GPU, from the fewest to 8 times as "
          "many, and threads on a CPU",
          mean(scaling(rows("15", of=r"sort_keys/uniform/r4/u32/n=(?P<n>\d+)",
                            who=r"(?:cpu|cuda)\.split_sort:(?:threads|blocks)=(?P<cores>\d+)"), "cores", 8)), unit="%",
          at_least=0.8, less=0.4,
          why={"cuda": "Short lists have too few segments for all blocks, and prefix sums and the starts of kernels do "
                       "not become faster by more of them.",
               "cpu": "Threads share the bandwidth of memory and of the last cache."}),
    *table_1_claims(),
    Described("abstract", "Times of indexes of 32 M records, 180 ms by keys of 32 bits and 800 ms of 96, are judged "
                          "with figure 10; sorts of 16 M records of 128 bytes in 379 and 556 ms, which table 1 has as "
                          "373 and 555 ms, with table 1."),
    Claim("table2", "Section 3.4: the split of indexes on the GPU leaves the movement of records to the CPU, and is "
                    "faster than a split on the CPU alone.", "no number in the text",
          "all on the host over index on the device and gather on the host, the least",
          least(rows("table2", who="all on the host") / rows("table2", who="index on the device, gather on the host")),
          at_least=1.05, less=1.0, on=GPU,
          why={"cuda": "The host's own split moves each record once, too, and keys cross the bus twice."}),
]

FIGURES = {
    "1": "Figure 1. Counts of blocks in column-major order",
    "2": "Figure 2. Scatter by the range of destinations",
    "3": "Figure 3. Local split and copy",
    "4": "Figure 4. The basic split by the number of categories, and its steps",
    "5": "Figure 5. Scatter against sorting",
    "6": "Figure 6. Gather and scatter index",
    "7": "Figure 7. Record, key and start bit",
    "8": "Figure 8. Splits of 64-bit records by key size",
    "9": "Figure 9. Splits by record and key size",
    "10": "Figure 10. Splits of indexes by key size",
    "11": "Figure 11. Collective movement of records",
    "12": "Figure 12. Random scatter of records of 32 to 256 bytes",
    "13": "Figure 13. Sorts of 32 to 128-bit numbers",
    "14": "Figure 14. SplitSort and CUDPP",
    "15": "Figure 15. Sorts on GPUs of several numbers of cores",
    "table1": "Table 1. Sorts of large records",
    "abstract": "Abstract",
    "table2": "Section 3.4. The GPU as a co-processor; sheaf-bench calls it table 2",
}

PAPER = Paper("patidar2009", "Patidar and Narayanan 2009, split and gather", FIGURES, CLAIMS)
