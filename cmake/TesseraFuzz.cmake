# tests/fuzz_NAME.c: one libFuzzer target each, seeded from tests/corpus/fuzz_NAME. ctest gives each a bounded run; longer
# ones are started by hand: build/fuzz/fuzz_npy -max_total_time=600 CORPUS.
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "TESSERA_FUZZ needs clang: cmake --preset fuzz")
endif()
set_target_properties(tessera PROPERTIES EXCLUDE_FROM_ALL ON) # clang does not link sanitizers into shared libraries
enable_testing()
add_custom_target(fuzz) # builds the targets and nothing else
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz_*.c)
foreach(file IN LISTS fuzz_targets)
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE tessera_cli tessera_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz ${name})
  # libFuzzer writes what it finds into the first folder it is given.
  set(found ${CMAKE_CURRENT_BINARY_DIR}/found/${name})
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -runs=100000 -max_total_time=30 -timeout=10 -seed=1 -max_len=4096 -verbosity=0
                                ${found} ${CMAKE_CURRENT_SOURCE_DIR}/tests/corpus/${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endforeach()
