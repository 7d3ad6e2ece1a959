# sheaf-bench --compare without a device: the exit code says what was found, and errors name the file.
set(row "\"problem\": \"gather/identity/r8/u32/n=1024\", \"backend\": \"cuda\"")
function(write_results path our_seconds)
  file(WRITE ${path} "{\"schema_version\": 2, \"commit\": \"c\", \"machines\": {\"cuda\": {\"machine\": \"m\"}}, \"rows\": [
    {${row}, \"who\": \"sheaf\", \"variant\": \"cuda.direct\", \"median_seconds\": ${our_seconds},
     \"least_seconds\": ${our_seconds}, \"most_seconds\": ${our_seconds}, \"peer_ratio\": ${ARGN}},
    {${row}, \"who\": \"thrust\", \"variant\": \"\", \"median_seconds\": 0.5, \"least_seconds\": 0.5,
     \"most_seconds\": 0.5, \"peer_ratio\": null}]}")
endfunction()
function(expect_compare code words)
  execute_process(COMMAND ${BENCH} --compare ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench --compare ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

write_results(${OUTPUT} 0.25 2)
write_results(${OUTPUT}.slower 0.5 1)
write_results(${OUTPUT}.slower_machine 0.5 2)
file(WRITE ${OUTPUT}.broken "{\"schema_version\": 2, \"rows\": [{${row}, \"who\": \"sheaf\", \"variant\": \"v\"}]}")
expect_compare(0 "ours: 1 rows.*peers: 1 rows" ${OUTPUT} ${OUTPUT})
expect_compare(7 "worst 0.500.*1 slower beyond noise" ${OUTPUT} ${OUTPUT}.slower)
expect_compare(0 "1 faster beyond noise" ${OUTPUT}.slower ${OUTPUT})
expect_compare(0 "ours: 1 rows" ${OUTPUT} ${OUTPUT}.slower --threshold 0.4)
expect_compare(7 "1 slower beyond noise" ${OUTPUT} ${OUTPUT}.slower --relative)
expect_compare(0 "0 slower beyond noise" ${OUTPUT} ${OUTPUT}.slower_machine --relative)
expect_compare(3 "broken: row 0 .gather/identity/r8/u32/n=1024/sheaf.: median_seconds is missing" ${OUTPUT} ${OUTPUT}.broken)
expect_compare(3 "${OUTPUT}.none" ${OUTPUT}.none ${OUTPUT})
expect_compare(3 "not a regular file" ${OUTPUT} /)
expect_compare(2 "--compare" ${OUTPUT})
foreach(threshold nan 0 -1 1.5 inf 1e999 0.5x)
  expect_compare(2 "--threshold: Value '${threshold}' is not a number from 0.01 to 1"
    ${OUTPUT} ${OUTPUT}.slower --threshold ${threshold})
endforeach()
expect_compare(2 "not --json" ${OUTPUT} ${OUTPUT} --json ${OUTPUT}.written)

# A report that is lost must not read as one that found nothing.
if(EXISTS /dev/full)
  execute_process(COMMAND ${BENCH} --compare ${OUTPUT} ${OUTPUT} RESULT_VARIABLE found OUTPUT_FILE /dev/full
    ERROR_VARIABLE said)
  if(NOT found EQUAL 5 OR NOT said MATCHES "standard output cannot be written")
    message(FATAL_ERROR "sheaf-bench --compare into a full device exited with ${found}, not 5:\n${said}")
  endif()
endif()
