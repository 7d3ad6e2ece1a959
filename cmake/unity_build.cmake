# Sources that use the same templates (of command lines, JSON, tests) each compile them again, which is most of what
# such a source takes. With SHEAF_UNITY_BUILD, which the presets set, several are compiled as one. A source still includes
# what it uses: the preset ubsan compiles each by itself, and so does -D SHEAF_UNITY_BUILD=OFF, which is quicker while one
# source is worked on. Names in unnamed namespaces must differ among sources that are compiled as one; a test has a
# namespace of its own for that. Kernels are compiled by themselves wherever they are timed: what the compiler makes of
# one must not depend on its neighbours.

# sheaf_unity_build(TARGET SIZE): compiles SIZE sources of TARGET at a time.
function(sheaf_unity_build target size)
  if(SHEAF_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL sheaf_compile_kernels_alone [[${target}]])")
    # A type of an unnamed namespace is said to be in an included file.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# From CMake 3.31 on, a unity build takes in .cu files, too. Called where all sources of TARGET are known.
function(sheaf_compile_kernels_alone target)
  get_target_property(kernels ${target} SOURCES)
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# sheaf_unity_cuda(TARGET SIZE): with SHEAF_UNITY_KERNELS, compiles up to SIZE .cu files of a folder at a time. CMake 3.25
# does so for C and C++ alone. Most of what nvcc takes is to parse the same headers, three times for each file. Sources
# are to be named by absolute paths, as those of subdirectories are.
function(sheaf_unity_cuda target size)
  if(NOT SHEAF_UNITY_KERNELS)
    return()
  endif()
  message(STATUS "sheaf: device code of several files is compiled as one, to see that it compiles; do not time it")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  list(SORT sources)
  set(folder_before "")
  set(text "")
  set(in_batch 0)
  foreach(source IN LISTS sources ITEMS "/end")
    get_filename_component(folder "${source}" DIRECTORY)
    if(text AND (in_batch EQUAL size OR NOT folder STREQUAL folder_before))
      set(file ${CMAKE_CURRENT_BINARY_DIR}/unity_${name}.cu)  # after the first of them
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      target_sources(${target} PRIVATE ${file})
      set(text "")
      set(in_batch 0)
    endif()
    if(NOT text)
      file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} "${source}")
      string(REGEX REPLACE "\\.cu$" "" name "${name}")
      string(REPLACE "/" "_" name "${name}")
    endif()
    set(folder_before "${folder}")
    string(APPEND text "#include \"${source}\"\n")
    math(EXPR in_batch "${in_batch} + 1")
  endforeach()
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()
