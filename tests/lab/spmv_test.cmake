# Runs products of small matrices of every kind: every answer is right; a file that is none is refused by name.
function(run_spmv code words)
  execute_process(COMMAND ${BENCH} spmv ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}")
    message(FATAL_ERROR "sheaf-bench spmv ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

foreach(options IN ITEMS "" --transposed "--value-type;f32" "--value-type;f32;--transposed")
  run_spmv(0 "power-law rows.*sheaf.*ok" --quick --seconds 0.01 --threads 2 ${options})
endforeach()
if(HAS_EIGEN)
  foreach(options IN ITEMS "" --transposed "--value-type;f32" "--value-type;f32;--transposed")
    run_spmv(0 "power-law rows[^:]*:.*eigen, 1 thread .* ok\n.*eigen, 2 threads .* ok\n" --quick --seconds 0.01 --threads 2
      ${options})
  endforeach()
endif()
# Every preparation is timed by name, the planner's choice first; sums of f64 are of values of f32.
foreach(variant IN ITEMS kept cpu.diagonals cpu.blocked)
  run_spmv(0 "7-point grid: .*prepared(, | by )${variant} .* ok" --quick --seconds 0.01 --threads 2 --variants)
endforeach()
run_spmv(0 "prepared(, | by )cpu.transposed .* ok" --quick --seconds 0.01 --threads 2 --variants --transposed)
run_spmv(0 "f32, sums of f64, .*prepared(, | by )cpu.diagonals .* ok" --quick --seconds 0.01 --threads 2 --variants --value-type f32
  --f64-sums)
run_spmv(2 "f32" --quick --f64-sums)
run_spmv(0 "R-MAT, 16 a row, 2.24 rows.*sheaf.*ok" --large --quick --seconds 0.01 --threads 2)
file(WRITE ${OUTPUT} "no matrix")
run_spmv(3 "spmv.json: line 1" ${OUTPUT})
