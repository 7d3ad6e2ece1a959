# Solves small systems beside Eigen: every answer is right; a file that is no matrix is refused by name.
function(run_solve code words)
  execute_process(COMMAND ${BENCH} solve ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench solve ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

foreach(options IN ITEMS "" --jacobi)
  run_solve(0 "7-point grid.*NAS CG, class S: 1400 rows.*sheaf.*ok" --quick --seconds 0.01 --threads 2 --classes S
    --iterations 25 ${options})
endforeach()
# Real systems, here a small one in place of one of them, whose rows are judged by the reference; a folder without them
# is refused by name.
set(data ${OUTPUT}.data)
file(WRITE ${data}/matrices/494_bus.mtx
  "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 1 -1\n2 2 3\n3 2 -1\n3 3 2\n")
run_solve(0 "494_bus: 3 rows, 7 nonzeros.*reference.serial .* 3 iterations \\(1.00 of the reference's\\).*sheaf, 2 threads .*ok"
  --real --data ${data} --seconds 0.01 --threads 2)
file(WRITE ${data}/matrices/494_bus.mtx
  "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -1\n")
run_solve(4 "494_bus: 2 rows.*residual above the tolerance" --real --data ${data} --seconds 0.01 --threads 2)
run_solve(3 "none: none of the matrices is there|none/matrices: none of the matrices is there" --real --data ${data}/none)
run_solve(2 "--real" --data ${data})
file(WRITE ${OUTPUT} "no matrix")
run_solve(3 "solve.json: line 1" ${OUTPUT})
# So is one whose matrix conjugate gradient does not take.
foreach(wrong IN ITEMS "2 3 1\n1 1 1=the matrix is 2 x 3, not square" "0 0 0=the matrix has no rows"
    "2 2 3\n1 1 1\n1 2 3\n2 2 1=not symmetric: row 1, column 2 has 3, row 2, column 1 has 0")
  string(REGEX MATCH "^([^=]*)=(.*)$" parts "${wrong}")
  set(matrix "${CMAKE_MATCH_1}")
  set(words "${CMAKE_MATCH_2}")
  file(WRITE ${data}/wrong.mtx "%%MatrixMarket matrix coordinate real general\n${matrix}\n")
  run_solve(3 "wrong.mtx: .*${words}" ${data}/wrong.mtx)
endforeach()
