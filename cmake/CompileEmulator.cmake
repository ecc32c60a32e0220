# Compiles one instance for the emulator: SOURCE by gcc to OBJECT, whose instrumentation calls the functions in SYMS. Paths
# in its debug information are those below the source tree, so that the same source gives the same bytes anywhere.
include(${CMAKE_CURRENT_LIST_DIR}/KernelCache.cmake)
execute_process(COMMAND ${CC} --version OUTPUT_VARIABLE version)
execute_process(
  COMMAND ${CC} ${FLAGS} ${DEFINES} ${INCLUDES} -E ${SOURCE}
  OUTPUT_VARIABLE text
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "cannot preprocess ${SOURCE}")
endif()
string(REPLACE "${BUILD}/" "build/" text "${text}")
string(REPLACE "${ROOT}/" "" text "${text}")
file(READ ${SYMS} syms)
string(SHA256 key "${version} ${FLAGS} ${DEFINES} ${syms} ${text}")
get_filename_component(suffix ${OBJECT} EXT)
kernel_cache_get(${key} ${OBJECT})
if(found)
  return()
endif()
execute_process(COMMAND ${CC} ${FLAGS} ${DEFINES} ${INCLUDES} -ffile-prefix-map=${ROOT}=tessera
                        -ffile-prefix-map=${BUILD}=tessera/build -c ${SOURCE} -o ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${SYMS} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
kernel_cache_put(${key} ${OBJECT})
