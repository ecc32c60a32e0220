# Compiles one CUDA instance to PTX: OUT.ARCH.ptx for each virtual architecture ARCH of VIRTUAL, of which
# CompileGroup.cmake makes machine code, and, where LATER names an architecture, OUT.ptx.fatbin: a fat binary with its PTX
# alone, for GPUs that the machine code does not run on.
include(${CMAKE_CURRENT_LIST_DIR}/KernelCache.cmake)
set(files)
foreach(arch IN LISTS VIRTUAL)
  list(APPEND files ${OUT}.${arch}.ptx)
endforeach()
if(LATER)
  list(APPEND files ${OUT}.ptx.fatbin)
endif()
# The cache's key: the source as the device compiler sees it for each generation, without line numbers, and all else that
# the files depend on.
string(SHA256 key "${VIRTUAL} ${LATER} ${FATBINARY_FLAGS}")
foreach(arch 800 900)
  execute_process(
    COMMAND ${HOST_CC} -E -P -x c -D__CUDACC__=13 -D__CUDA_ARCH__=${arch} ${DEFINES} ${INCLUDES} ${SOURCE}
    OUTPUT_VARIABLE source_text
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "cannot preprocess ${SOURCE}")
  endif()
  string(REGEX REPLACE "[ \t\r\n]+" " " source_text "${source_text}")
  string(SHA256 hash "${source_text} ${FLAGS} ${DEFINES} ${NVCC_VERSION}")
  string(APPEND key ${hash})
endforeach()
string(SHA256 key ${key})
kernel_cache_get(${key} ${files})
if(found)
  return()
endif()

foreach(arch IN LISTS VIRTUAL)
  execute_process(
    COMMAND ${NVCC} -ptx -arch=compute_${arch} ${FLAGS} ${DEFINES} ${INCLUDES} -o ${OUT}.tmp ${SOURCE}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "nvcc failed on ${INSTANCE}:\n${text}")
  endif()
  file(RENAME ${OUT}.tmp ${OUT}.${arch}.ptx)
endforeach()
if(LATER)
  execute_process(
    COMMAND ${FATBINARY} -64 ${FATBINARY_FLAGS} --create=${OUT}.tmp
            --image3=kind=ptx,sm=${LATER},file=${OUT}.${LATER}.ptx
    RESULT_VARIABLE result
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "fatbinary failed on ${INSTANCE}:\n${text}")
  endif()
  file(RENAME ${OUT}.tmp ${OUT}.ptx.fatbin)
endif()
kernel_cache_put(${key} ${files})
