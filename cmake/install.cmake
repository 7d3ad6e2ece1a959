# What `cmake --install` puts down: both libraries, the public headers, the command, the machine profiles, and what
# find_package(sheaf) and pkg-config read. Manual pages and completions are installed where the command makes them. The
# components are those that cmake/packages.cmake makes packages of; `cmake --install` takes all of them.
include(CMakePackageConfigHelpers)

set(SHEAF_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)
set(SHEAF_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Two export sets: only the static library asks its user for OpenMP and the CUDA runtime.
foreach(kind IN ITEMS static shared)
  set_target_properties(sheaf_${kind} PROPERTIES EXPORT_NAME ${kind})
  install(TARGETS sheaf_${kind} EXPORT sheaf_${kind}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_library NAMELINK_COMPONENT sheaf_development)
  install(EXPORT sheaf_${kind} FILE sheaf_${kind}.cmake NAMESPACE sheaf:: DESTINATION ${SHEAF_CMAKE_DIR}
    COMPONENT sheaf_development)
endforeach()

# The shared objects of MPI ask for nothing: an export set for each, because a user has one MPI.
foreach(mpi IN LISTS SHEAF_MPIS)
  set_target_properties(sheaf_${mpi} PROPERTIES EXPORT_NAME ${mpi})
  install(TARGETS sheaf_${mpi} EXPORT sheaf_${mpi}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_${mpi} NAMELINK_COMPONENT sheaf_${mpi}_development)
  install(EXPORT sheaf_${mpi} FILE sheaf_${mpi}.cmake NAMESPACE sheaf:: DESTINATION ${SHEAF_CMAKE_DIR}
    COMPONENT sheaf_${mpi}_development)
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sheaf DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sheaf_development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(FILES ${PROJECT_BINARY_DIR}/include/sheaf/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf
  COMPONENT sheaf_development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/sheaf COMPONENT sheaf_command
  FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/SECURITY.md ${PROJECT_SOURCE_DIR}/CITATION.cff
  ${PROJECT_SOURCE_DIR}/packaging/sheaf.spdx.json
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sheaf_command)
install(FILES ${PROJECT_SOURCE_DIR}/docs/command.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT sheaf_command)
install(FILES ${PROJECT_SOURCE_DIR}/docs/library.md ${PROJECT_SOURCE_DIR}/docs/scale-out.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT sheaf_development)

set(SHEAF_LINKED_LIBRARIES "")
if(SHEAF_HAS_OPENGL)
  string(APPEND SHEAF_LINKED_LIBRARIES " epoxy")
endif()
if(SHEAF_HAS_HIGHWAY)
  string(APPEND SHEAF_LINKED_LIBRARIES " hwy_contrib")
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sheafConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/sheafConfig.cmake
  INSTALL_DESTINATION ${SHEAF_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/sheafConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/sheafConfig.cmake ${PROJECT_BINARY_DIR}/cmake/sheafConfigVersion.cmake
  DESTINATION ${SHEAF_CMAKE_DIR} COMPONENT sheaf_development)

# sheaf.pc links the shared library, sheaf-static.pc the static one with all that it needs. Both find their prefix from
# where they lie, so an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${SHEAF_PKGCONFIG_DIR}
  OUTPUT_VARIABLE SHEAF_PC_PREFIX)
set(SHEAF_PC_LIBS "-lsheaf")
configure_file(${PROJECT_SOURCE_DIR}/cmake/sheaf.pc.in ${PROJECT_BINARY_DIR}/cmake/sheaf.pc @ONLY)
set(SHEAF_PC_LIBS "-l:libsheaf.a ${OpenMP_CXX_FLAGS} -l${CMAKE_DL_LIBS}")
if(SHEAF_HAS_CUDA)
  string(APPEND SHEAF_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -lpthread")
endif()
if(SHEAF_HAS_OPENGL)
  string(APPEND SHEAF_PC_LIBS " -lepoxy")
endif()
if(SHEAF_HAS_HIGHWAY)
  string(APPEND SHEAF_PC_LIBS " -lhwy_contrib")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/sheaf.pc.in ${PROJECT_BINARY_DIR}/cmake/sheaf-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/sheaf.pc ${PROJECT_BINARY_DIR}/cmake/sheaf-static.pc
  DESTINATION ${SHEAF_PKGCONFIG_DIR} COMPONENT sheaf_development)
