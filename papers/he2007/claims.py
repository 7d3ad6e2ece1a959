"""What He, Govindaraju, Luo and Smith 2007 claim, figure by figure: see script/paper_claims.py."""

from paper_claims import (
    Claim, Described, Paper, accuracy, best, by_model, fact, fastest, least, mean, median, most, number, per_record,
    rate, rows, slowest, spread)

BY_PASSES = r"\w+\.multipass:passes=(?P<passes>\d+),segments=1"
ONE_PASS = r"\w+\.multipass:passes=1,segments=1"
ANY_PASSES = r"\w+\.multipass:passes=\d+,segments=1"
FOUR = r"(?:like )?(?:pkustk08|pkustk14|Stanford_Berkeley|nd24k)"
PRODUCT = r"product by \w+\.two_step, "
RECORDS_OF_SORT = r"sort_\w+/uniform/r8/\w+/n=(?P<n>\d+)"

FITS = "The last cache holds the {0}, which an 8800's 392 KB did not, so that one pass hardly misses."
CACHED = "The run's 8 MB of tuples lie in the caches, so that one pass has no misses that more could save."
STREAMS = ("Reads, writes and the scans of the list overlap, so that each further pass costs a whole scan and saves "
           "only misses that were hidden.")


def gain(figure, of=None):
    """One pass over the best number of passes of the paper's form."""
    return rows(figure, of=of, who=ONE_PASS) / fastest(rows(figure, of=of, who=ANY_PASSES))


def scans():
    """Bytes that copies of arrays read and write a second."""
    copies = rows("6", of=r"array of (?P<bytes>\d+) bytes", who="scan: a copy in order")
    return number(copies, "bytes") / copies * 2


def beside_cpu(figure):
    return rows(figure, who="sheaf", beside="cpu") / rows(figure, who="sheaf")


def products(figure, of=None):
    """One pass of the products in two steps over their best number of passes."""
    return (rows(figure, of=of, who=PRODUCT + "1 pass") /
            fastest(rows(figure, of=of, who=PRODUCT + r"\d+ pass(?:es)?")))


def systems(figure, matrix=".*"):
    """The CPU's conjugate gradients in f64 over CUDA's in f32 with transfers."""
    return (rows(figure, of=f"(?P<matrix>{matrix}), f64", who=r"conjugate gradient by cpu\..*", beside="cpu") /
            rows(figure, of=f"(?P<matrix>{matrix}), f32", who="conjugate gradient with transfers"))


NO_GAIN = {
    "cuda": STREAMS,
    "cpu": "A scan of the list for each pass costs as much as the misses that it saves; hardware prefetches and "
           "several accesses under way at once hide most of them.",
    "xeon-2-threads": CACHED,
}
MODEL = {
    "cuda": "The model adds its terms up, with misses of whole blocks in one cache; today streams, reads and writes "
            "overlap, reads fetch 64 bytes and writes move sectors of 32.",
    "cpu": "The model adds its terms up for one cache level; several levels, and the accesses that a core has under "
           "way, hide most of what it adds.",
}
NO_CPU_RATIO = {"cuda": "The CPU of this machine has 16 threads and caches of its own; where it stays behind the "
                        "paper's factor, its accesses at random are under way ten at a time for each core."}
TRANSFERS = {"cuda": "What is computed between the transfers has become faster than the bus to the host, or the bus "
                     "than what it carries: their shares are no longer those of 2007."}

CLAIMS = [
    Claim("1", "With locations at random, gather and scatter of 128 MB take far longer than in order.",
          "no number in the text", "random over sequential, the least of both calls",
          least(rows("1", of=r"(?P<call>\w+)/permutation/r8/u32/n=(?P<n>\d+)") /
                rows("1", of=r"(?P<call>\w+)/identity/r8/u32/n=(?P<n>\d+)")), at_least=2, less=1.1,
          why={"cpu": CACHED, "cuda": "The last cache holds much of 128 MB, so that accesses at random seldom leave "
                                      "it."}),
    Claim("1", "In order, both reach over 60 GB/s of the 69.2 GB/s of a scan.", "87 %",
          "bandwidth with the index over the fastest scan's, the least of both calls",
          least(rate(rows("1", of=r"\w+/identity/.*"))).over(most(scans())),
          unit="%", at_least=0.87, less=0.5,
          why={"cpu": "At 8 MB a call the tuples lie partly in the cache, and threads start and end in a good part of "
                      "its time; the scan's fastest array is larger or lies in the cache as a whole.",
               "cuda": "A call on 128 MB takes well under 0.1 ms, of which its start and end are a part; the fastest "
                       "scan is of gigabytes."}),
    Described("2", "A drawing of the model's memory: a cache that all multiprocessors share, and the device's memory."),
    Described("3", "The definitions of scatter and gather: `scatter` and `gather` do what they say, which the "
                   "library's tests hold for every width and index type."),
    Described("4", "A drawn example of a scatter and a gather."),
    Described("5", "A drawn example of a scatter in one pass and in two."),
    Described("table1", "Table 1 describes the G80 and both CPUs. It is a description, not a measurement; the machines "
                          "measured here stand at the head of this page."),
    Claim("6", "The model's accuracy for sequential gather and scatter is over 87 % (70 to 99).", "87 %",
          "the 2007 model's mean accuracy", mean(accuracy(rows("6", of=r"\w+/identity/.*"))), unit="%", at_least=0.87,
          less=0.6, why=MODEL),
    Claim("7", "The model's accuracy for random gather and scatter is over 90 % (62 to 98).", "90 %",
          "the 2007 model's mean accuracy", mean(accuracy(rows("7"))), unit="%", at_least=0.9, less=0.6, why=MODEL),
    Claim("8", "Beyond 32 partitions, the threads of a warp, the time of a scatter in one pass increases dramatically.",
          "no number in the text", "most partitions over 32",
          most(slowest(rows("8", of=r"scatter/drawn:(?:64|\d{3,})/r8/u32/n=(?P<n>\d+)")) /
               rows("8", of=r"scatter/drawn:32/r8/u32/n=(?P<n>\d+)")), at_least=2, less=1.1,
          why={"cpu": "Each of a CPU's threads writes alone, so that no warp has to part; lines of so many partitions "
                      "stay in the cache until they are full.",
               "cuda": "Writes of all partitions gather in a last cache of tens of megabytes before they go to "
                       "memory."}),
    Claim("8", "The model's accuracy by the number of partitions is over 82 % (70 to 99).", "82 %",
          "the 2007 model's mean accuracy", mean(accuracy(rows("8"))), unit="%", at_least=0.82, less=0.6, why=MODEL),
    Claim("9", "The suitable number of passes of a random scatter of 128 MB is 16.", "16",
          "the fastest number of passes, the most of the sizes",
          most(best(rows("9", of=r".*/n=(?P<n>\d+)", who=BY_PASSES), "passes")), unit="", within=(8, 32), less=(2, 64),
          why=NO_GAIN),
    Claim("9", "The model's accuracy by the number of passes is 86 % (70 to 99).", "86 %",
          "the 2007 model's mean accuracy", mean(accuracy(rows("9", who=BY_PASSES))), unit="%", at_least=0.86, less=0.6,
          why=MODEL),
    Claim("10", "Cut into segments, each of which has all passes, a scatter takes the longer the more segments there "
                "are.",
          "no number in the text", "512 segments over one, the least of the numbers of passes",
          least(rows("10", who=r"\w+\.multipass:passes=(?P<passes>\d+),segments=512") /
                rows("10", who=r"\w+\.multipass:passes=(?P<passes>\d+),segments=1")), at_least=1.1, less=1.0,
          why={"cpu": "Segments lie in the cache while they are scanned again, which saves as much as scattered writes "
                      "cost.", "cuda": "Segments lie in the last cache while they are scanned again."}),
    Claim("11", "The multi-pass scheme improves the scatter up to three times.", "3x",
          "one pass over the best number, the most of all numbers of partitions",
          most(gain("11")), at_least=3, less=1.05, why=NO_GAIN),
    Claim("11", "Up to 8 partitions one pass is best.", "1x",
          "one pass over the best number, the most up to 8 partitions",
          most(gain("11", of=r"scatter/drawn:(?P<partitions>[1248])/r8/u32/n=(?P<n>\d+)")), at_most=1.05, less=1.2,
          why={"cpu": "With so few partitions passes take about as long, whatever their number, and times spread by "
                      "more than they differ.",
               "cuda": "Streams of a few partitions leave one pass and two about as fast."}),
    Claim("11", "The model predicts a suitable number of passes for every number of partitions.", "1x",
          "the model's number of passes over the best, the most",
          most(by_model(rows("11", who=BY_PASSES), "passes") / fastest(rows("11", who=ANY_PASSES))), at_most=1.1,
          less=1.5, why=MODEL),
    Claim("12", "On the GPU the multi-pass scheme improves the effective bandwidth 2 to 4 times.", "2x to 4x",
          "one pass over the best number, the most of all widths", most(gain("12")), at_least=2, less=1.05,
          on=("cuda",), why=NO_GAIN),
    Claim("12", "On CPUs the multi-pass scheme has little improvement.", "little",
          "one pass over the best number, the most of all widths", most(gain("12")), at_most=1.3, less=2, on=("cpu",),
          why={"cpu": "Tuples of these widths at random miss both the last cache and the translations of addresses; a "
                      "pass over a part of the output misses neither."}),
    Claim("12", "The effective bandwidth increases with the tuple's size.", "no number in the text",
          "bandwidth of 16 bytes over that of 2, the best number of passes",
          most(fastest(rows("12", of=r"scatter/permutation/r2/u32/n=(?P<n>\d+)", who=ANY_PASSES)) * 8 /
               fastest(rows("12", of=r"scatter/permutation/r16/u32/n=(?P<n>\d+)", who=ANY_PASSES))), at_least=1.5,
          less=1.05, why={"cuda": STREAMS, "cpu": "In the cache wide tuples cost as many moves as their bytes."}),
    Claim("12", "Several threads improve the scatter 1 to 2 times on Intel's CPU and 2 to 4 times on AMD's.", "1x to "
                                                                                                              "4x",
          "one thread over all threads, the median of all widths",
          median(rows("12", who=r"cpu\.\w+:threads=1") / rows("12", who=r"cpu\.(?!multipass)\w+")), at_least=1.5,
          less=1.05, on=("cpu",),
          why={"cpu": "Two threads of one core's worth of caches and memory share what one can nearly fill."}),
    Claim("12", "The GPU is 7 to 13 times as fast as Intel's CPU, and 2 to 4 times as AMD's.", "7x to 13x, 2x to 4x",
          "our choice on the CPU over that on the GPU, the least of all widths", least(beside_cpu("12")), at_least=7,
          less=1, on=("cuda",), why=NO_CPU_RATIO),
    Claim("13", "The effective bandwidth is stable as the data grows.", "1x",
          "time a tuple of our choice, the most over the least", spread(per_record(
              rows("13", of=r"scatter/permutation/r8/u32/n=(?P<n>\d+)", who="sheaf"))), at_most=1.25, less=2,
          why={"cuda": "Lists of 1 M tuples lie in the last cache, where accesses at random are several times as fast; "
                       "those of 64 M do not.",
               "cpu": "Short lists lie in the caches, long ones do not, and threads start and end in part of the time "
                      "of a short call."}),
    Claim("13", "Whatever the size, the GPU is 7 to 13 times as fast as Intel's CPU, and 2 to 4 times as AMD's.",
          "7x to 13x, 2x to 4x", "our choice on the CPU over that on the GPU, the least of all sizes",
          least(beside_cpu("13")), at_least=7, less=1, on=("cuda",), why=NO_CPU_RATIO),
    Described("14", "A drawn example of a radix sort. The sort itself is measured in figures 15 and 16."),
    Claim("15", "The multi-pass scheme improves the GPU's radix sort by over 30 %.", "30 %",
          "time saved by the best number of passes of the scatters, the most of all sizes",
          most((fastest(rows("15", of=RECORDS_OF_SORT, who=r"cuda\.msd_bitonic:passes=1")) -
                fastest(rows("15", of=RECORDS_OF_SORT, who=r"cuda\.msd_bitonic:passes=\d+"))) /
               rows("15", of=RECORDS_OF_SORT, who=r"cuda\.msd_bitonic:passes=1")), unit="%", at_least=0.3, less=0.03,
          on=("cuda",), why=NO_GAIN),
    Claim("15", "Transfers are 10 to 30 % of the time of the GPU's radix sort.", "10 to 30 %",
          "share of transfers in the paper's sort by its best number of passes, the mean of all sizes",
          mean((fastest(rows("15", who=r"cuda\.msd_bitonic:passes=\d+\+transfers")) -
                fastest(rows("15", who=r"cuda\.msd_bitonic:passes=\d+"))) /
               fastest(rows("15", who=r"cuda\.msd_bitonic:passes=\d+\+transfers"))), unit="%", within=(0.1, 0.3),
          less=(0.05, 0.5), on=("cuda",), why=TRANSFERS),
    Claim("15", "Threads and radix clustering improve the CPU's radix sort by 85 % on AMD's CPU, slightly on Intel's.",
          "1.85x", "one thread over all threads, the most of all sizes",
          most(rows("15", who=r"cpu\.radix_clustering:threads=1") / rows("15", who=r"cpu\.radix_clustering")),
          at_least=1.85, less=1.05, on=("cpu",),
          why={"cpu": "Each thread sorts a part in its own cache, and the merge of the parts at the end takes what is "
                      "gained."}),
    Claim("16", "The GPU's radix sort is twice as fast as the GPU's bitonic sort.", "2x",
          "bitonic sort over the paper's radix sort, with transfers, the least of all sizes",
          least(rows("16", who=r"cuda\.bitonic\+transfers") /
                rows("16", who=r"cuda\.msd_bitonic:passes=\d+\+transfers")), at_least=2, less=1.05, on=("cuda",),
          why={"cuda": "Transfers take most of both times, and short lists are sorted within shared memory and the "
                       "last cache, where the bitonic network is at its best."}),
    Claim("16", "The GPU's radix sort is over twice as fast as the best CPU radix sort.", "2x",
          "radix clustering on the CPU over the paper's radix sort on the GPU with transfers, the least of all sizes",
          least(rows("16", who=r"cpu\.radix_clustering", beside="cpu") /
                rows("16", who=r"cuda\.msd_bitonic:passes=\d+\+transfers")), at_least=2, less=1.05, on=("cuda",),
          why=NO_CPU_RATIO),
    Claim("16", "By the model's misses, the GPU's radix sort moves 21.4 GB/s.", "21.4 GB/s",
          "bytes by the model's misses over the time, the mean of all sizes",
          mean(fact(rows("16", who=r"cuda\.msd_bitonic:passes=\d+"), "bytes_by_misses") /
               rows("16", who=r"cuda\.msd_bitonic:passes=\d+")), unit="GB/s", at_least=21.4e9, on=("cuda",),
          why={"cuda": "The model counts few misses where the last cache holds the tuples."}),
    Claim("16", "By the model's misses, the CPU's radix sort moves 1.2 GB/s on Intel's and 2.1 GB/s on AMD's CPU.",
          "1.2 GB/s, 2.1 GB/s", "bytes by the model's misses over the time, the mean of all sizes",
          mean(fact(rows("16", who=r"cpu\.radix_clustering"), "bytes_by_misses") /
               rows("16", who=r"cpu\.radix_clustering")), unit="GB/s", at_least=1.2e9, less=0.6e9, on=("cpu",),
          why={"cpu": "The model counts few misses where the last cache holds the tuples, while the comparisons of the "
                      "insertion sorts and of the merge take the time."}),
    Described("17", "A drawn example of a hash table and of a search in four steps."),
    Claim("18", "The GPU's hash search is 7.2 times as fast as Intel's CPU, and 3.5 times as AMD's.", "7.2x, 3.5x",
          "our choice on the CPU over our choice on the GPU with transfers, the mean of all sizes",
          mean(rows("18", who="sheaf", beside="cpu") / rows("18", who=r"sheaf\+transfers")), at_least=3.5, less=1,
          on=("cuda",), why=NO_CPU_RATIO),
    Claim("18", "With the multi-pass gather, in 16 passes, the search is on average 50 % faster than with one pass.",
          "1.5x", "one pass over 16, the mean of all sizes",
          mean(rows("18", who="sheaf:passes=1") / rows("18", who="sheaf:passes=16")), at_least=1.5, less=1.02,
          why=NO_GAIN),
    Claim("18", "Transfers are 40 to 60 % of the time of the GPU's hash search.", "40 to 60 %",
          "share of transfers in our choice, the mean of all sizes",
          mean((rows("18", who=r"sheaf\+transfers") - rows("18", who="sheaf")) / rows("18", who=r"sheaf\+transfers")),
          unit="%", within=(0.4, 0.6), less=(0.2, 0.8), on=("cuda",), why=TRANSFERS),
    Claim("18", "Search by chunks of the second-level cache is significantly faster on AMD's CPU, moderately on "
                "Intel's.",
          "no number in the text", "one chunk over the planned number, the mean of all sizes",
          mean(rows("18", who=r"cpu\.cache_chunks:chunks=1") /
               slowest(rows("18", who=r"cpu\.cache_chunks:chunks=(?!1$)\d+"))), at_least=1.1, less=1, on=("cpu",),
          why={"cpu": "A table has many chunks of the second-level cache, all search keys are read for each of them, "
                      "and a last cache behind it that 2007 had not makes misses cheap."}),
    Claim("18", "By the model's misses, the search moves 13.0 GB/s on the GPU.", "13.0 GB/s",
          "bytes by the model's misses over the time of our choice in its passes, the mean of all sizes",
          mean(fact(rows("18", who=r"sheaf:passes=(?P<passes>\d+)"), "bytes_by_misses") /
               rows("18", who=r"sheaf:passes=(?P<passes>\d+)")),
          unit="GB/s", at_least=13.0e9, on=("cuda",),
          why={"cuda": "The model counts few misses where the last cache holds the table."}),
    Claim("18", "By the model's misses, the search moves 0.56 GB/s on Intel's CPU and 1.0 GB/s on AMD's.",
          "0.56 GB/s, 1.0 GB/s", "bytes by the model's misses over the time of the search by chunks, the mean of all "
                                 "sizes",
          mean(fact(rows("18", who=r"cpu\.cache_chunks:chunks=(?P<chunks>\d+)"), "bytes_by_misses") /
               rows("18", who=r"cpu\.cache_chunks:chunks=(?P<chunks>\d+)")), unit="GB/s", at_least=0.56e9,
          less=0.28e9, on=("cpu",),
          why={"cpu": "By chunks hardly anything misses, so that the model counts few bytes for the time of reading "
                      "all search keys in each pass."}),
    Claim("19", "In classes A and B the vector fits into the cache, so that passes gain nothing.", "1x",
          "products in one pass over the best number, the most", most(products("19")), at_most=1.1, less=1.3,
          why={"cuda": "Products of so few nonzeros take a few microseconds, which spread by more than passes differ.",
               "cpu": "Products of so few nonzeros take well under a millisecond, most of it the start and end of "
                      "threads, which spread by more than passes differ."}),
    Described("19", "That several threads improve MKL's benchmark around 2 times is not measured: MKL is no peer here, "
                    "and products of the library take all threads of a context."),
    Claim("19", "Products are over 90 % of the time of the benchmark.", "90 %",
          "products in two steps, of a composed solution, over all of it, the mean",
          mean(rows("19", who=r"conjugate gradient composed, two steps in \d+ pass(?:es)?: products") /
               rows("19", who=r"conjugate gradient composed, two steps in \d+ pass(?:es)?")), unit="%", at_least=0.9,
          less=0.5,
          why={"cuda": "Products take microseconds, so that the calls on vectors and the host's reads of their sums, "
                       "which take as long each, weigh more.",
               "cpu": "Vectors of 14 thousand values are short, and each call on them starts and ends all threads."}),
    Claim("19", "The GPU is more than six times as fast as the CPU, which computes in f64 where the GPU does in f32.",
          "6x", "25 iterations in f64 on the CPU over those in f32 on the GPU with transfers, the least",
          least(systems("19")), at_least=6, less=1, on=("cuda",),
          why={"cuda": "A transfer of the matrix takes longer than 25 iterations by it, and 16 threads have the matrix "
                       "in their caches."}),
    Claim("20", "With real matrices the multi-pass scheme is moderately faster than one pass.", "no number in the text",
          "products of the paper's four matrices in one pass over the best number, the median",
          median(products("20", FOUR + ", f(?:32|64)")), at_least=1.1, less=1.03,
          why={"cuda": FITS.format("vectors"), "cpu": FITS.format("vectors")}),
    Claim("20", "With real matrices the GPU is over six times as fast as the CPU.", "6x",
          "25 iterations with the paper's four matrices in f64 on the CPU over those in f32 on the GPU with transfers, "
          "the least",
          least(systems("20", FOUR)), at_least=6, less=1, on=("cuda",),
          why={"cuda": "A transfer of the matrix takes longer than 25 iterations by it."}),
    Claim("abstract", "The optimizations improve the response time by 30 to 50 %.", "30 to 50 %",
          "time that the hash search saves by 16 passes in place of one, the mean of all sizes",
          mean((rows("18", who="sheaf:passes=1") - rows("18", who="sheaf:passes=16")) /
               rows("18", who="sheaf:passes=1")), unit="%", at_least=0.3, less=0.02, why=NO_GAIN),
    Claim("abstract", "The optimized GPU implementations are 2 to 7 times as fast as their optimized CPU counterparts.",
          "2x to 7x", "hash search, radix sort and conjugate gradient, CPU over GPU with transfers: see figures 16, 18 "
                      "and 20; here the least of the searches",
          least(rows("18", who="sheaf", beside="cpu") / rows("18", who=r"sheaf\+transfers")), at_least=2, less=1,
          on=("cuda",), why=NO_CPU_RATIO),
]

FIGURES = {
    "1": "Figure 1. The scatter and the gather on a GPU, sequential and random",
    "2": "Figure 2. The memory model",
    "3": "Figure 3. Definitions of scatter and gather",
    "4": "Figure 4. Examples of scatter and gather",
    "5": "Figure 5. Single-pass and multi-pass scatter",
    "table1": "Table 1. Hardware configuration",
    "6": "Figure 6. Sequential gather and scatter, measured and estimated",
    "7": "Figure 7. Random gather and scatter, measured and estimated",
    "8": "Figure 8. Single-pass scatter by the number of partitions",
    "9": "Figure 9. Multi-pass scatter by the number of passes",
    "10": "Figure 10. Scatter by the number of segments",
    "11": "Figure 11. Multi-pass scatter by the number of partitions",
    "12": "Figure 12. Scatter by the tuple's size",
    "13": "Figure 13. Scatter by the data's size",
    "14": "Figure 14. An example of radix sort",
    "15": "Figure 15. What optimizations do to the radix sort",
    "16": "Figure 16. Sorts on the GPU and the CPU",
    "17": "Figure 17. An example of hash search",
    "18": "Figure 18. Hash search on the GPU and the CPU",
    "19": "Figure 19. Conjugate gradient benchmark",
    "20": "Figure 20. Conjugate gradient with real matrices",
    "abstract": "Abstract",
}

PAPER = Paper("he2007", "He, Govindaraju, Luo and Smith 2007, gather and scatter", FIGURES, CLAIMS)
