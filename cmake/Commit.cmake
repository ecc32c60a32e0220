# Writes OUT, which defines LAB_COMMIT: the commit of SOURCE, "-dirty" appended if tracked files differ from it, or
# "unknown" outside a repository. Runs at each build; OUT is touched only when its contents change.
cmake_minimum_required(VERSION 3.22)
set(commit "unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE head
                  RESULT_VARIABLE result ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  # An unpacked archive may lie inside someone else's repository.
  file(REAL_PATH "${SOURCE}" source)
  if(result EQUAL 0 AND top STREQUAL source)
    set(commit ${head})
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit "-dirty")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define LAB_COMMIT \"@commit@\"\n" @ONLY)
