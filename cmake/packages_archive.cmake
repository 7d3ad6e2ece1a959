# Run by cpack for its generator External, once all that is installed lies in one folder: a .tar.gz with files in order
# of their names, of one owner and with modes that do not depend on who packs. CPack's own TGZ takes files as the file
# system lists them.
get_filename_component(folder ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY)
get_filename_component(name ${CPACK_TEMPORARY_DIRECTORY} NAME)
set(archive ${CPACK_TOPLEVEL_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}.tar.gz)
set(time "")
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(time --mtime=@$ENV{SOURCE_DATE_EPOCH})
endif()
execute_process(
  COMMAND tar --sort=name --format=gnu ${time} --owner=root:0 --group=root:0 --numeric-owner --mode=u=rwX,go=rX
    -C ${folder} -cf - ${name}
  COMMAND gzip -n
  OUTPUT_FILE ${archive} COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_EXTERNAL_BUILT_PACKAGES ${archive})
