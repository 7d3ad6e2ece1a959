# Sources that use the same templates (of command lines, JSON, tests) each compile them again, which is most of what
# such a source takes. With SHEAF_UNITY_BUILD, which the presets set, several are compiled as one. A source still includes
# what it uses: the preset ubsan compiles each by itself, and so does -D SHEAF_UNITY_BUILD=OFF, which is quicker while one
# source is worked on. Names in unnamed namespaces must differ among sources that are compiled as one; a test has a
# namespace of its own for that.
option(SHEAF_UNITY_BUILD "Compile several sources of the command and the tests at a time" OFF)

# sheaf_unity_build(TARGET SIZE): compiles SIZE sources of TARGET at a time.
function(sheaf_unity_build target size)
  if(SHEAF_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()
