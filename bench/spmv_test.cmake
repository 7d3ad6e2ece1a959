# Runs products of small matrices of every kind: every answer is right; a file that is none is refused by name.
function(run_spmv code words)
  execute_process(COMMAND ${BENCH} spmv ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench spmv ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

foreach(options IN ITEMS "" --transpose --f32 "--f32;--transpose")
  run_spmv(0 "power-law rows.*sheaf.*ok" --quick --seconds 0.01 --threads 2 ${options})
endforeach()
run_spmv(0 "R-MAT, 16 a row, 2.24 rows.*sheaf.*ok" --large --quick --seconds 0.01 --threads 2)
file(WRITE ${OUTPUT} "no matrix")
run_spmv(3 "spmv.json: line 1" ${OUTPUT})
