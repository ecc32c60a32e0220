# Install rules: headers, libraries, the command with its pages, documents, pkg-config and CMake package files. The tree may be moved after it
# is installed: both kinds of package file find their prefix from where they lie.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)

# Components are the packages of packaging/: runtime (the library), blas, command, dev, doc.
set(shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/tessera.h include/tessera_blas.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(TARGETS tessera_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS tessera EXPORT TesseraTargets ${shared} COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS tessera_blas EXPORT TesseraTargets ${shared} COMPONENT blas NAMELINK_COMPONENT dev)
# Nobody links it: it stands in front of programs that know cuBLAS alone.
install(TARGETS tessera_cublas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT blas NAMELINK_SKIP)
install(FILES src/cublas/measured.tsv DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera COMPONENT blas RENAME cublas.tsv)
install(TARGETS tessera_static EXPORT TesseraTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(PROGRAMS packaging/link-blas DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera COMPONENT blas)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING PATTERN "*.c" PATTERN "*.cu")

if(TESSERA_EMU) # the library opens it by its SONAME
  install(TARGETS tessera_emu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_SKIP)
endif()

install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TesseraConfig.cmake.in ${CMAKE_BINARY_DIR}/TesseraConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TesseraConfig.cmake ${CMAKE_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT dev)

include(TesseraFullBlas)
include(TesseraPages)

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
  install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT dev)
endforeach()

# Takes away what the last install of this build folder put in place.
configure_file(${CMAKE_CURRENT_LIST_DIR}/Uninstall.cmake.in ${CMAKE_BINARY_DIR}/Uninstall.cmake @ONLY)
if(TESSERA_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${CMAKE_BINARY_DIR}/Uninstall.cmake VERBATIM)
  include(TesseraDebian)
endif()
