# Writes CALLS, the functions that the kernel objects in the file OBJECTS call, as lines X(name), and BUILD, a header with
# the version and a hash of all objects: a library and a file of kernels that belong together have the same.
file(STRINGS ${OBJECTS} objects)
execute_process(
  COMMAND ${NM} -u ${objects}
  OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "U tsr_emu_[a-z0-9_]+" names "${text}")
list(REMOVE_DUPLICATES names)
list(REMOVE_ITEM names "U tsr_emu_init") # called while the file is loaded: src/emu/module/kernel_file.c has one of its own
list(SORT names)
list(TRANSFORM names REPLACE "^U (.*)$" "X(\\1)\n")
list(JOIN names "" names)
set(all "${names}")
foreach(object IN LISTS objects)
  file(SHA256 ${object} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${CALLS} "${names}")
file(WRITE ${BUILD} "#define TSR_EMU_BUILD \"${VERSION} ${hash}\"\n")
