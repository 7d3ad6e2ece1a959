# What gets built. A project that adds sheaf as a subdirectory gets the library alone.
option(SHEAF_BUILD_CLI "Build the sheaf command" ${PROJECT_IS_TOP_LEVEL})
option(SHEAF_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SHEAF_BUILD_BENCH "Build sheaf-bench" ${PROJECT_IS_TOP_LEVEL})
option(SHEAF_BUILD_FUZZ "Build the fuzz targets" OFF)
option(SHEAF_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SHEAF_BUILD_PYTHON "Build the Python module; script/python turns it on" OFF)
option(SHEAF_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
set(SHEAF_CUDA AUTO CACHE STRING "CUDA backend: AUTO builds it where a toolkit is found, ON insists, OFF leaves it out")
set_property(CACHE SHEAF_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SHEAF_OPENGL AUTO CACHE STRING
  "OpenGL backend: AUTO builds it where libepoxy and EGL's headers are found, ON insists, OFF leaves it out")
set_property(CACHE SHEAF_OPENGL PROPERTY STRINGS AUTO ON OFF)
set(SHEAF_HIGHWAY AUTO CACHE STRING
  "Highway's vectorized sort in CPU sorts: AUTO takes it where it is found, ON insists, OFF leaves it out")
set_property(CACHE SHEAF_HIGHWAY PROPERTY STRINGS AUTO ON OFF)
option(SHEAF_CUDA_LINE_INFO "Put line tables into device code, for profilers and compute-sanitizer" OFF)
option(SHEAF_UNITY_BUILD "Compile several sources of a target at a time" OFF)
# The environment is read when a build folder is configured first.
if(DEFINED ENV{SHEAF_UNITY_KERNELS})
  set(unity_kernels $ENV{SHEAF_UNITY_KERNELS})
else()
  set(unity_kernels OFF)
endif()
option(SHEAF_UNITY_KERNELS "Compile kernels several at a time too, .cu files and those of the CPU, where nothing is timed" ${unity_kernels})
set(SHEAF_SANITIZE "" CACHE STRING "Sanitizers to build with: address, undefined, thread, or a comma-separated list")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

include(GNUInstallDirs)

# Flags of every target of this project, and of nobody else's. What -Wpsabi notes concerns objects of GCC 4.5.
add_library(sheaf_flags INTERFACE)
target_compile_features(sheaf_flags INTERFACE cxx_std_20)
target_compile_options(sheaf_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-psabi;-fvisibility=hidden>)
# A JSON value becomes a string or a number only where the code says so: what converts by itself is compared in another
# way by each compiler, or not at all.
target_compile_definitions(sheaf_flags INTERFACE JSON_USE_IMPLICIT_CONVERSIONS=0)
if(SHEAF_BUILD_FUZZ)
  target_compile_options(sheaf_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
if(SHEAF_SANITIZE)
  target_compile_options(sheaf_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SHEAF_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(sheaf_flags INTERFACE -fsanitize=${SHEAF_SANITIZE})
endif()
