# SHEAF_TEST_ENVIRONMENT: what every test that starts threads runs with.

# Five threads on two cores: threads that wait must not spin. And no profile that this user's calibration stored.
set(SHEAF_TEST_ENVIRONMENT OMP_WAIT_POLICY=passive XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test-cache)
if(SHEAF_SANITIZE MATCHES "thread")
  # libomp tells ThreadSanitizer what its barriers order through this tool; without it every parallel region is a race.
  get_filename_component(openmp_folder "${OpenMP_omp_LIBRARY}" REALPATH)
  get_filename_component(openmp_folder "${openmp_folder}" DIRECTORY)
  file(GLOB archer_folders /usr/lib/llvm-*/lib)
  find_file(SHEAF_ARCHER libarcher.so PATHS ${openmp_folder} ${archer_folders})
  if(SHEAF_ARCHER)
    list(APPEND SHEAF_TEST_ENVIRONMENT OMP_TOOL_LIBRARIES=${SHEAF_ARCHER} TSAN_OPTIONS=ignore_noninstrumented_modules=1)
  else()
    message(WARNING "libarcher.so is not there: ThreadSanitizer will report races that are none")
  endif()
endif()

# sheaf_test_in_shards(PROGRAM NAME FILTER COUNT): the tests of a program of GoogleTest in COUNT processes. With sanitizers
# a process takes longer to start than most tests take. script/test counts the tests that each process writes down.
function(sheaf_test_in_shards program name filter count)
  math(EXPR last "${count} - 1")
  foreach(shard RANGE ${last})
    set(test shard_of_${name}_tests_${shard})
    add_test(NAME ${test} COMMAND ${program} --gtest_filter=${filter} --gtest_brief=1
      --gtest_output=xml:${PROJECT_BINARY_DIR}/shards/${test}.xml)
    set_tests_properties(${test} PROPERTIES TIMEOUT 1800 COST 100
      ENVIRONMENT "${SHEAF_TEST_ENVIRONMENT};GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
