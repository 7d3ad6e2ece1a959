# Empty values, and outputs that cannot be made, are refused before anything is measured.
function(expect_refused code words)
  # A list that is expanded loses its empty items, which are what is tried here.
  set(call "execute_process(COMMAND [==[${BENCH}]==]")
  math(EXPR last "${ARGC} - 1")
  foreach(number RANGE 2 ${last})
    string(APPEND call " [==[${ARGV${number}}]==]")
  endforeach()
  cmake_language(EVAL CODE "${call} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE complained)")
  string(FIND "${complained}" "${words}" place)
  if(NOT found EQUAL code OR place EQUAL -1 OR NOT said STREQUAL "")
    message(FATAL_ERROR "sheaf-bench ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}${complained}")
  endif()
endfunction()

# Every option of every command that the help lists. Behind the name of a flag are two spaces, the line's end, or which
# options it goes with.
set(refused "the value is empty, as when a shell variable is not set")
set(options 0)
foreach(name IN ITEMS sheaf-bench papers spatter spmv solve edges)
  set(command ${name})
  if(name STREQUAL "sheaf-bench")
    set(command)
  endif()
  execute_process(COMMAND ${BENCH} ${command} --help RESULT_VARIABLE code OUTPUT_VARIABLE help)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "sheaf-bench ${command} --help exited with ${code}")
  endif()
  string(REPLACE ";" "," help "${help}")
  string(REGEX MATCHALL "\n  (-[a-z],)?--[a-z0-9-]+( [^ \n]+)?" lines "${help}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "--[a-z0-9-]+" option "${line}")
    math(EXPR options "${options} + 1")
    expect_refused(2 "${option}: ${refused}" ${command} ${option}=)
    if(line MATCHES "--[a-z0-9-]+ [^ ]+$" AND NOT line MATCHES " (Excludes|Needs):$" AND NOT option STREQUAL "--compare")
      expect_refused(2 "${option}: ${refused}" ${command} ${option} "")
    endif()
  endforeach()
endforeach()
if(options LESS 60)
  message(FATAL_ERROR "only ${options} options were found in the help")
endif()
foreach(command IN ITEMS spatter spmv solve edges)
  expect_refused(2 "FILE: ${refused}" ${command} "")
endforeach()
expect_refused(2 "--compare: ${refused}" --compare "" b.json)

# Items of lists, of which CLI11 leaves out the empty ones.
foreach(list IN ITEMS "4,,8" ",4" "4," ",")
  expect_refused(2 "--widths: '${list}' has an empty item" --widths ${list})
  expect_refused(2 "--widths: '${list}' has an empty item" --widths=${list})
  expect_refused(2 "--widths: '${list}' has an empty item" --backend cpu --widths 8 ${list} --list)
  expect_refused(2 "--figures: '${list}' has an empty item" papers --figures ${list})
  expect_refused(2 "--nodes: '${list}' has an empty item" edges --nodes ${list})
endforeach()
# What the options leave nothing of, and lists that no primitive of the set has.
expect_refused(2 "no row matches all options" --backend cpu --filter nothing)
expect_refused(2 "no row matches all options" --backend cpu --set sort --sorts f32 --bit-ranges 8:16 --list)
expect_refused(2 "--values: no primitive of the set has it" --set split --values f32)
expect_refused(2 "--sizes: '18446744073709551616' is not a whole number" --sizes 18446744073709551616)

# A row that no memory holds is skipped, and leaves the others.
execute_process(COMMAND ${BENCH} --backend cpu --threads 1 --seconds 0 --rounds 1 --no-peer
    --rows gather/identity/r4/u32/n=100,split_gather_index/uniform:b8/r8/k32/n=1537228672809129217,gather/identity/r4/u32/n=4611686018427387904
  RESULT_VARIABLE code OUTPUT_VARIABLE said)
string(REGEX MATCHALL "skipped: more than any memory has" skipped "${said}")
list(LENGTH skipped skipped)
if(NOT code EQUAL 0 OR NOT said MATCHES "1 answers, 0 wrong" OR NOT skipped EQUAL 2)
  message(FATAL_ERROR "sheaf-bench with rows past any memory exited with ${code}:\n${said}")
endif()
# Patterns of more streams than entries, and a stride past any list.
execute_process(COMMAND ${BENCH} --backend cpu --threads 1 --seconds 0 --rounds 1 --no-peer
    --rows gather/strided:18446744073709551615/r4/u32/n=100,scatter/partitioned:18446744073709551615/r4/u32/n=100,gather/partitioned:1000000000/r4/u32/n=100
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 60)
if(NOT code EQUAL 0 OR NOT said MATCHES "3 answers, 0 wrong")
  message(FATAL_ERROR "sheaf-bench with large parameters of patterns exited with ${code}:\n${said}")
endif()

execute_process(COMMAND ${BENCH} --set quick --widths 4 8 --sizes 1024 --backend cpu --list RESULT_VARIABLE code OUTPUT_VARIABLE said)
if(NOT code EQUAL 0 OR NOT said MATCHES "/r4/" OR NOT said MATCHES "/r8/")
  message(FATAL_ERROR "sheaf-bench --widths 4 8 exited with ${code}:\n${said}")
endif()

# Outputs.
set(folder ${OUTPUT}.folder)
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder}/sub)
file(WRITE ${folder}/file "as it was")
file(WRITE ${folder}/patterns.json "[{\"pattern\": [0, 1], \"count\": 10}]")
foreach(place IN ITEMS "none/out: cannot be created" "file/out: cannot be created" "sub: cannot be replaced: not a regular file")
  string(REGEX MATCH "^[^:]+" output "${place}")
  foreach(command IN ITEMS "--set;quick" "papers" "spatter;${folder}/patterns.json" "edges")
    expect_refused(5 "${folder}/${place}" ${command} --backend cpu --json ${folder}/${output})
  endforeach()
  expect_refused(5 "${folder}/${place}" --set quick --backend cpu --variants --record ${folder}/${output})
endforeach()
expect_refused(2 "--json ${folder}/patterns.json is the input ${folder}/patterns.json; inputs are never written"
  spatter ${folder}/patterns.json --backend cpu --json ${folder}/patterns.json)
expect_refused(2 "--json and --record are both ${folder}/out.json"
  --set quick --backend cpu --variants --json ${folder}/out.json --record ${folder}/sub/../out.json)
# A list of rows has no times to write.
expect_refused(2 " excludes " --set quick --backend cpu --list --json ${folder}/out.json)
expect_refused(2 " excludes " --set quick --backend cpu --variants --list --record ${folder}/out.json)
file(READ ${folder}/file content)
file(GLOB_RECURSE left LIST_DIRECTORIES true RELATIVE ${folder} ${folder}/* ${folder}/.*)
list(SORT left)
if(NOT content STREQUAL "as it was" OR NOT left STREQUAL "file;patterns.json;sub")
  message(FATAL_ERROR "files were written or left behind: ${left}")
endif()
