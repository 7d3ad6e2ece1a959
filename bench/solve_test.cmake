# Solves small systems beside Eigen: every answer is right; a file that is no matrix is refused by name.
function(run_solve code words)
  execute_process(COMMAND ${BENCH} solve ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench solve ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

foreach(options IN ITEMS "" --jacobi)
  run_solve(0 "7-point grid.*NAS CG, class S: 1400 rows.*sheaf.*ok" --quick --seconds 0.01 --threads 2 --classes S
    --limit 25 ${options})
endforeach()
file(WRITE ${OUTPUT} "no matrix")
run_solve(3 "solve.json: line 1" ${OUTPUT})
