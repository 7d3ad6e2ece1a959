# Runs the figures of the papers at tiny sizes: every figure printed, every answer right, every row with its figure and
# with the backend that ran.

# Runs all figures, and leaves what was said in `said` and what was written in `document`.
function(run_all_figures)
  execute_process(COMMAND ${BENCH} papers --size tiny ${ARGN} --threads 1 --json ${OUTPUT}
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT code EQUAL 0 OR NOT said MATCHES " answers, 0 wrong" OR NOT said MATCHES "--size tiny: .*the times mean nothing")
    message(FATAL_ERROR "sheaf-bench papers ${ARGN} exited with ${code}:\n${said}${complained}")
  endif()
  foreach(figure IN ITEMS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 19 20)
    if(NOT said MATCHES "\nFigure ${figure}\\. ")
      message(FATAL_ERROR "figure ${figure} is missing:\n${said}")
    endif()
  endforeach()
  if(said MATCHES "WRONG")
    message(FATAL_ERROR "a row is wrong:\n${said}")
  endif()
  file(READ ${OUTPUT} document)
  string(JSON rows LENGTH "${document}" rows)
  if(rows LESS 100)
    message(FATAL_ERROR "${OUTPUT} has ${rows} rows, fewer than the figures")
  endif()
  set(said "${said}" PARENT_SCOPE)
  set(document "${document}" PARENT_SCOPE)
endfunction()

# A row names the backend of its variant, and the file a machine of each backend. Each row has a line.
function(require_backends)
  file(STRINGS ${OUTPUT} lines REGEX "^{\"(problem|figure)\":")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"backend\":\"([a-z]+)\"" backend "${line}")
    set(backend ${CMAKE_MATCH_1})
    if(NOT line MATCHES "\"(variant|who)\":\"(cpu|cuda|opengl|reference)[.]")
      continue()
    endif()
    string(REPLACE "reference" "cpu" ran ${CMAKE_MATCH_2})
    string(JSON machine ERROR_VARIABLE missing GET "${document}" machines ${ran} machine)
    if(missing OR NOT ran STREQUAL backend)
      message(FATAL_ERROR "${OUTPUT}: this row is recorded as of ${backend}. ${missing}\n${line}")
    endif()
  endforeach()
endfunction()

run_all_figures(--backend cpu)
require_backends()
foreach(words IN ITEMS "B_seq by equation 1 from 2 copies: [0-9.]+ GB/s; the profile's copy" "best measured "
    "Figure 6\\..*[0-9]+ accesses that a core has under way miss together.*Figure 7\\."
    "Figure 8\\..*[0-9]+ accesses that a core has under way miss together.*Figure 9\\."
    "Figure 11\\..*[0-9]+ accesses that a core has under way miss together.*Figure 12\\."
    "one pass +model's +its time +16 passes +best +its time +one / best +wins" "\n +32 +cpu\\." "one pass wins in [0-9] of 9 rows"
    "\nFigure 15\\. Radix sort" "whole array +one thread +all threads" "paper's +by misses"
    "\nFigure 15\\. Sorts of 32-bit" "\nTable 1\\. " "\nFigure 18\\. Hash search"
    "records +probes +load +direct +partitioned"
    "peer +its time +peer / choice" "step 4 by cpu.multipass.*search, one +search, 16 +one / 16 +faster"
    "cpu.cache_chunks, with the gather\n +records +probes +chunks +one chunk +by chunks" "by the model's misses: "
    "\n *4 K +16 K +99 % " "\n *16 K +4 K +99 % ")
  if(NOT said MATCHES "${words}")
    message(FATAL_ERROR "'${words}' is missing:\n${said}")
  endif()
endforeach()
if(said MATCHES "skipped")
  message(FATAL_ERROR "a row is missing:\n${said}")
endif()
foreach(row IN ITEMS 0 50 99)
  foreach(field IN ITEMS figure problem who median_seconds predicted_seconds verified)
    string(JSON value ERROR_VARIABLE missing GET "${document}" rows ${row} ${field})
    if(missing)
      message(FATAL_ERROR "${OUTPUT}: ${missing}")
    endif()
  endforeach()
endforeach()

# Figures 19 and 20 have rows of matrices.
string(JSON rows LENGTH "${document}" input_rows)
foreach(words IN ITEMS "he2007/19" "he2007/20" "conjugate gradient by cpu.fused" "product by cpu.two_step, 2 passes"
    "conjugate gradient composed: products" "the whole benchmark by cpu.fused")
  if(NOT document MATCHES "\"${words}\"")
    message(FATAL_ERROR "'${words}' is missing among the ${rows} rows of matrices of ${OUTPUT}")
  endif()
endforeach()

foreach(words IN ITEMS "cpu.cache_chunks:chunks=1" "step 4:passes=1" "step 4:passes=16" "sheaf:passes=16" open_addressing)
  if(NOT document MATCHES "\"who\":\"${words}\"[^\n]*\"figure\":\"he2007/18\"")
    message(FATAL_ERROR "figure 18 of 2007 has no row of '${words}' in ${OUTPUT}")
  endif()
endforeach()

# What the papers claim beside times: the copies of equation 1, bytes by the model's misses, loads, and accesses of the
# memory test.
foreach(words IN ITEMS "\"figure\":\"he2007/6\",\"input\":\"array of 65536 bytes\"[^\n]*\"scan: a copy in order\""
    "\"who\":\"cpu.radix_clustering\"[^\n]*\"he2007/16\",\"bytes_by_misses\":[1-9]"
    "\"who\":\"sheaf:passes=1\"[^\n]*\"he2007/18\"[^\n]*\"bytes_by_misses\":[1-9]"
    "\"figure\":\"wei2010/5\"[^\n]* sublists dealt: step 3\"[^\n]*\"largest_load\":[1-9][0-9]*,\"loads\":1}"
    "\"figure\":\"wei2010/table3\",\"input\":\"16384 words of 64 bits, stride 1001\"[^\n]*\"memory test, reads, [0-9]+ x [0-9]+ x [0-9]+\""
    "\"figure\":\"wei2010/table4\",\"input\":\"16384 words of 64 bits, at random\"[^\n]*\"memory test, reads with writes, ")
  if(NOT document MATCHES "${words}")
    message(FATAL_ERROR "no row of ${OUTPUT} matches '${words}'")
  endif()
endforeach()

# The device as a coprocessor has rows of what the host does alone, and of its own where there is a device.
if(NOT said MATCHES "section 3\\.4, not a table of the paper" OR NOT said MATCHES "no device here: only"
    OR NOT said MATCHES "\n *8 bits +4 K +[0-9.]+ [mu]s\n *32 bits +4 K +[0-9.]+ [mu]s\n")
  message(FATAL_ERROR "what section 3.4 of the 2009 paper proposes is missing:\n${said}")
endif()
foreach(words IN ITEMS "patidar2009/table2" "4096 records of 256 bytes, keys of 32 bits" "all on the host")
  if(NOT document MATCHES "\"${words}\"")
    message(FATAL_ERROR "'${words}' is missing in ${OUTPUT}")
  endif()
endforeach()
execute_process(COMMAND ${BENCH} papers --size tiny --backend cuda --paper patidar2009 --figures table2 --json ${OUTPUT}.device
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 6)  # where there is no device
  if(NOT code EQUAL 0 OR said MATCHES "WRONG|left out" OR NOT said MATCHES "\n *32 bits +4 K( +[0-9.]+ [mu]?s)+")
    message(FATAL_ERROR "sheaf-bench papers --backend cuda --figures table2 exited with ${code}:\n${said}${complained}")
  endif()
  file(READ ${OUTPUT}.device document)
  foreach(words IN ITEMS "index on the device, gather on the host" "index on the device, gather on the host: gather"
      "all on the device" "all on the device: records to the host" "all on the host")
    if(NOT document MATCHES "\"${words}\"")
      message(FATAL_ERROR "'${words}' is missing in ${OUTPUT}.device")
    endif()
  endforeach()
endif()

# All figures on a GPU, where there is one.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cuda --figures 1 RESULT_VARIABLE code OUTPUT_QUIET
  ERROR_VARIABLE complained)
if(code EQUAL 6)
  message(STATUS "the figures were not run on CUDA: ${complained}")
else()
  run_all_figures(--backend cuda)
  require_backends()
  if(NOT said MATCHES "today's +variant +paper's / today's +its ending +one pass +best" OR
      NOT said MATCHES "records +one pass +model's +its time +4 passes +bitonic +bitonic / paper's" OR
      NOT said MATCHES "32 threads of a warp miss together")
    message(FATAL_ERROR "figures 6, 15 and 16 of 2007 lack what only a GPU has:\n${said}")
  endif()
  foreach(words IN ITEMS "\"backend\":\"cuda\",\"who\":\"cuda.split_sort\"" "\"where\":\"cuda\"" "he2007/20")
    if(NOT document MATCHES "${words}")
      message(FATAL_ERROR "'${words}' is missing in ${OUTPUT}")
    endif()
  endforeach()
endif()

# On several threads, figures 12 and 18 have one thread beside them.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cpu --threads 2 --paper he2007 --figures 12,18
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR NOT said MATCHES "2 threads over one" OR said MATCHES "Figure 13|WRONG"
    OR NOT said MATCHES "chunks / choice +by misses +1 thread +1 / all\n[^\n]* GB/s +[0-9.]+ [mun]?s +[0-9.]+x\n")
  message(FATAL_ERROR "sheaf-bench papers --figures 12,18 exited with ${code}:\n${said}${complained}")
endif()

# One paper alone has its own figures, and no others.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cpu --threads 1 --paper patidar2009 --figures 2,8
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR NOT said MATCHES "Figure 8\\. Splits" OR said MATCHES "He, Govindaraju|Figure 4|skipped|WRONG")
  message(FATAL_ERROR "sheaf-bench papers --paper patidar2009 exited with ${code}:\n${said}${complained}")
endif()

# Records of every class of the lane rule, odd ones too. What only CUDA has is no column of a CPU's table.
foreach(figure IN ITEMS 11 12)
  execute_process(COMMAND ${BENCH} papers --size tiny --backend cpu --threads 1 --paper patidar2009 --figures ${figure}
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT code EQUAL 0 OR NOT said MATCHES "\n +record +records +choice +bandwidth +variant +peer +peer / choice\n"
      OR said MATCHES "skipped|WRONG")
    message(FATAL_ERROR "sheaf-bench papers --paper patidar2009 --figures ${figure} exited with ${code}:\n${said}${complained}")
  endif()
  foreach(width IN ITEMS 16 32 64 100 128 256 300 512 1024)
    if(NOT said MATCHES "\n +${width} B +4 K +[0-9.]+ [num]?s +[0-9.]+ GB/s +cpu\\.")
      message(FATAL_ERROR "figure ${figure} has no row of ${width} bytes:\n${said}")
    endif()
  endforeach()
endforeach()

# Tables are counted with the figures: those of both papers that are asked for, and no others.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cpu --threads 1 --figures table1,16
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR NOT said MATCHES "Figure 16\\. Radix sort.*Table 1\\. Sorts" OR said MATCHES "Figure 15|skipped|WRONG")
  message(FATAL_ERROR "sheaf-bench papers --figures table1,16 exited with ${code}:\n${said}${complained}")
endif()

# Lists beside the memory test, which has read what it should.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cpu --threads 2 --paper wei2010 --json ${OUTPUT}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR said MATCHES "skipped|WRONG|left out|Patidar")
  message(FATAL_ERROR "sheaf-bench papers --paper wei2010 exited with ${code}:\n${said}${complained}")
endif()
foreach(words IN ITEMS "\nTable 2\\. Time" "\nFigure 4\\. Lists" "\nFigure 5\\. Step 3" "\nFigure 6\\. Time" "\nFigure 7\\. Lists" "\nTable 3\\. The memory test"
    "\nTable 4\\. The memory test" "\nFigure 11\\. Machines" "\nFigure 12\\. An ordered" "the best of 2 points"
    "2 splitters +3 walks" "the paper's steps, one walker in each thread" "\n +one thread +1024 " "\n +cpu.sublist +257 "
    "\n +4 K +22 +lemma +[0-9]+ x [0-9]+ +[0-9]+ +[0-9.]+ +yes " "\n +4 K +22 +table II +2 x 1 +2 +1.0 +no "
    "\n +4 K +22 +ours, paper's steps " "\n +4 K +22 +cpu.sublist .* 1\\.00x\n" "2 x 128 walkers, sublists drawn"
    "\n +2 +8192 .* 1\\.73 x mean +1\\.73 x mean\n" "16 K nodes, 1024 sublists, threads of 64 walkers" "\n +2 x 256 +2\\.0 "
    "array scan +list / array\n +rank" "array scan of one thread" "scan / read +scan / .read . write. +C1060" "\n *4 K +[0-9.e+]+ ns +[0-9.e+]+ ns +[24] x (8|32) x 1024 " " answers, 0 wrong")
  if(NOT said MATCHES "${words}")
    message(FATAL_ERROR "'${words}' is missing:\n${said}")
  endif()
endforeach()

file(READ ${OUTPUT} document)
foreach(words IN ITEMS "wei2010/table2" "wei2010/5" "wei2010/6" "cpu.sublist: step 3"
    "the paper's steps by 2 x 1 walkers, 2 sublists dealt, step 4 by one thread: step 4, scan" "std.inclusive_scan")
  if(NOT document MATCHES "\"${words}\"")
    message(FATAL_ERROR "'${words}' is missing in ${OUTPUT}")
  endif()
endforeach()

# On a device step 4 has copies, and threads of a block are swept, where there is one.
execute_process(COMMAND ${BENCH} papers --size tiny --backend cuda --paper wei2010
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 6)
  if(NOT code EQUAL 0 OR said MATCHES "skipped|WRONG|left out")
    message(FATAL_ERROR "sheaf-bench papers --backend cuda --paper wei2010 exited with ${code}:\n${said}${complained}")
  endif()
  foreach(words IN ITEMS "4 to host +4 sublists +4 back" "\n +one thread of the device +1024 +- " "\n +one thread of the host +1024 +[0-9.]+ [mu]s"
      "\n +16 K +41 +ours, paper's steps " "a block for each multiprocessor\n" "[0-9]+ x 1024 " "drawn by them from a counter")
    if(NOT said MATCHES "${words}")
      message(FATAL_ERROR "'${words}' is missing:\n${said}")
    endif()
  endforeach()
endif()

# Sorts, lists and passes run on no graphics pipeline: what would run there is the CPU's, and is not recorded as another's.
execute_process(COMMAND ${BENCH} papers --size tiny --backend opengl --figures table4 --json ${OUTPUT}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 6)  # where there is no device
  if(NOT code EQUAL 0 OR NOT said MATCHES "left out: wei2010: a graphics pipeline has no sorts, lists" OR NOT said MATCHES "Table 4\\. ")
    message(FATAL_ERROR "sheaf-bench papers --backend opengl exited with ${code}:\n${said}${complained}")
  endif()
  file(READ ${OUTPUT} document)
  string(JSON rows LENGTH "${document}" rows)
  if(NOT rows EQUAL 0)
    message(FATAL_ERROR "${OUTPUT} has ${rows} rows, none of which ran on OpenGL")
  endif()
  foreach(wrong IN ITEMS "--paper;he2007" "--paper;patidar2009,ujaldon2005" "--figures;13" "--paper;wei2010;--figures;4")
    execute_process(COMMAND ${BENCH} papers --size tiny --backend opengl ${wrong} RESULT_VARIABLE code OUTPUT_VARIABLE said
      ERROR_VARIABLE complained)
    if(NOT code EQUAL 2 OR NOT complained MATCHES "use --backend cpu or cuda" OR said MATCHES "Figure")
      message(FATAL_ERROR "sheaf-bench papers --backend opengl ${wrong} exited with ${code}, not 2:\n${said}${complained}")
    endif()
  endforeach()
endif()

# Small runs are of real sizes, two of a figure that varies them, and have medians of three rounds, or a call of a peer
# that is far behind.
execute_process(COMMAND ${BENCH} papers --size small --backend cpu --threads 1 --paper he2007,patidar2009 --figures 1,14
    --json ${OUTPUT}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR said MATCHES "WRONG|skipped" OR NOT said MATCHES "--size small: up to 2.20 records"
    OR NOT said MATCHES "8 MB of tuples, fewer than the paper's" OR said MATCHES " 0\\.0 times the last cache" OR NOT said MATCHES "\n *256 K .*\n *1 M ")
  message(FATAL_ERROR "sheaf-bench papers --size small exited with ${code}:\n${said}${complained}")
endif()
file(READ ${OUTPUT} document)
string(JSON last LENGTH "${document}" rows)
math(EXPR last "${last} - 1")
foreach(row RANGE ${last})
  string(JSON calls GET "${document}" rows ${row} calls)
  string(JSON variant GET "${document}" rows ${row} variant)
  string(JSON count GET "${document}" rows ${row} count)
  if(NOT calls EQUAL 3 AND NOT (calls EQUAL 1 AND variant STREQUAL "") OR NOT count MATCHES "^(262144|1048576)$")
    message(FATAL_ERROR "row ${row} of ${OUTPUT} has ${calls} calls on ${count} records")
  endif()
endforeach()

# What is no size, and --quick, which other commands have, are refused.
foreach(wrong IN ITEMS "--size;large" "--size;" "--quick")
  execute_process(COMMAND ${BENCH} papers ${wrong} --figures 1 RESULT_VARIABLE code OUTPUT_VARIABLE said
    ERROR_VARIABLE complained)
  if(NOT code EQUAL 2 OR said MATCHES "Figure")
    message(FATAL_ERROR "sheaf-bench papers ${wrong} exited with ${code}, not 2:\n${said}${complained}")
  endif()
endforeach()

# The numbers of the figures alone, of which those of one paper are no other's.
execute_process(COMMAND ${BENCH} papers --list --paper wei2010,he2007 --figures 4,table2
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT code EQUAL 0 OR NOT said STREQUAL "wei2010: 4,table2\n")
  message(FATAL_ERROR "sheaf-bench papers --list exited with ${code}:\n${said}${complained}")
endif()

# A figure that is not the paper's, and a sweep's options, are refused before anything is measured.
foreach(wrong IN ITEMS "papers;--size;tiny;--figures;99" "papers;--size;tiny;--paper;he2007;--figures;2" "papers;--size;tiny;--figures;table9"
    "papers;--size;tiny;--figures;first" "papers;--list;--figures;99" "papers;--list;--json;${OUTPUT}" "--widths;4;papers")
  execute_process(COMMAND ${BENCH} ${wrong} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE complained)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "sheaf-bench ${wrong} exited with ${code}, not 2:\n${complained}")
  endif()
endforeach()
