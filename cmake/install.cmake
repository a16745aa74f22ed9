# Header, libraries, tool; a CMake package (find_package(upsweep) -> upsweep::upsweep, upsweep::upsweep_static) and a pkg-config file.
include(CMakePackageConfigHelpers)
install(FILES include/upsweep.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS upsweep_static upsweep_shared EXPORT upsweep-targets)
install(EXPORT upsweep-targets NAMESPACE upsweep:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/upsweep)
if(UPSWEEP_BUILD_TOOL)
  install(TARGETS upsweep_tool)
endif()
configure_package_config_file(cmake/upsweep-config.cmake.in upsweep-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/upsweep)
write_basic_package_version_file(upsweep-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/upsweep-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/upsweep-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/upsweep)
# The prefix from where the file lies, so that `cmake --install --prefix` and a moved tree are right too.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/upsweep.pc.in upsweep.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/upsweep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
