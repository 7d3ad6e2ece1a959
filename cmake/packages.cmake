# What `cpack --preset release` makes of an installed tree: Debian's packages, split and named as its policy asks, and
# one .tar.gz of everything. Folders are those of the prefix that was configured: with CMAKE_INSTALL_PREFIX=/usr,
# libraries go to Debian's folder of the architecture, else to /usr/lib.
set(SHEAF_PACKAGE_MAINTAINER "The sheaf authors <sheaf@sheaf.invalid>" CACHE STRING
  "Who answers for packages: a name and an address, as the field Maintainer has them")

get_target_property(soversion sheaf_shared SOVERSION)
string(REGEX REPLACE "[^a-z0-9]" "" prerelease "${SHEAF_PRERELEASE}")
set(CPACK_PACKAGE_NAME sheaf)
set(CPACK_PACKAGE_VENDOR "The sheaf authors")
set(CPACK_PACKAGE_CONTACT "${SHEAF_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
if(prerelease)
  string(APPEND CPACK_PACKAGE_VERSION "-${prerelease}")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_PACKAGE_FILE_NAME sheaf-${CPACK_PACKAGE_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR "DEB;External")  # packages_archive.cmake makes the .tar.gz
set(CPACK_EXTERNAL_ENABLE_STAGING ON)
set(CPACK_EXTERNAL_PACKAGE_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/packages_archive.cmake)
set(CPACK_SOURCE_GENERATOR "")  # docs/release.md makes the archive of the sources
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/packages_settings.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/packages_documents.cmake)
set(CPACK_SHEAF_SOURCE_DIR ${PROJECT_SOURCE_DIR})

# In a .deb each component is a package; the .tar.gz has all of them.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL sheaf_library sheaf_development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
if(prerelease)
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION "~${prerelease}")  # older than the release
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE sheaf)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SHEAF_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(exactly "(= ${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# sheaf_debian_package(COMPONENT NAME SECTION SUMMARY TEXT): the name, the section and the description of one package.
function(sheaf_debian_package component name section summary text)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${COMPONENT}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
endfunction()

set(what "sheaf has gather, scatter, split and sort of records, scans of linked
lists, hash search, sparse products, conjugate gradient and sums over
edges, for multicore CPUs and GPUs.
")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # where there is a shared library
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# What the library loads where it is there.
set(loaded "")
if(SHEAF_HAS_OPENGL)
  list(APPEND loaded libegl1 libgl1)
endif()
if(SHEAF_HAS_CUDA)
  list(APPEND loaded libcuda1)
endif()
list(JOIN loaded ", " loaded)

# A shared library's package has the name of its SONAME, so that two of them can be installed side by side.
sheaf_debian_package(sheaf_library libsheaf${soversion} libs
  "irregular memory access at memory speed (shared library)"
  "${what}This package has the shared library.")
set(CPACK_DEBIAN_SHEAF_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_SHEAF_LIBRARY_PACKAGE_SUGGESTS "${loaded}")

# Programs that link the static library link what is inside it, too.
set(needed "libsheaf${soversion} ${exactly}")
if(SHEAF_HAS_OPENGL)
  string(APPEND needed ", libepoxy-dev")
endif()
if(SHEAF_HAS_HIGHWAY)
  string(APPEND needed ", libhwy-dev")
endif()
sheaf_debian_package(sheaf_development libsheaf-dev libdevel
  "irregular memory access at memory speed (development files)"
  "${what}This package has the headers, the static library, and what CMake and
pkg-config read.")
set(CPACK_DEBIAN_SHEAF_DEVELOPMENT_PACKAGE_DEPENDS "${needed}")
set(CPACK_DEBIAN_SHEAF_DEVELOPMENT_PACKAGE_SUGGESTS "sheaf")

set(suggested "")
foreach(mpi IN LISTS SHEAF_MPIS)
  list(APPEND CPACK_COMPONENTS_ALL sheaf_${mpi} sheaf_${mpi}_development)
  string(TOUPPER ${mpi} MPI)
  sheaf_debian_package(sheaf_${mpi} libsheaf-${mpi}${soversion} libs
    "irregular memory access on the processes of ${mpi} (shared library)"
    "${what}This package has the shared object by which programs and the command
work on the processes of ${mpi}.")
  set(CPACK_DEBIAN_SHEAF_${MPI}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
  sheaf_debian_package(sheaf_${mpi}_development libsheaf-${mpi}-dev libdevel
    "irregular memory access on the processes of ${mpi} (development files)"
    "${what}This package has what CMake reads for programs on the processes of
${mpi}.")
  set(CPACK_DEBIAN_SHEAF_${MPI}_DEVELOPMENT_PACKAGE_DEPENDS
    "libsheaf-dev ${exactly}, libsheaf-${mpi}${soversion} ${exactly}")
  list(APPEND suggested "libsheaf-${mpi}${soversion} ${exactly}")
endforeach()
if(SHEAF_BUILD_CLI)
  list(APPEND CPACK_COMPONENTS_ALL sheaf_command)
  sheaf_debian_package(sheaf_command sheaf science "irregular memory access at memory speed (command)"
    "${what}This package has the command, which works on files of records, arrays,
matrices and meshes, its manual pages and completions, and profiles of
machines.")
  list(JOIN suggested " | " suggested)
  list(APPEND suggested ${loaded})
  list(JOIN suggested ", " suggested)
  set(CPACK_DEBIAN_SHEAF_COMMAND_PACKAGE_SUGGESTS "${suggested}")
endif()

include(CPack)
