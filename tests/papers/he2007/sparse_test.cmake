# Runs figures 19 and 20 of He et al. at tiny sizes: products by passes, shares that are no more than all, the benchmark
# of NAS in both precisions, and matrices of files.
function(run_figures code words)
  execute_process(COMMAND ${BENCH} papers --size tiny --paper he2007 ${ARGN}
    RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT found EQUAL code OR NOT "${said}${complained}" MATCHES "${words}" OR said MATCHES "WRONG")
    message(FATAL_ERROR "sheaf-bench papers ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}${complained}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

function(require_words)
  foreach(words IN LISTS ARGN)
    if(NOT said MATCHES "${words}")
      message(FATAL_ERROR "'${words}' is missing:\n${said}")
    endif()
  endforeach()
endfunction()

# The seconds of a row of the input that has this contender, in `seconds`.
function(get_seconds input who)
  file(STRINGS ${OUTPUT} lines REGEX "\"input\":\"${input}\".*\"who\":\"${who}\"")
  list(LENGTH lines count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${OUTPUT} has ${count} rows of ${input} by ${who}, not one")
  endif()
  string(REGEX MATCH "\"median_seconds\":([0-9.e+-]+)" seconds "${lines}")
  set(seconds ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

set(time "[0-9.]+ [mun]?s")
set(backends cpu)
execute_process(COMMAND ${BENCH} papers --size tiny --backend cuda --figures 1 RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 6)  # where there is a device
  list(APPEND backends cuda)
endif()
foreach(backend IN LISTS backends)
  run_figures(0 " answers, 0 wrong" --backend ${backend} --threads 2 --figures 19,20 --json ${OUTPUT})
  require_words("a row +x / cache +one pass +model's +its time +16 passes +best +its time +one / best +wins +GFLOP/s +by misses"
    "\n +NAS, class S +f32 +1400 +78148 +56 +[0-9.e-]+ +${time} +[0-9]+ +${time} +${time} +[0-9]+ +${time} +[0-9.]+x +(one pass|more) +[0-9.]+ +[0-9.]+ GB/s"
    "\n +NAS, class S +f64 +${time} +${backend}\\.[a-z]+ +${time} +[0-9]+ % +[0-9.]+ +${time} +[0-9]+ % "
    "\n +S +f32 +15 +8\\.59717[0-9]+ +8\\.5971775079 +unofficial +${time}"
    "\n +S +f64 +15 +8\\.5971775079 +8\\.5971775079 +official +${time}"
    "\n +like Stanford_Berkeley +f32 .*\n +like pkustk14 +f64 .*\n +like pkustk08 +f32 .*\n +like nd24k +f64 "
    "\n +11 a row, x [0-9.e-]+ times the cache, reduced +f64 +4 K " "\n +98 a row, x [0-9.e-]+ times the cache, reduced +f32 +668 ")
  if(said MATCHES "transfers" AND backend STREQUAL "cpu" OR NOT said MATCHES "with transfers" AND backend STREQUAL "cuda")
    message(FATAL_ERROR "transfers are of devices alone:\n${said}")
  endif()
  if(backend STREQUAL "cpu")
    require_words("peer / ours +1 thread +1 / all" "\n +NAS, class S +f64 [^\n]* +${time} +[0-9.]+x\n")
    get_seconds("NAS, class S, f64" "conjugate gradient on one thread")
  endif()
  foreach(type IN ITEMS f32 f64)
    foreach(input IN ITEMS "NAS, class S, ${type}" "like nd24k, ${type}" "11 a row[^\"]*, ${type}")
      foreach(who IN ITEMS "conjugate gradient composed" "conjugate gradient composed, two steps in [0-9]+ pass(es)?")
        get_seconds("${input}" "${who}: products")
        set(products ${seconds})
        get_seconds("${input}" "${who}")
        if(NOT products GREATER 0 OR products GREATER seconds)
          message(FATAL_ERROR "${input} by ${who}: products take ${products} of ${seconds}")
        endif()
      endforeach()
      foreach(passes IN ITEMS "1 pass" "2 passes" "8 passes" "16 passes")
        get_seconds("${input}" "product by ${backend}\\.two_step, ${passes}")
      endforeach()
    endforeach()
    get_seconds("NAS, class S, ${type}" "the whole benchmark by ${backend}\\.[a-z]+")
  endforeach()
endforeach()

# Without what is scaled to the cache.
run_figures(0 " answers, 0 wrong" --backend cpu --figures 20 --paper-sizes)
if(said MATCHES "times the cache")
  message(FATAL_ERROR "--paper-sizes has a matrix that is scaled:\n${said}")
endif()

# Without peers: no row of one, and the columns that name them are empty.
run_figures(0 " answers, 0 wrong" --backend cpu --figures 15,18,19 --no-peer --json ${OUTPUT})
file(READ ${OUTPUT} without_peers)
if(said MATCHES "eigen|std\\.|tbb\\.|open_addressing" OR without_peers MATCHES "eigen|std\\.|tbb\\.|open_addressing")
  message(FATAL_ERROR "--no-peer has a peer:\n${said}")
endif()

# Files of a folder: one of the paper's names takes the place of the one that is made; others follow.
set(folder ${OUTPUT}.data)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
run_figures(0 "${folder}/matrices: no matrices, so all are made" --backend cpu --figures 20 --data ${folder})
require_words("\n +like pkustk08 ")
set(banner "%%MatrixMarket matrix coordinate real")
set(rows "")
foreach(row RANGE 1 40)
  string(APPEND rows "${row} ${row} ${row}\n")
endforeach()
file(WRITE ${folder}/matrices/pkustk08.mtx "${banner} symmetric\n40 40 41\n${rows}2 1 0.5\n")
file(WRITE ${folder}/matrices/indefinite.mtx "${banner} symmetric\n2 2 2\n1 1 -1\n2 2 -1\n")
file(WRITE ${folder}/matrices/skewed.mtx "${banner} general\n2 2 2\n1 1 1\n1 2 1\n")
file(WRITE ${folder}/matrices/wide.mtx "${banner} general\n2 3 1\n1 3 1\n")
run_figures(0 " answers, 0 wrong" --backend cpu --figures 20 --data ${folder})
require_words("\n +pkustk08 +f32 +40 +42 " "\n +indefinite +f64 +2 +2 " "\n +skewed +f32 +2 +2 "
  "indefinite, f64: conjugate gradient left out: not positive definite after 0 iterations"
  "skewed: products alone: the matrix is not symmetric: row 1, column 2 has 1, row 2, column 1 has 0"
  "wide left out: ${folder}/matrices/wide\\.mtx: 2 x 3, not square")
if(said MATCHES "like pkustk08" OR NOT said MATCHES "like pkustk14")
  message(FATAL_ERROR "pkustk08 is there, pkustk14 is not:\n${said}")
endif()
file(WRITE ${folder}/matrices/broken.mtx "no matrix\n")
run_figures(3 "broken\\.mtx: line 1: not a MatrixMarket file" --backend cpu --figures 20 --data ${folder})
run_figures(3 "--data ${folder}/none: no such folder" --backend cpu --figures 20 --data ${folder}/none)
