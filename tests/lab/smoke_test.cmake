# Runs a small sweep and reads the JSON that it wrote: every answer right, every row named.
execute_process(COMMAND ${BENCH} --set quick --log2-sizes 10,13 --backend cpu --variants --trust --seconds 0 --json ${OUTPUT}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "sheaf-bench exited with ${code}:\n${said}")
endif()
foreach(whose IN ITEMS "cpu gather" "cpu scatter" "cpu")
  if(NOT said MATCHES "\n${whose}: planner's choice / best variant over [1-9][0-9]* rows: mean [0-9.]+, worst [0-9.]+ \\([a-z]+/[^)]*\\); choices predicted at -?[0-9.]+ % accuracy in the mean\n")
    message(FATAL_ERROR "sheaf-bench --variants says nothing of the planner's regret of ${whose}:\n${said}")
  endif()
endforeach()
file(READ ${OUTPUT} document)
string(JSON rows LENGTH "${document}" rows)
if(rows LESS 48)
  message(FATAL_ERROR "${OUTPUT} has ${rows} rows, fewer than the sweep")
endif()
foreach(field IN ITEMS problem primitive pattern record_bytes index_type count who median_seconds least_seconds most_seconds
    predicted_seconds peer_ratio bytes_per_second verified)
  string(JSON value ERROR_VARIABLE missing GET "${document}" rows 0 ${field})
  if(missing)
    message(FATAL_ERROR "${OUTPUT}: ${missing}")
  endif()
endforeach()
string(JSON version GET "${document}" machines cpu versions sheaf)
string(JSON machine GET "${document}" machines cpu machine)
string(JSON commit GET "${document}" commit)
string(JSON last GET "${document}" rows 0 problem)
# What all rows have in common is said once, and each row has a line.
file(STRINGS ${OUTPUT} lines REGEX "^{\"problem\":")
list(LENGTH lines line_count)
if(NOT line_count EQUAL rows OR document MATCHES "\n{[^\n]*(machine|commit|versions)")
  message(FATAL_ERROR "${OUTPUT} has ${line_count} lines of rows, not ${rows}, or says in rows what all have in common")
endif()

# Splits, sums by index and sorts: every way to do them at sizes that are no multiple of anything, every answer right.
foreach(sweep IN ITEMS
    "--set;split;--sizes;1,4097,70001;--keys;uniform,equal,two,sorted,zipf;--widths;4,8,12;--bits;1,8,11,16,32"
    "--set;reduce;--sizes;1,70001;--slots;1,1000,100000;--patterns;uniform,zipf,same"
    "--set;list;--sizes;1,2,4097,70001;--patterns;permutation,strided:1001;--list-layouts;u32,i64,u32+many,u32+u32+packed,i32+u64+xor,u64+f32+max+exclusive,u32+i32+mul,u32+f64+min+many"
    "--set;hash;--sizes;1,4097;--tables;1,5003;--patterns;permutation,zipf;--repeats;1,16,zipf;--hits;50;--loads;80,99"
    "--set;hash;--sizes;5,3001;--tables;5003;--patterns;uniform;--repeats;1,zipf;--hits;0,100;--hash-keys;4;--primitives;build_hash_index,hash_search,hash_count,hash_contains,hash_find"
    "--set;spmv;--sizes;1,4097,30011;--matrices;banded:x16,banded:s3000,grid:x7,grid:x9,uniform:xzipf,zipf:c900:x3;--matrix-layouts;r4/u32+f32,r8/u64+f64,r4/i32+u64+f32+f64_sums+row_ends,r8/u32+f64+transposed,r4/u32+f32+transposed+unordered"
    "--set;systems;--sizes;1,2,33,4097,30011;--systems;grid:x5:i16/r4/u32+f32,grid:x7:i20/r8/u32+u64+f64+jacobi,grid:x9:i16/r4/i32+f32+f64_sums+row_ends,grid:x27:i30/r8/u64+f64,grid:x7:i9/r4/u32+u64+f32+jacobi"
    "--set;edges;--sizes;1,4097,30011;--patterns;identity,permutation,uniform,zipf,same;--edge-layouts;r4/u32+f32,r12/i32+f32+inverse_square,r40/u64+f64+weights+pairs,r56/i64+f64,r32/u32+f32+inverse_square+weights+unordered"
    "--set;sort;--sizes;4097;--keys;uniform,equal,two,sorted,reverse,zipf,few,nested;--bit-ranges;all,5:29"
    "--set;sort;--sizes;4097;--keys;narrowed,distinct100,distinct10007,normal,lognormal,exponential,pareto,timestamps,unit,sphere,cities,geohash,quadtree,octree,urls,versions,counters;--sorts;u32,i64+4,f32+8,f64/index,u96,bytes10/33"
    "--set;sort;--sizes;1,2,5003;--keys;uniform,few;--sorts;u8,i16,i64,bytes3,u96,u32+7,u64+8,u40/32,bytes10/33,f32/16,i64/index")
  execute_process(COMMAND ${BENCH} ${sweep} --backend cpu --variants --seconds 0 --rounds 1 --threads 2 --warm
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR NOT said MATCHES "[1-9][0-9][0-9]+ answers, 0 wrong" OR said MATCHES "skipped")
    message(FATAL_ERROR "sheaf-bench ${sweep} exited with ${code}:\n${said}")
  endif()
endforeach()

# The set of usual rows at sizes of no importance, in two shards: every right answer, and the factors of both together.
set(sorts 0)
foreach(shard IN ITEMS 1 2)
  execute_process(COMMAND ${BENCH} --set everyday --sizes 1,3001 --bits 8,11 --slots 100 --backend cpu --threads 2 --rounds 1
      --warm --shard ${shard}/2 --json ${OUTPUT}.${shard}
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR NOT said MATCHES "[1-9][0-9][0-9]+ answers, 0 wrong" OR said MATCHES "skipped"
      OR NOT said MATCHES "\ncpu sort: ([0-9]+) rows, peer / ours: geometric mean .*\nthe 10 worst")
    message(FATAL_ERROR "sheaf-bench --set everyday exited with ${code}:\n${said}")
  endif()
  math(EXPR sorts "${sorts} + ${CMAKE_MATCH_1}")
endforeach()
execute_process(COMMAND ${BENCH} --factors ${OUTPUT}.1,${OUTPUT}.2 RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0 OR NOT sorts EQUAL 640 OR NOT said MATCHES "cpu sort: ${sorts} rows, peer / ours: geometric mean")
  message(FATAL_ERROR "sheaf-bench --factors exited with ${code}, sorts in shards: ${sorts}:\n${said}")
endif()
foreach(wrong IN ITEMS 0/2 3/2 2 1/0 x/y)
  execute_process(COMMAND ${BENCH} --set everyday --shard ${wrong} --list RESULT_VARIABLE code OUTPUT_QUIET
    ERROR_VARIABLE complained)
  if(NOT code EQUAL 2 OR NOT complained MATCHES "'${wrong}' is not a shard")
    message(FATAL_ERROR "sheaf-bench --shard ${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()

# Records in several categories, which no set has, beside what one writes by hand.
set(memberships multi_split/uniform:b8:s700/r8/k32/n=5003,multi_split/zipf:b16:s30000/r12/k32/n=70001,multi_split/two:b3:s1/r100/k32/n=33)
execute_process(COMMAND ${BENCH} --rows ${memberships} --backend cpu --threads 2 --seconds 0 --rounds 1 --warm
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0 OR NOT said MATCHES "[1-9][0-9]* answers, 0 wrong" OR said MATCHES "skipped")
  message(FATAL_ERROR "sheaf-bench --rows ${memberships} exited with ${code}:\n${said}")
endif()
string(REGEX MATCHALL "multi_split/[^\n]*/serial_loop " by_hand "${said}")
list(LENGTH by_hand rows_by_hand)
if(NOT rows_by_hand EQUAL 3 OR NOT said MATCHES "cpu multi_split: 3 rows, peer / ours: ")
  message(FATAL_ERROR "${rows_by_hand} rows of multi_split have a peer, not 3:\n${said}")
endif()
execute_process(COMMAND ${BENCH} --rows ${memberships} --backend cuda --seconds 0 --rounds 1 --warm
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 6)  # where there is no device
  if(NOT code EQUAL 0 OR NOT said MATCHES " answers, 0 wrong" OR NOT said MATCHES "cuda multi_split: 3 rows, peer / ours: ")
    message(FATAL_ERROR "sheaf-bench --rows ${memberships} --backend cuda exited with ${code}:\n${said}")
  endif()
endif()

# Rows by name, among them what no set has.
execute_process(COMMAND ${BENCH} --rows scatter/uniform/r12/u32+last/n=5003,gather/zipf:s70/r8/i64/n=5003 --prepared --trust
    --backend cpu --threads 2 --seconds 0 --rounds 1 --warm
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0 OR NOT said MATCHES "8 answers, 0 wrong")
  message(FATAL_ERROR "sheaf-bench --rows exited with ${code}:\n${said}")
endif()
# Predictions for a list whose order the planner was told are not averaged with those for one that it was not. What has
# no list has no order.
function(expect_summary says_unknown)
  execute_process(COMMAND ${BENCH} --rows ${ARGN} --no-peer --backend cpu --threads 1 --seconds 0 --rounds 1 --warm
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR NOT said MATCHES "\ncpu [a-z_]+(, lists of unknown order)?: predicted at ")
    message(FATAL_ERROR "sheaf-bench --rows ${ARGN} exited with ${code}:\n${said}")
  endif()
  if(says_unknown AND NOT CMAKE_MATCH_1 OR CMAKE_MATCH_1 AND NOT says_unknown)
    message(FATAL_ERROR "sheaf-bench --rows ${ARGN}:\n${said}")
  endif()
endfunction()
expect_summary(TRUE gather/zipf/r8/u32/n=5003)
expect_summary(FALSE gather/zipf/r8/u32/n=5003 --hint)
expect_summary(FALSE sort_keys/uniform/r4/u32/n=5003)

# The last cache is as large as the system says, in the folders of its first processor.
file(GLOB caches /sys/devices/system/cpu/cpu0/cache/index*/size)
if(caches)
  set(last_kib 0)
  foreach(cache IN LISTS caches)
    file(READ ${cache} size)
    if(size MATCHES "^([0-9]+)K" AND CMAKE_MATCH_1 GREATER last_kib)
      set(last_kib ${CMAKE_MATCH_1})
    endif()
  endforeach()
  math(EXPR last_mb "${last_kib} / 1024")
  execute_process(COMMAND ${BENCH} --rows sort_keys/uniform/r4/u32/n=7 --no-peer --backend cpu --threads 1 --seconds 0
      --rounds 1
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR last_kib GREATER 0 AND NOT said MATCHES "last cache ${last_mb} MB")
    message(FATAL_ERROR "sheaf-bench: the last cache is ${last_mb} MB, not as in\n${said}")
  endif()
endif()

execute_process(COMMAND ${BENCH} --rows gather/zipf/r8/u32 RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
if(NOT code EQUAL 2 OR NOT complained MATCHES "'gather/zipf/r8/u32' is not PRIMITIVE/PATTERN/rBYTES/TYPE/n=COUNT")
  message(FATAL_ERROR "sheaf-bench --rows gather/zipf/r8/u32 exited with ${code}:\n${complained}")
endif()

# A record has the profile and, for each problem, every variant's time under the variant's name.
execute_process(COMMAND ${BENCH} --set sort --sorts u32,u64+16 --keys uniform --bit-ranges all --sizes 4097 --backend cpu
    --threads 2 --variants --no-peer --seconds 0 --rounds 1 --warm --record ${OUTPUT}.record
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "sheaf-bench --record exited with ${code}:\n${said}")
endif()
file(READ ${OUTPUT}.record record)
string(JSON backend ERROR_VARIABLE missing GET "${record}" profile backend)
foreach(problem IN ITEMS sort_keys/uniform/r4/u32/n=4097 sort_pairs/uniform/r16/u64/n=4097)
  if(NOT missing)
    string(JSON seconds ERROR_VARIABLE missing GET "${record}" seconds ${problem} cpu.msd)
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "${OUTPUT}.record: ${missing}")
endif()
# Where no row matches, it stays.
execute_process(COMMAND ${BENCH} --set sort --filter nothing --backend cpu --variants --record ${OUTPUT}.record
  RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
file(READ ${OUTPUT}.record kept)
if(NOT code EQUAL 2 OR NOT complained MATCHES "no row matches all options" OR NOT kept STREQUAL record)
  message(FATAL_ERROR "sheaf-bench --record without a row exited with ${code}:\n${complained}")
endif()

# What is no sort, no range of bits, or no list is refused.
foreach(wrong IN ITEMS "--sorts;u33" "--sorts;f16" "--sorts;u64/8" "--sorts;u32/" "--sorts;index" "--sorts;i128"
    "--bit-ranges;8" "--bit-ranges;9:9" "--bit-ranges;0:65" "--keys;random")
  execute_process(COMMAND ${BENCH} --set sort ${wrong} --list RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "sheaf-bench ${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()
foreach(wrong IN ITEMS "--repeats;0" "--repeats;few" "--hits;101" "--hash-keys;16" "--loads;100" "--tables;-1")
  execute_process(COMMAND ${BENCH} --set hash ${wrong} --list RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "sheaf-bench ${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()
foreach(wrong IN ITEMS u8 u32+u8 u64+u64+packed u32+f32+xor u32+f32+two u32+ "")
  execute_process(COMMAND ${BENCH} --set list --list-layouts=${wrong} --list RESULT_VARIABLE code OUTPUT_QUIET
    ERROR_VARIABLE complained)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "sheaf-bench --list-layouts=${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()
foreach(wrong IN ITEMS "--systems;grid:x7/r8/u32+f64" "--systems;banded:x7:i9/r8/u32+f64" "--matrices;banded" "--matrices;grid:x8" "--matrices;identity:x3" "--matrix-layouts;r4/u32+f64"
    "--matrix-layouts;r4/u32+f32+packed")
  execute_process(COMMAND ${BENCH} --set spmv ${wrong} --list RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "sheaf-bench ${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()
