# Compiles one CUDA instance to FATBIN and writes REPORT: the hash of its machine code for 9.0 (as CUBIN_CODE prints it:
# tools/cubin_code.c) and what the assembler says of it, as C initialisers. Fails when an instance spills or uses local
# memory, or when the assembler serialises its wgmma instructions.
include(${CMAKE_CURRENT_LIST_DIR}/KernelCache.cmake)
# The cache's key: the source as the device compiler sees it for each generation, without line numbers, and all else that
# the two files depend on.
file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/../tools/cubin_code.c key)
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
kernel_cache_get(${key} ${FATBIN} ${REPORT})
if(found)
  return()
endif()

# nvcc leaves the machine code that it puts into FATBIN in a folder, where it is not compressed.
set(steps ${FATBIN}.steps)
file(REMOVE_RECURSE ${steps}) # of a compilation that failed
file(MAKE_DIRECTORY ${steps})
execute_process(
  COMMAND ${NVCC} -fatbin ${FLAGS} ${DEFINES} ${INCLUDES} --keep --keep-dir ${steps} -Xptxas -v -o ${FATBIN}.tmp ${SOURCE}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE text
  ERROR_VARIABLE text)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "nvcc failed on ${INSTANCE}:\n${text}")
endif()
if(text MATCHES "[1-9][0-9]* bytes (stack frame|spill)" OR text MATCHES "serializ")
  message(FATAL_ERROR "${INSTANCE} spills, uses local memory, or its wgmma is serialised:\n${text}")
endif()

# Registers of the code for 9.0.
string(REGEX MATCH "for 'sm_90a?'.*" sm90 "${text}")
string(REGEX MATCH "Used ([0-9]+) registers" unused "${sm90}")
set(registers ${CMAKE_MATCH_1})
if(NOT registers)
  message(FATAL_ERROR "no register count for ${INSTANCE} in:\n${text}")
endif()
file(GLOB cubin ${steps}/*90.cubin ${steps}/*90a.cubin)
if(NOT cubin) # named for its architecture only where there are several
  file(GLOB cubin ${steps}/*.cubin)
endif()
execute_process(COMMAND ${CUBIN_CODE} ${cubin} OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${steps})
string(SHA256 hash "${code}")
string(SUBSTRING ${hash} 0 16 short_hash)

file(SIZE ${FATBIN}.tmp bytes)
file(WRITE ${REPORT} "    ${bytes}, \"${short_hash}\", ${registers}\n")
file(RENAME ${FATBIN}.tmp ${FATBIN})
kernel_cache_put(${key} ${FATBIN} ${REPORT})
