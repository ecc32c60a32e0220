# A complete BLAS, libblas.so.3: without code, it needs libtessera_blas and, for all the rest, another BLAS below.
# TESSERA_FULL_BLAS names that one (a file), "auto" takes the first that is here, OFF leaves it out. packaging/link-blas
# makes it, here and later on another machine.
set(TESSERA_FULL_BLAS auto CACHE STRING "The complete BLAS below libtessera_blas: a file, auto or OFF")
set(below ${TESSERA_FULL_BLAS})
if(below STREQUAL "auto")
  find_library(TESSERA_BLAS_BELOW NAMES libopenblas.so.0 libblis.so.4 libblas.so.3)
  set(below ${TESSERA_BLAS_BELOW})
endif()
if(NOT below OR CMAKE_CROSSCOMPILING OR TESSERA_SANITIZE OR TESSERA_FUZZ)
  message(STATUS "no complete BLAS (libblas.so.3) is built: none was found to lie below, or none is wanted")
  return()
endif()
set(full_blas ${CMAKE_BINARY_DIR}/blas/libblas.so.3)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/blas)
add_custom_command(
  OUTPUT ${full_blas}
  COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/packaging/link-blas --tessera
          $<TARGET_FILE:tessera_blas> --output ${full_blas} ${below}
  DEPENDS tessera_blas ${PROJECT_SOURCE_DIR}/packaging/link-blas
  VERBATIM)
add_custom_target(tessera_full_blas ALL DEPENDS ${full_blas})
install(PROGRAMS ${full_blas} DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera COMPONENT blas)
