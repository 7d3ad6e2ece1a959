# Runs the tables of Ujaldon and Saltz at tiny sizes: each is printed, every answer is right, files are read where the
# folder has them, and JSON has a row for every call.
function(run_paper code words)
  execute_process(COMMAND ${BENCH} papers --size tiny --paper ujaldon2005 ${ARGN}
    RESULT_VARIABLE found OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT found EQUAL code OR NOT "${said}${complained}" MATCHES "${words}" OR said MATCHES "WRONG")
    message(FATAL_ERROR "sheaf-bench papers ${ARGN} exited with ${found}, not ${code}, or '${words}' is missing:\n${said}${complained}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run_paper(0 " answers, 0 wrong" --backend cpu --threads 2 --json ${OUTPUT})
foreach(words IN ITEMS "\nTable 1\\. " "\nTable 3\\. .*BCSSTK30, stand-in" "\nTable 4\\. .*50k mesh, stand-in"
    # Sizes: of no file, and of no pipeline.
    "kilobytes +file +the paper's +the paper's vertices +the paper's texture\n +BCSSTK15, stand-in +- +1568 +1894 +32\n"
    "kilobytes +file +the paper's +the paper's vertices +the paper's texture\n +2k mesh, stand-in +- +576 +1085 +32\n"
    "edges / node +the paper's\n +2k mesh, stand-in +64 +2800 +279 +17367 +4\\.36 +6\\.20\n"
    # Averages, and those of the paper's tables: 1.5 and 2.7 of 2005.
    "\nTable 5\\. .*arithmetic means over 3 inputs.*cpu, 2 threads +the fastest +[0-9.e+-]+x .*the paper, 2003 +GPU +1\\.19x +1\\.05x +1\\.27x +221\n.*the paper, 2005 +GPU +1\\.48x +1\\.27x +1\\.60x +38\n.*The paper says 1\\.5x.*\nTable 6"
    "\nTable 6\\. .*arithmetic means over 3 inputs.*the paper, 2005 +GPU +2\\.71x +2\\.67x +2\\.76x +11\n.*The paper says 2\\.7x"
    "\nConclusions: .*products: mean gain over one CPU thread +1\\.5x +cpu, 2 threads [0-9.e+-]+x by the fastest\n +forces: mean gain over one CPU thread +2\\.7x, over 4x +cpu, 2 threads [0-9.e+-]+x by the fastest\n"
    "\nTable 7\\. Related work"
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
    most_seconds verified largest_error)
  string(JSON value ERROR_VARIABLE missing GET "${document}" input_rows 0 ${field})
  if(missing)
    message(FATAL_ERROR "${OUTPUT}: ${missing}")
  endif()
endforeach()

# Unless a backend is named, OpenGL is there where the machine has it. One table alone has no others.
run_paper(0 " answers, 0 wrong" --json ${OUTPUT})
if(said MATCHES "\n  opengl: ")
  set(time "[0-9.]+ [mun]?s")
  set(gain "[0-9.e+-]+x")
  foreach(words IN ITEMS
      # Table 1: the pipeline's call, the draw alone, the loop of one thread, and the paper's time.
      # All schemes do the same lookups in a table of the same size.
      "color table +1902 +123 +${time} +${time} +${time} +${gain} +0\\.01 ms\n +texture +1902 +123 +${time} +${time} .* 0\\.65 ms\n +vertex index +1902 +123 +${time} +${time} .* 2\\.40 ms\n +texture, whole x +1902 +123 "
      "\n +3 deep, textures +5706 +123 .*\n +3 deep, colors last +5706 +123 "
      "4 deep, colors last +7608 +123 .*clipping: inner IF.*3 dimensions"
      "blending as a reduction operator, .*\n +sum .*\n +difference .*\n +minimum .*\n +maximum "
      "clamped \\(section 6\\.1\\).*sum of values in \\(-500, 500\\) .*maximum of values above 1 "
      "opengl beside cpu.*: shares of a prepared product by BCSSTK15, .*100 % on the CPU"
      "opengl beside cpu.*: shares of a prepared product by BCSSTK30, "
      "opengl beside cpu.*: shares of prepared forces along the edges of 2k mesh, .*50 % on the CPU"
      "shares of prepared forces along the edges of 50k mesh, "
      "opengl: BCSSTK15, stand-in in two halves, each loaded and multiplied once .*loading while drawing"
      "opengl: BCSSTK30, stand-in in two halves"
      "opengl: 2k mesh, stand-in in two halves, each loaded and summed once .*loading while drawing"
      "opengl: 50k mesh, stand-in in two halves"
      # Tables 5 and 6: calls, prepared ones with what loading took, and vertices in either memory.
      "\nTable 5\\. .*# BCSSTK15.*opengl +opengl\\.texture .*opengl +prepared opengl\\.texture +${time} .*opengl +prepared opengl\\.fragments +${time} .*\nTable 6"
      "\n  opengl\\.texture: vertices from the host's memory in each run ${time}, from the device's ${time}: ${gain} \\(the paper: 4x\\); built in each run ${time}\n"
      "\n  opengl\\.lookup: vertices from the host's memory" "\n  opengl\\.vertex: vertices from the host's memory"
      "\nTable 6\\. .*# 2k mesh.*opengl +opengl\\.points .*opengl +prepared opengl\\.points +${time} .*prepared opengl\\.fragments +${time} .*\nFigure 3"
      "\nTable 6\\. .*\n  opengl\\.points: vertices from the host's memory in each run ${time}, from the device's ${time}: ${gain} "
      # Tables 3 and 4: vertices of 12 bytes a nonzero and of 8 bytes an edge, and x or positions in a texture.
      "kilobytes +file +the paper's +vertices +the paper's +texture +the paper's\n +BCSSTK15, stand-in +- +1568 +22 +1894 +0\\.48 +32\n"
      "kilobytes +file +the paper's +vertices +the paper's +texture +the paper's\n +2k mesh, stand-in +- +576 +2\\.18 +1085 +0\\.75 +32\n"
      "\nTable 5\\. .*arithmetic means over 3 inputs.*opengl +prepared opengl\\.texture +${gain} .*opengl +the fastest +${gain} .*\nTable 6"
      "\nTable 6\\. .*arithmetic means over 3 inputs.*opengl +prepared opengl\\.points +${gain} .*vector processing .*texture lookups +1902 +${time} +${time} +${gain} +${time} +${time} +${gain}\n +edge sums +558 +${time} +${time} +${gain} .*\nTable 7"
      # Table 7: passes are the logarithm of 36 entries of a row, or of all, to the base 4.
      "\nTable 7\\. .*rows of BCSSTK15, stand-in +1902 +123 +${time} +2 +${time} +${gain} +${time}\n +all of BCSSTK15, stand-in +1902 +1 +${time} +6 +${time} +${gain} +${time}\n"
      "10 diagonals of 128 +1280 +${time} +0\\.72 ms by Kruger and Westermann\n +BCSSTK15, stand-in +1902 +${time} +0\\.67 ms in 2003"
      # Figure 3: errors beside their bounds. Of the smallest inputs all are in range.
      "opengl +16 bits +${time} +[0-9.]+e-[0-9]+ +[0-9.]+e-[0-9]+ +[0-9.]+e-[0-9]+ +points, textures of 16\n"
      "# 50k mesh.*opengl +32 bits +${time} +[0-9.]+e-[0-9]+ +[0-9.]+e-[0-9]+ +[0-9.]+e-01 +points, textures of 8\n"
      "times of 16 bits over those of 8: textures [0-9.]+, frame buffers [0-9.]+ "
      "\nConclusions: .*loading saved by overlapping, opengl .*four components over one +GPU 1x, CPU 4x +opengl [0-9.]+x, one thread [0-9.]+x\n +reductions: .*forces: time of 16 bits a color over 8 +not slower +[0-9.]+ "
      # Figure 3: each precision of frame buffers by each of textures, for both kernels.
      "\nFigure 3\\. .*# 2k mesh.*opengl +f32 .*opengl +8 bits .*textures of 8.*opengl +16 bits .*textures of 16.*opengl +32 bits .*textures of 32"
      "\nFigure 3\\. .*# BCSSTK15.*opengl +f32 .*opengl +8 bits .*opengl +16 bits .*opengl +32 bits .*textures of 32")
    if(NOT said MATCHES "${words}")
      message(FATAL_ERROR "'${words}' is missing:\n${said}")
    endif()
  endforeach()
  file(READ ${OUTPUT} document)
  foreach(who IN ITEMS "color table, draw alone" "opengl.texture, vertices sent" "opengl.points, vertices sent"
      "difference" "loading while drawing" "one pass" "6 passes" "texture lookups, 4 components" "edge sums, 1 component")
    if(NOT document MATCHES "\"who\": *\"${who}\"")
      message(FATAL_ERROR "${OUTPUT} has no row of '${who}'")
    endif()
  endforeach()

  if(NOT document MATCHES "\"50k mesh, stand-in, 16 bits a texel, 16 a pixel\"" OR
      NOT document MATCHES "\"50k mesh, stand-in, 8 bits a texel, 32 a pixel\"")
    message(FATAL_ERROR "${OUTPUT} lacks rows of precisions")
  endif()

  # With OpenGL alone, what the CPU does is recorded as the CPU's: the thread that the paper compares with, and all of
  # the work that both share.
  run_paper(0 "100 % on the CPU.* answers, 0 wrong" --backend opengl --json ${OUTPUT})
  file(READ ${OUTPUT} document)
  string(JSON rows LENGTH "${document}" input_rows)
  string(JSON of_cpu GET "${document}" input_rows 0 machine)
  # The file names the machine of each backend, and of no other.
  string(JSON machines LENGTH "${document}" machines)
  string(JSON cpu_machine GET "${document}" machines cpu machine)
  string(JSON opengl_machine GET "${document}" machines opengl machine)
  if(NOT machines EQUAL 2 OR NOT cpu_machine MATCHES ", 1 threads$" OR cpu_machine STREQUAL opengl_machine)
    message(FATAL_ERROR "${OUTPUT} names ${machines} machines: '${cpu_machine}' and '${opengl_machine}'")
  endif()
  set(shared 0)
  math(EXPR last "${rows} - 1")
  foreach(row RANGE ${last})
    string(JSON backend GET "${document}" input_rows ${row} backend)
    string(JSON machine GET "${document}" input_rows ${row} machine)
    string(JSON where GET "${document}" input_rows ${row} where)
    string(JSON who GET "${document}" input_rows ${row} who)
    if(NOT machine STREQUAL "${${backend}_machine}")
      message(FATAL_ERROR "'${who}' is recorded as of ${backend}, but as of the machine '${machine}'")
    endif()
    if(who MATCHES "(^| )(cpu|cuda|opengl)[.]" AND NOT CMAKE_MATCH_2 STREQUAL backend)
      message(FATAL_ERROR "'${who}' is recorded as of ${backend}")
    endif()
    if(who MATCHES "^(100 % on the CPU|plain loop|(prepared )?(cpu|reference)\\..*)$")
      if(NOT backend STREQUAL "cpu" OR NOT where MATCHES "^cpu, 1 thread" OR NOT machine MATCHES ", 1 threads$")
        message(FATAL_ERROR "'${who}' ran on the CPU and is recorded as of ${backend}, ${where}, ${machine}")
      endif()
      math(EXPR shared "${shared} + 1")
    elseif(who MATCHES "opengl|on the CPU|draw alone" AND (NOT backend STREQUAL "opengl" OR machine MATCHES ", 1 threads$"))
      message(FATAL_ERROR "'${who}' ran on OpenGL and is recorded as of ${backend}, ${machine}")
    endif()
  endforeach()
  if(shared LESS 10)
    message(FATAL_ERROR "${OUTPUT} has ${shared} rows of the CPU, fewer than there are inputs")
  endif()
endif()
run_paper(0 "# matrix of 10\\^4 entries: 250 rows, 10000 nonzeros, .*\\n.*prepared cpu.*# mesh of 10\\^4 edges: .*prepared cpu.tiles" --large --backend cpu --threads 1
  --figures table5,table6)
run_paper(0 "Table 6\\. " --backend cpu --threads 1 --figures table6)
if(said MATCHES "Table 5\\. |cpu, 2 threads")
  message(FATAL_ERROR "--figures table6 --threads 1 has more:\n${said}")
endif()

# Files of a folder, of whose symmetric matrices the lower half counts; what it does not have is made by rule.
set(data ${OUTPUT}.data)
file(WRITE ${data}/matrices/bcsstk15.mtx "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 2\n3 3 1\n")
file(WRITE ${data}/matrices/bcsstk16.mtx "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 2\n2 2 -1\n")
file(WRITE ${data}/meshes/aneurysm-2k.su2 "NDIME= 3\nNELEM= 1\n10 0 1 2 3\nNPOIN= 4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nNMARK= 0\n")
run_paper(0 "BCSSTK16 +2 +- +2 +- +50\\.00 % +-\n +[^\n]*bcsstk16.mtx\n +BCSSTK29, stand-in" --backend cpu --data ${data} --figures table3)
run_paper(0 "kilobytes +file [^\n]*\n +BCSSTK15 +0\\.08 +1568 .*\n +BCSSTK16 +0\\.07 +- .*\n +BCSSTK29, stand-in +- .*Table 4.*\n +2k mesh +0\\.07 +576 "
  --backend cpu --data ${data} --figures table3,table4)
run_paper(0 "# BCSSTK15: 3 rows, 4 nonzeros, .*bcsstk15.mtx\n.*# BCSSTK16: 2 rows, 2 nonzeros, .*bcsstk16.mtx\n.*BCSSTK29, stand-in.*# 2k mesh: 4 nodes, 6 edges, .*10k mesh, stand-in"
  --backend cpu --threads 1 --data ${data} --figures table5,table6)
file(WRITE ${data}/matrices/bcsstk15.mtx "no matrix")
run_paper(3 "bcsstk15.mtx: line 1" --backend cpu --data ${data} --figures table5)
run_paper(3 "--data ${data}/none: no such folder" --backend cpu --data ${data}/none --figures table3)
