# Read by cpack once the files of a package lie in its folder: what Debian's policy asks of documents (chapter 12).
# Every package has a copyright file and a changelog, and manual pages are compressed.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(gzip gzip -9 -n -f)  # without name and time
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} COMPONENT)
  set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  set(documents ${share}/doc/${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  file(COPY ${CPACK_SHEAF_SOURCE_DIR}/packaging/debian/copyright DESTINATION ${documents}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(COPY ${CPACK_SHEAF_SOURCE_DIR}/CHANGELOG.md DESTINATION ${documents}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(RENAME ${documents}/CHANGELOG.md ${documents}/changelog)
  file(WRITE ${documents}/changelog.Debian
    "sheaf (${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Packages of the release; changelog.gz says what is new.\n\n"
    " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
  file(GLOB pages ${share}/man/man1/*.1)
  execute_process(COMMAND ${gzip} ${documents}/changelog ${documents}/changelog.Debian ${pages}
    COMMAND_ERROR_IS_FATAL ANY)
  # They are in changelog.gz and copyright.
  file(REMOVE ${share}/doc/sheaf/CHANGELOG.md ${share}/doc/sheaf/LICENSE ${share}/doc/sheaf/NOTICE)
endforeach()
