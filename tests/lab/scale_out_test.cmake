# Calls between ranks on the CPU beside the same on one: every answer is right, and every row has a prediction.
function(run_scale_out code words)
  execute_process(COMMAND ${BENCH} scale-out ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench scale-out ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

foreach(devices IN ITEMS 2 3)
  run_scale_out(0 "an exchange takes.*sort_keys/uniform/r8/u64/n=4096 .*model: off by" --backend cpu --threads 2
    --devices ${devices} --log2-sizes 12 --rounds 2 --iterations 200 --json ${OUTPUT})
  file(READ ${OUTPUT} text)
  foreach(call IN ITEMS sort_keys sort_pairs sort_records split gather scatter spmv conjugate_gradient)
    if(NOT text MATCHES "\"problem\":\"${call}/[^\n]*\"devices\":${devices},\"transport\":\"threads\"[^\n]*\"verified\":true")
      message(FATAL_ERROR "no row of ${call}, or a wrong answer:\n${text}")
    endif()
  endforeach()
  if(text MATCHES "\"predicted_seconds\":null" OR NOT text MATCHES "\"links\": .*\"message_seconds\":")
    message(FATAL_ERROR "a row without a prediction, or no link:\n${text}")
  endif()
endforeach()
run_scale_out(0 "^[^\n]*threads[^\n]*\nsort_keys/uniform/r8/u64/n=1024 [^\n]*\n( [^\n]*\n)*model: [^\n]*\n$" --backend cpu
  --threads 2 --log2-sizes 10 --rounds 1 --calls sort)
# What would be ignored is refused, and what is left out is said.
run_scale_out(2 "not of --backend opengl" --backend opengl)
run_scale_out(2 "--transports is for GPUs" --backend cpu --transports nccl)
run_scale_out(0 "gather of records of 1024 bytes: left out" --backend cpu --threads 2 --log2-sizes 4 --rounds 1 --calls
  gather)
run_scale_out(2 "--devices" --devices 1)
run_scale_out(2 "--calls" --calls fly)
run_scale_out(2 "2\\^1000 records are too many" --log2-sizes 1000)
