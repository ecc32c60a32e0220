# Install rules: header, both libraries, the command, pkg-config and CMake package files. The tree may be moved after it
# is installed: both kinds of package file find their prefix from where they lie.
include(CMakePackageConfigHelpers)
include(TesseraFullBlas)
include(TesseraPages)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)

install(FILES include/tessera.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS tessera_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tessera_blas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tessera tessera_static EXPORT TesseraTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TesseraConfig.cmake.in ${CMAKE_BINARY_DIR}/TesseraConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TesseraConfig.cmake ${CMAKE_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package_dir})

# A folder as tessera.pc names it: from where the file lies, unless the folder was given as an absolute path.
function(tessera_pc_folder folder out)
  if(IS_ABSOLUTE ${folder})
    set(${out} ${folder} PARENT_SCOPE)
  else()
    file(RELATIVE_PATH path /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix/${folder})
    set(${out} "\${pcfiledir}/${path}" PARENT_SCOPE)
  endif()
endfunction()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  tessera_pc_folder(${CMAKE_INSTALL_LIBDIR} pc_libdir)
  tessera_pc_folder(${CMAKE_INSTALL_INCLUDEDIR} pc_includedir)
endif()
foreach(package tessera tessera_blas)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
