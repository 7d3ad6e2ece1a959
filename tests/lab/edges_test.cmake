# Runs sums over the edges of small boxes and of a mesh's file: every answer is right, what memory does not hold is left
# out, and a file that is no mesh is refused by name.
function(run_edges code words)
  execute_process(COMMAND ${BENCH} edges ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT found EQUAL code OR NOT said MATCHES "${words}" OR said MATCHES "WRONG")
    message(FATAL_ERROR "sheaf-bench edges ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}")
  endif()
endfunction()

set(quick --quick --backend cpu --threads 2 --seconds 0)
run_edges(0 "1000 nodes, 5859 edges, natural order, 1 component.*plain loop, 1 thread.*atomic loop, 2 threads.*cpu.owner.*0.06 MB +[0-9.]+ %.*prepared, cpu.tiles.*natural order, 8 components.*random order, 1 component.*prepared order, 8 components"
  ${quick} --components 1,8)
run_edges(0 "f32, inverse_square.*natural order, 3 components" ${quick} --value-type f32 --function inverse_square --orders natural)

set(mesh ${OUTPUT}.su2)
file(WRITE ${mesh} "NDIME= 3\nNELEM= 1\n10 0 1 2 3\nNPOIN= 4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nNMARK= 0\n")
run_edges(0 "su2: 4 nodes, 6 edges, natural order.*su2: 4 nodes, 6 edges, random order.*su2: 4 nodes, 6 edges, prepared order" ${quick} ${mesh})
run_edges(0 "box of 4294967296 nodes skipped: sums take [0-9]+ MB, but [0-9]+ are available"
  --nodes 4294967296 --backend cpu --threads 1 --seconds 0)

# A file may follow a list.
run_edges(0 "su2: 4 nodes, 6 edges, natural order, 2 components.*natural order, 3 components"
  ${quick} --orders natural --components 2,3 ${mesh} --json ${OUTPUT})
file(READ ${OUTPUT} written)
string(JSON rows LENGTH "${written}" input_rows)
string(JSON input GET "${written}" input_rows 0 input)
string(JSON is_right GET "${written}" input_rows 0 verified)
if(rows LESS 8 OR NOT input MATCHES "su2, natural order, 2 x f64, weighted_difference" OR NOT is_right)
  message(FATAL_ERROR "${OUTPUT} has ${rows} rows, the first of '${input}'")
endif()

file(WRITE ${mesh} "no mesh")
run_edges(3 "edges.json.su2: line 1" ${mesh})
run_edges(2 "--components" ${quick} --components 9)
run_edges(2 "--nodes" --nodes 7)
run_edges(2 "--function" --function force)
