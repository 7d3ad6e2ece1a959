# Runs the tables of Ujaldon and Saltz at small sizes: each is printed, every answer is right, files are read where the
# folder has them, and JSON has a row for every call.
function(run_paper code words)
  execute_process(COMMAND ${BENCH} papers --quick --paper ujaldon2005 ${ARGN}
    RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT found EQUAL code OR NOT "${said}${complained}" MATCHES "${words}" OR said MATCHES "WRONG")
    message(FATAL_ERROR "sheaf-bench papers ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}${complained}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run_paper(0 " answers, 0 wrong" --backend cpu --threads 2 --json ${OUTPUT})
foreach(words IN ITEMS "\nTable 1\\. " "\nTable 3\\. .*BCSSTK30, stand-in" "\nTable 4\\. .*50k mesh, stand-in"
    "\nTable 5\\. .*# BCSSTK15.*cpu, 1 thread +plain loop .*cpu, 2 threads +cpu.rows .*the paper, 2005.*8\\.900 ms"
    "\nTable 6\\. .*# 2k mesh.*cpu, 1 thread +prepared cpu.tiles .*the paper, 2003.*14\\.140 ms"
    "\nFigure 3\\. .*cpu, 1 thread +f32 .*cpu, 2 threads +f64 ")
  if(NOT said MATCHES "${words}")
    message(FATAL_ERROR "'${words}' is missing:\n${said}")
  endif()
endforeach()
if(said MATCHES "opengl|cuda")
  message(FATAL_ERROR "--backend cpu has rows of other backends:\n${said}")
endif()
file(READ ${OUTPUT} document)
string(JSON rows LENGTH "${document}" input_rows)
if(rows LESS 60)
  message(FATAL_ERROR "${OUTPUT} has ${rows} input_rows, fewer than the tables")
endif()
foreach(field IN ITEMS figure input machine where backend who is_prepared loading_seconds calls median_seconds least_seconds
    most_seconds verified commit)
  string(JSON value ERROR_VARIABLE missing GET "${document}" input_rows 0 ${field})
  if(missing)
    message(FATAL_ERROR "${OUTPUT}: ${missing}")
  endif()
endforeach()

# Unless a backend is named, OpenGL is there where the machine has it. One table alone has no others.
run_paper(0 " answers, 0 wrong")
if(said MATCHES "\n  opengl: " AND NOT said MATCHES "color table .*0\\.01 ms.*4 deep, colors last .*clipping: inner IF.*3 dimensions")
  message(FATAL_ERROR "table 1 has not all parts of the pipeline:\n${said}")
endif()
run_paper(0 "Table 6\\. " --backend cpu --threads 1 --figures table6)
if(said MATCHES "Table 5\\. |cpu, 2 threads")
  message(FATAL_ERROR "--figures table6 --threads 1 has more:\n${said}")
endif()

# Files of a folder, of whose symmetric matrices the lower half counts; what it does not have is made by rule.
set(data ${OUTPUT}.data)
file(WRITE ${data}/matrices/bcsstk15.mtx "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 2\n3 3 1\n")
file(WRITE ${data}/meshes/aneurysm-2k.su2 "NDIME= 3\nNELEM= 1\n10 0 1 2 3\nNPOIN= 4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nNMARK= 0\n")
run_paper(0 "# BCSSTK15: 3 rows, 4 nonzeros, .*bcsstk15.mtx\n.*BCSSTK29, stand-in.*# 2k mesh: 4 nodes, 6 edges, .*10k mesh, stand-in"
  --backend cpu --threads 1 --data ${data} --figures table5,table6)
file(WRITE ${data}/matrices/bcsstk15.mtx "no matrix")
run_paper(3 "bcsstk15.mtx: line 1" --backend cpu --data ${data} --figures table5)
run_paper(3 "--data ${data}/none: no such folder" --backend cpu --data ${data}/none --figures table3)
