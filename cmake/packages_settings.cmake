# Read by cpack before it makes packages.
# CPack puts its one summary before the description of each package, which has a first line of its own.
set(CPACK_DEFAULT_PACKAGE_DESCRIPTION_SUMMARY "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}")
if(CPACK_GENERATOR STREQUAL "External")
  set(CPACK_MONOLITHIC_INSTALL ON)
endif()
# Packages of one commit have one time, so that they have the same bytes whenever they are made of the same build.
# Whoever sets SOURCE_DATE_EPOCH says which; else it is the time of the commit, where there is one.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CPACK_SHEAF_SOURCE_DIR} log -1 --format=%ct OUTPUT_VARIABLE seconds
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(seconds)
    set(ENV{SOURCE_DATE_EPOCH} ${seconds})
  endif()
endif()
