# Man pages and completions, written by a program that reads the command's own tables (tools/make_pages.c), and the
# reference of the public headers in HTML where doxygen is at hand. A cross build has no way to run the program.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "no man pages and completions: the program that writes them cannot run here")
  return()
endif()
add_executable(make_pages ${PROJECT_SOURCE_DIR}/tools/make_pages.c)
target_link_libraries(make_pages PRIVATE tessera_cli tessera_flags)
set(pages ${CMAKE_BINARY_DIR}/pages)
file(MAKE_DIRECTORY ${pages})
file(GLOB commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/cmd_*.c)
list(TRANSFORM commands REPLACE ".*/cmd_([a-z]+)\\.c$" "${pages}/tessera-\\1.1")
set(manuals ${pages}/tessera.1 ${commands})
add_custom_command(
  OUTPUT ${manuals} ${pages}/tessera.bash ${pages}/_tessera ${pages}/tessera.fish
  COMMAND make_pages ${pages}
  DEPENDS make_pages
  VERBATIM)
add_custom_target(tessera_pages ALL DEPENDS ${manuals} ${pages}/tessera.bash ${pages}/_tessera ${pages}/tessera.fish)
install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${pages}/tessera.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tessera
        COMPONENT command)
install(FILES ${pages}/_tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT command)
install(FILES ${pages}/tessera.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)

find_program(DOXYGEN_PROGRAM doxygen)
if(DOXYGEN_PROGRAM)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${CMAKE_BINARY_DIR}/Doxyfile @ONLY)
  set(reference ${CMAKE_BINARY_DIR}/reference/html/index.html)
  add_custom_command(
    OUTPUT ${reference}
    COMMAND ${DOXYGEN_PROGRAM} -q ${CMAKE_BINARY_DIR}/Doxyfile
    DEPENDS ${PROJECT_SOURCE_DIR}/include/tessera.h ${PROJECT_SOURCE_DIR}/include/tessera_blas.h
            ${CMAKE_BINARY_DIR}/Doxyfile
    VERBATIM)
  add_custom_target(tessera_reference ALL DEPENDS ${reference})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/reference/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
endif()
