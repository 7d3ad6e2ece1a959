# The tree that this port lies in. A port of a published release gets its archive by a URL and a checksum here.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    cuda SHEAF_CUDA
    highway SHEAF_HIGHWAY
    opengl SHEAF_OPENGL
    tools SHEAF_BUILD_CLI
)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DSHEAF_BUILD_TESTS=OFF
    -DSHEAF_BUILD_BENCH=OFF
    -DSHEAF_BUILD_EXAMPLES=OFF
    -DSHEAF_MPI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME sheaf CONFIG_PATH lib/cmake/sheaf)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES sheaf AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
