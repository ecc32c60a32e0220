# Compiles one CUDA instance to FATBIN and writes REPORT: its hash (preprocessed source, flags, nvcc version) and what
# the assembler says of it, as C initialisers. Fails when an instance spills or uses local memory, or when the assembler
# serialises its wgmma instructions.
include(${CMAKE_CURRENT_LIST_DIR}/KernelCache.cmake)
# As the device compiler sees it for each generation, without line numbers.
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

execute_process(
  COMMAND ${NVCC} -fatbin ${FLAGS} ${DEFINES} ${INCLUDES} -Xptxas -v -o ${FATBIN}.tmp ${SOURCE}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE text
  ERROR_VARIABLE text)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "nvcc failed on ${INSTANCE}:\n${text}")
endif()
if(text MATCHES "[1-9][0-9]* bytes (stack frame|spill)" OR text MATCHES "serializ")
  message(FATAL_ERROR "${INSTANCE} spills, uses local memory, or its wgmma is serialised:\n${text}")
endif()

# Registers of the sm_90a code.
string(REGEX MATCH "for 'sm_90a'.*" sm90 "${text}")
string(REGEX MATCH "Used ([0-9]+) registers" unused "${sm90}")
set(registers ${CMAKE_MATCH_1})
if(NOT registers)
  message(FATAL_ERROR "no register count for ${INSTANCE} in:\n${text}")
endif()
string(SUBSTRING ${hash} 0 16 short_hash)

file(SIZE ${FATBIN}.tmp bytes)
file(WRITE ${REPORT} "    ${bytes}, \"${short_hash}\", ${registers}\n")
file(RENAME ${FATBIN}.tmp ${FATBIN})
kernel_cache_put(${key} ${FATBIN} ${REPORT})
