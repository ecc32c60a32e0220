# Kernels: for each CUDA config of src/plan/kernels.def PTX (nvcc), for each group of configs a fat binary with machine code
# (ptxas), both embedded in the library, and for each config one emulator object (gcc). Sets TESSERA_HAVE_NVCC,
# TESSERA_KERNEL_SOURCES, TESSERA_KERNEL_OBJECTS and the target tessera_kernels.

set(TESSERA_HAVE_NVCC OFF)
set(toolkit_version 0)
set(nvcc_version)
if(TESSERA_CUDA)
  # tools/setup puts nvcc into build/nvcc where the machine has none.
  file(GLOB nvcc_wheels ${CMAKE_CURRENT_SOURCE_DIR}/build/nvcc/lib/python3*/site-packages/nvidia/cu13/bin)
  find_program(TESSERA_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin ${nvcc_wheels})
  if(TESSERA_NVCC)
    execute_process(COMMAND ${TESSERA_NVCC} --version OUTPUT_VARIABLE nvcc_text)
    string(REGEX MATCH "V(([0-9]+)\\.([0-9]+)[0-9.]*)" TESSERA_NVCC_VERSION "${nvcc_text}")
    if(CMAKE_MATCH_1 VERSION_LESS 12)
      message(STATUS "nvcc ${TESSERA_NVCC_VERSION} is too old (12.0 or later is needed): no device code")
    else()
      set(TESSERA_HAVE_NVCC ON)
      string(SUBSTRING ${TESSERA_NVCC_VERSION} 1 -1 nvcc_version)
      math(EXPR toolkit_version "1000 * ${CMAKE_MATCH_2} + 10 * ${CMAKE_MATCH_3}")
      message(STATUS "nvcc ${TESSERA_NVCC_VERSION}: device code will be embedded")
    endif()
  else()
    message(STATUS "nvcc not found: no device code; the CPU and the emulator are complete")
  endif()
endif()
set(TESSERA_NVCC_FLAGS -O3 -std=c++17)
set(TESSERA_FATBINARY_FLAGS)
if(TESSERA_HAVE_NVCC AND toolkit_version GREATER_EQUAL 12080)
  list(APPEND TESSERA_FATBINARY_FLAGS --compress-mode=size) # a third of the library's size
endif()
if(TESSERA_HAVE_NVCC) # nvcc's own steps lie beside it
  get_filename_component(nvcc_real ${TESSERA_NVCC} REALPATH)
  get_filename_component(nvcc_real ${nvcc_real} DIRECTORY)
  get_filename_component(nvcc_folder ${TESSERA_NVCC} DIRECTORY)
  find_program(TESSERA_PTXAS ptxas HINTS ${nvcc_real} ${nvcc_folder} REQUIRED)
  find_program(TESSERA_FATBINARY fatbinary HINTS ${nvcc_real} ${nvcc_folder} REQUIRED)
endif()
# Machine code for each architecture that we tune for, as pairs of the PTX that it is made of and itself, and which PTX is
# kept for later ones; by the config's lowest architecture. nvcc's front end runs once for each architecture of PTX, which is
# half of its time: only what the two generations compile differently (80_90) has two, and only wgmma and setmaxnreg need
# 90a.
set(TESSERA_CODES_80 80-80 80-90)
set(TESSERA_LATER_80 80)
set(TESSERA_CODES_80_90 80-80 90-90)
set(TESSERA_LATER_80_90 80)
set(TESSERA_CODES_90 90-90)
set(TESSERA_LATER_90 90)
set(TESSERA_CODES_90a 90a-90a)
set(TESSERA_LATER_90a)

set(TESSERA_ONLY "" CACHE STRING "Device code of instances that match this regular expression alone: for quick trials")

# The emulator relies on gcc's instrumentation (clang's differs) and on objcopy to rename its callbacks.
if(TESSERA_EMU)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(TESSERA_EMU_CC ${CMAKE_C_COMPILER})
  else()
    find_program(TESSERA_EMU_CC gcc REQUIRED)
  endif()
  find_program(TESSERA_OBJCOPY objcopy REQUIRED)
  find_program(TESSERA_NM nm REQUIRED)
endif()
# -g1: lines for the emulator's messages, no columns, and nothing of variables, which would be half of the library. Nothing
# unwinds kernels: no tables for that.
set(TESSERA_EMU_FLAGS -x c -std=gnu11 -g1 -gno-column-info -fno-asynchronous-unwind-tables -fPIC -fsanitize=thread
                      -fno-inline-small-functions -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Wno-unused-function -Wno-psabi -DTSR_EMU=1)
# A sixth smaller than by -O1, and as fast, since most of the time goes to what kernels call. Code of two branches must not
# become one: lanes that meet in a call are told apart by where it stands. Instructions in the order of their lines take half of
# the room for line numbers; the other three are small gains.
set(TESSERA_EMU_SIZE -Os -fno-schedule-insns2 -fno-move-loop-invariants -fno-caller-saves -fno-tree-ter -fno-crossjumping
                     -fno-tree-tail-merge -fno-code-hoisting -fno-ipa-icf)

# The table of configs, read by the host compiler at configure time.
set(TESSERA_EXTRA_CONFIGS "" CACHE FILEPATH "More configs for the table: candidates of a search (tools/tune-configs)")
set(extra_configs)
if(TESSERA_EXTRA_CONFIGS)
  get_filename_component(extra_path ${TESSERA_EXTRA_CONFIGS} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(extra_configs "TSR_EXTRA_CONFIGS=\"${extra_path}\"")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${extra_path})
  set_source_files_properties(src/plan/table.c PROPERTIES COMPILE_DEFINITIONS "${extra_configs}" OBJECT_DEPENDS
                              ${extra_path})
  list(TRANSFORM extra_configs PREPEND -D)
endif()
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
find_program(TESSERA_HOST_CC NAMES cc gcc clang REQUIRED)
execute_process(
  COMMAND ${TESSERA_HOST_CC} -std=gnu11 ${extra_configs} -I${CMAKE_CURRENT_SOURCE_DIR}/include
          -I${CMAKE_CURRENT_SOURCE_DIR}/src -o ${generated}/instances ${CMAKE_CURRENT_SOURCE_DIR}/tools/instances.c COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${generated}/instances OUTPUT_VARIABLE instance_lines COMMAND_ERROR_IS_FATAL ANY)
file(GLOB config_files CONFIGURE_DEPENDS src/plan/*.def src/plan/configs/*.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${config_files} src/core/config.h tools/instances.c)

# What makes one PTX module of several, and what of a kernel's machine code is hashed.
if(TESSERA_HAVE_NVCC)
  foreach(tool merge_ptx cubin_code)
    execute_process(
      COMMAND ${TESSERA_HOST_CC} -std=gnu11 -O1 -o ${generated}/${tool} ${CMAKE_CURRENT_SOURCE_DIR}/tools/${tool}.c
              COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/${tool}.c)
  endforeach()
endif()

# The part of kernels/ptx/wgmma.h that is long and regular.
execute_process(
  COMMAND ${TESSERA_HOST_CC} -std=gnu11 -o ${generated}/wgmma_shapes ${CMAKE_CURRENT_SOURCE_DIR}/tools/wgmma_shapes.c
          COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${generated}/ptx)
execute_process(COMMAND ${generated}/wgmma_shapes OUTPUT_VARIABLE wgmma_shapes COMMAND_ERROR_IS_FATAL ANY)
file(CONFIGURE OUTPUT ${generated}/ptx/wgmma_shapes.h CONTENT "@wgmma_shapes@" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/wgmma_shapes.c)

string(REPLACE ";" "|" instance_lines "${instance_lines}")
string(REGEX MATCHALL "[^\n]+" instance_lines "${instance_lines}")

file(GLOB_RECURSE kernel_headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.h)
foreach(header gemm_args.h copy_args.h reduce_args.h microbench_args.h scaling.h schedule.h epilogue.h element_types.h elements.def tensor_map.h)
  list(APPEND kernel_headers ${CMAKE_CURRENT_SOURCE_DIR}/src/core/${header})
endforeach()
list(APPEND kernel_headers ${generated}/ptx/wgmma_shapes.h)
set(kernel_includes -I${CMAKE_CURRENT_SOURCE_DIR}/kernels -I${CMAKE_CURRENT_SOURCE_DIR}/src -I${generated})

# What was compiled before, by any build tree of this checkout (cmake/KernelCache.cmake).
if(DEFINED ENV{TESSERA_KERNEL_CACHE})
  set(kernel_cache $ENV{TESSERA_KERNEL_CACHE})
else()
  set(kernel_cache ${CMAKE_CURRENT_SOURCE_DIR}/build/kernel-cache)
endif()
set(emu_script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/CompileEmulator.cmake)
set(emu_paths "-DROOT=${CMAKE_CURRENT_SOURCE_DIR}" "-DBUILD=${CMAKE_CURRENT_BINARY_DIR}" "-DCACHE=${kernel_cache}")

set(TESSERA_KERNEL_OBJECTS)
# The same kernels once more, so that what their warps do can be counted (src/emu/watch.h). Only the command has them. By
# -O1, as recorded counts and the model's constants are.
set(TESSERA_WATCHED_OBJECTS)
set(TESSERA_WATCHED_FLAGS -O1 -fsanitize-coverage=trace-pc)
set(watched_decls)
set(watched_rows)
set(reports)
set(report_includes)
set(device_decls)
set(device_rows)
set(apart_rows)
set(emu_decls)
set(emu_rows)
set(asm_text "    .section .rodata\n")
set(fatbins)
set(ptx_files)
set(groups)
set(group_lines)
macro(embed symbol file)
  list(APPEND fatbins ${file})
  string(APPEND asm_text "    .balign 16\n    .globl ${symbol}\n    .hidden ${symbol}\n${symbol}:\n    .incbin \"${file}\"\n")
  string(APPEND device_decls "extern const unsigned char ${symbol}[];\n")
endmacro()
foreach(line IN LISTS instance_lines)
  string(REPLACE "|" ";" fields "${line}")
  list(GET fields 0 instance)
  list(GET fields 1 source)
  list(GET fields 2 defines)
  list(GET fields 3 arch)
  list(GET fields 4 tma)
  list(GET fields 5 group)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  separate_arguments(defines UNIX_COMMAND "${defines}")
  list(TRANSFORM defines PREPEND -D)

  if(TESSERA_HAVE_NVCC AND instance MATCHES "${TESSERA_ONLY}")
    set(out ${generated}/${instance})
    string(REGEX REPLACE "-[0-9a]+" "" virtual "${TESSERA_CODES_${arch}}")
    list(REMOVE_DUPLICATES virtual)
    list(TRANSFORM virtual REPLACE "(.+)" "${out}.\\1.ptx" OUTPUT_VARIABLE ptx)
    set(later)
    if(TESSERA_LATER_${arch})
      set(later ${out}.ptx.fatbin)
    endif()
    add_custom_command(
      OUTPUT ${ptx} ${later}
      COMMAND
        ${CMAKE_COMMAND} "-DNVCC=${TESSERA_NVCC}" "-DFATBINARY=${TESSERA_FATBINARY}" "-DNVCC_VERSION=${TESSERA_NVCC_VERSION}"
        "-DHOST_CC=${TESSERA_HOST_CC}" "-DFLAGS=${TESSERA_NVCC_FLAGS}" "-DFATBINARY_FLAGS=${TESSERA_FATBINARY_FLAGS}"
        "-DVIRTUAL=${virtual}" "-DLATER=${TESSERA_LATER_${arch}}" "-DDEFINES=${defines};-DTSR_KERNEL_NAME=${instance}"
        "-DINCLUDES=${kernel_includes}" "-DSOURCE=${source}" "-DINSTANCE=${instance}" "-DOUT=${out}"
        "-DCACHE=${kernel_cache}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/CompileInstance.cmake
      DEPENDS ${source} ${kernel_headers} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/CompileInstance.cmake
      COMMENT "nvcc ${instance}"
      VERBATIM)
    list(APPEND ptx_files ${ptx})
    list(APPEND groups ${group})
    string(APPEND group_lines "${instance} ${group}\n")
    list(APPEND members_${group} ${instance})
    list(APPEND ptx_${group} ${ptx})
    set(codes_${group} ${TESSERA_CODES_${arch}})
    set(later_image NULL)
    if(later)
      set(later_image tsr_ptx_${instance})
      embed(${later_image} ${later})
    endif()
    string(APPEND device_rows "    {\"${instance}\", tsr_code_${group}, ${later_image}, TSR_CODE_${instance}},\n")
    string(APPEND apart_rows "    {\"${instance}\", NULL, NULL, TSR_CODE_${instance}},\n")
  endif()

  if(TESSERA_EMU)
    set(object ${generated}/${instance}.emu.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} "-DCC=${TESSERA_EMU_CC}" "-DOBJCOPY=${TESSERA_OBJCOPY}" "-DFLAGS=${TESSERA_EMU_FLAGS};${TESSERA_EMU_SIZE}"
              "-DDEFINES=${defines};-DTSR_KERNEL_NAME=tsr_emu_kernel_${instance}" "-DINCLUDES=${kernel_includes}"
              "-DSOURCE=${source}" "-DOBJECT=${object}" ${emu_paths}
              "-DSYMS=${CMAKE_CURRENT_SOURCE_DIR}/src/emu/callbacks.syms" -P ${emu_script}
      DEPENDS ${source} ${kernel_headers} ${CMAKE_CURRENT_SOURCE_DIR}/src/emu/callbacks.syms ${emu_script}
      COMMENT "emulator object ${instance}"
      VERBATIM)
    list(APPEND TESSERA_KERNEL_OBJECTS ${object})
    set(watched ${generated}/${instance}.watched.o)
    add_custom_command(
      OUTPUT ${watched}
      COMMAND ${CMAKE_COMMAND} "-DCC=${TESSERA_EMU_CC}" "-DOBJCOPY=${TESSERA_OBJCOPY}" "-DFLAGS=${TESSERA_EMU_FLAGS};${TESSERA_WATCHED_FLAGS}"
              "-DDEFINES=${defines};-DTSR_KERNEL_NAME=tsr_watched_kernel_${instance}" "-DINCLUDES=${kernel_includes}"
              "-DSOURCE=${source}" "-DOBJECT=${watched}" ${emu_paths}
              "-DSYMS=${CMAKE_CURRENT_SOURCE_DIR}/src/emu/watched.syms" -P ${emu_script}
      DEPENDS ${source} ${kernel_headers} ${CMAKE_CURRENT_SOURCE_DIR}/src/emu/watched.syms ${emu_script}
      COMMENT "watched object ${instance}"
      VERBATIM)
    list(APPEND TESSERA_WATCHED_OBJECTS ${watched})
    if(tma EQUAL 2)
      set(parameters "const tsr_gemm_args args, const tsr_tensor_maps maps, const tsr_scaling scaling")
      string(APPEND emu_decls "void tsr_emu_kernel_${instance}(${parameters});\n")
      string(APPEND emu_rows "    {.instance = \"${instance}\", .kernel_scaled = tsr_emu_kernel_${instance}},\n")
      string(APPEND watched_decls "void tsr_watched_kernel_${instance}(${parameters});\n")
      string(APPEND watched_rows "    {.instance = \"${instance}\", .kernel_scaled = tsr_watched_kernel_${instance}},\n")
    elseif(tma)
      string(APPEND emu_decls
             "void tsr_emu_kernel_${instance}(const tsr_gemm_args args, const tsr_tensor_maps maps);\n")
      string(APPEND emu_rows "    {.instance = \"${instance}\", .kernel_tma = tsr_emu_kernel_${instance}},\n")
      string(APPEND watched_decls
             "void tsr_watched_kernel_${instance}(const tsr_gemm_args args, const tsr_tensor_maps maps);\n")
      string(APPEND watched_rows "    {.instance = \"${instance}\", .kernel_tma = tsr_watched_kernel_${instance}},\n")
    else()
      string(APPEND emu_decls "void tsr_emu_kernel_${instance}(const tsr_gemm_args args);\n")
      string(APPEND emu_rows "    {.instance = \"${instance}\", .kernel = tsr_emu_kernel_${instance}},\n")
      string(APPEND watched_decls "void tsr_watched_kernel_${instance}(const tsr_gemm_args args);\n")
      string(APPEND watched_rows "    {.instance = \"${instance}\", .kernel = tsr_watched_kernel_${instance}},\n")
    endif()
  endif()
endforeach()

file(CONFIGURE OUTPUT ${generated}/groups.txt CONTENT "@group_lines@" @ONLY) # for tools/machine-code
list(REMOVE_DUPLICATES groups)
foreach(group IN LISTS groups)
  set(out ${generated}/${group})
  list(JOIN members_${group} "\n" members)
  file(CONFIGURE OUTPUT ${out}.txt CONTENT "@members@\n" @ONLY)
  add_custom_command(
    OUTPUT ${out}.fatbin ${out}.report.h
    COMMAND
      ${CMAKE_COMMAND} "-DPTXAS=${TESSERA_PTXAS}" "-DFATBINARY=${TESSERA_FATBINARY}" "-DNVCC_VERSION=${TESSERA_NVCC_VERSION}"
      "-DFATBINARY_FLAGS=${TESSERA_FATBINARY_FLAGS}" "-DMERGE_PTX=${generated}/merge_ptx" "-DCUBIN_CODE=${generated}/cubin_code"
      "-DCODES=${codes_${group}}" "-DMEMBERS=${out}.txt" "-DFOLDER=${generated}" "-DOUT=${out}" "-DCACHE=${kernel_cache}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/CompileGroup.cmake
    DEPENDS ${ptx_${group}} ${out}.txt ${CMAKE_CURRENT_SOURCE_DIR}/cmake/CompileGroup.cmake
            ${CMAKE_CURRENT_SOURCE_DIR}/tools/cubin_code.c ${CMAKE_CURRENT_SOURCE_DIR}/tools/merge_ptx.c
    COMMENT "ptxas ${group}"
    VERBATIM)
  list(APPEND reports ${out}.report.h)
  string(APPEND report_includes "#include \"${group}.report.h\"\n")
  embed(tsr_code_${group} ${out}.fatbin)
endforeach()

# Tables behind src/core/device_code.h. The hardware stamps say which kernels passed on a GPU, by the hash of their machine
# code, and which nvcc made that.
set(stamps ${CMAKE_CURRENT_SOURCE_DIR}/perf/hardware.stamps)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stamps})
set(stamp_rows)
if(EXISTS ${stamps})
  file(STRINGS ${stamps} stamp_lines REGEX "^[a-z0-9_]+ [0-9a-f]+ nvcc-[0-9.]+ ")
  foreach(line IN LISTS stamp_lines)
    string(REGEX REPLACE "^([^ ]+) ([^ ]+) nvcc-([^ ]+) (.*)$"
                         "    {\"\\1\", \"\\2\", \"\\3\", \"\\4\", \"unknown: stamped with nvcc \\3\"},\n" row "${line}")
    string(APPEND stamp_rows "${row}")
  endforeach()
endif()
# Once with the code, and once without, for a command whose library has it (src/cuda/code_file.h).
foreach(table kernel_tables kernel_tables_apart)
  set(decls "${device_decls}")
  set(rows "${device_rows}")
  if(table STREQUAL kernel_tables_apart)
    set(decls)
    set(rows "${apart_rows}")
  endif()
  file(CONFIGURE OUTPUT ${generated}/${table}.c CONTENT [[/* Generated by cmake/TesseraKernels.cmake. */
#include "core/device_code.h"
@report_includes@
@decls@
const int tsr_toolkit_version = @toolkit_version@;
const char tsr_nvcc_version[] = "@nvcc_version@";
const tsr_device_code tsr_device_codes[] = {
@rows@    {0}};
const tsr_stamp tsr_stamps[] = {
@stamp_rows@    {0}};
]] @ONLY)
endforeach()
set(TESSERA_TABLES_APART ${generated}/kernel_tables_apart.c)
set(TESSERA_KERNEL_SOURCES ${generated}/kernel_tables.c)
set(TESSERA_EMU_TABLE ${generated}/emu_table.c)
file(CONFIGURE OUTPUT ${TESSERA_EMU_TABLE} CONTENT [[/* Generated by cmake/TesseraKernels.cmake. */
#include "core/device_code.h"

@emu_decls@
const tsr_emu_code tsr_emu_codes[] = {
@emu_rows@    {0}};
]] @ONLY)
if(TESSERA_EMU) # what the shared library and its file of kernels must agree on: src/emu/kernels.h
  list(JOIN TESSERA_KERNEL_OBJECTS "\n" emu_objects)
  file(CONFIGURE OUTPUT ${generated}/emu_objects.txt CONTENT "@emu_objects@\n" @ONLY)
  set(TESSERA_EMU_CALLS ${generated}/emu_calls.def ${generated}/emu_build.h)
  add_custom_command(
    OUTPUT ${TESSERA_EMU_CALLS}
    COMMAND ${CMAKE_COMMAND} "-DNM=${TESSERA_NM}" "-DOBJECTS=${generated}/emu_objects.txt" "-DVERSION=${PROJECT_VERSION}"
            "-DCALLS=${generated}/emu_calls.def" "-DBUILD=${generated}/emu_build.h"
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/EmulatorCalls.cmake
    DEPENDS ${TESSERA_KERNEL_OBJECTS} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/EmulatorCalls.cmake
    VERBATIM)
endif()
file(CONFIGURE OUTPUT ${generated}/watched_table.c CONTENT [[/* Generated by cmake/TesseraKernels.cmake. */
#include "lab/predict/watched.h"

@watched_decls@
const tsr_emu_code lab_watched_codes[] = {
@watched_rows@    {0}};
]] @ONLY)
# What nvcc made of the kernels' accesses, by instance and hash: for predictions (lab/predict/machine_code.h).
set(TESSERA_MACHINE_CODE "perf/machine_code.tsv" CACHE FILEPATH "Record of the kernels' machine code")
get_filename_component(machine_code ${TESSERA_MACHINE_CODE} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machine_code})
set(machine_rows)
if(EXISTS ${machine_code})
  file(STRINGS ${machine_code} machine_lines REGEX "^[a-z0-9_]+\t[0-9a-f]+\t")
  foreach(line IN LISTS machine_lines)
    string(REGEX MATCH "^([^\t]+)\t([^\t]+)\t([0-9]+)\t([0-9]+)\t(.*)$" row "${line}")
    set(head "\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", ${CMAKE_MATCH_3}, ${CMAKE_MATCH_4}")
    string(REGEX REPLACE "([0-9]+)\t([0-9]+)\t([0-9]+)" "{\\1, \\2, \\3}" widths "${CMAKE_MATCH_5}")
    string(REPLACE "\t" ", " widths "${widths}")
    set(row "    {${head}, ${widths}},\n")
    string(APPEND machine_rows "${row}")
  endforeach()
endif()
file(CONFIGURE OUTPUT ${generated}/machine_table.c CONTENT [[/* Generated by cmake/TesseraKernels.cmake. */
#include "lab/predict/machine_code.h"

const lab_machine_code lab_machine_codes[] = {
@machine_rows@    {0}};
]] @ONLY)
set(TESSERA_WATCHED_SOURCES ${generated}/watched_table.c ${generated}/machine_table.c)
set_source_files_properties(${generated}/kernel_tables.c ${TESSERA_TABLES_APART} PROPERTIES OBJECT_DEPENDS "${reports}")

if(TESSERA_HAVE_NVCC)
  string(APPEND asm_text "    .section .note.GNU-stack,\"\",%progbits\n")
  file(CONFIGURE OUTPUT ${generated}/fatbins.S CONTENT "${asm_text}" @ONLY)
  list(APPEND TESSERA_KERNEL_SOURCES ${generated}/fatbins.S)
  set_source_files_properties(${generated}/fatbins.S PROPERTIES OBJECT_DEPENDS "${fatbins}")
endif()
if(TESSERA_KERNEL_OBJECTS)
  set_source_files_properties(${TESSERA_KERNEL_OBJECTS} ${TESSERA_WATCHED_OBJECTS} PROPERTIES EXTERNAL_OBJECT ON
                                                                                              GENERATED ON)
endif()
add_custom_target(tessera_kernels DEPENDS ${TESSERA_KERNEL_OBJECTS} ${TESSERA_EMU_CALLS} ${TESSERA_WATCHED_OBJECTS} ${fatbins} ${reports} ${ptx_files})
