# What was compiled before is taken from CACHE, a folder that all build trees of a checkout share, by the hash of all that
# went into it: `make clean` empties it, and TESSERA_KERNEL_CACHE in the environment names another one. A file appears
# there whole or not at all, so that builds may run side by side.

# Copies KEY.SUFFIX from the cache to each FILE; sets `found` to OFF unless all of them were there.
macro(kernel_cache_get key)
  set(found ON)
  foreach(file ${ARGN})
    get_filename_component(suffix ${file} EXT)
    set(cached ${CACHE}/${key}${suffix})
    if(NOT EXISTS ${cached})
      set(found OFF)
    endif()
  endforeach()
  if(found)
    foreach(file ${ARGN})
      get_filename_component(suffix ${file} EXT)
      file(COPY_FILE ${CACHE}/${key}${suffix} ${file} RESULT copied)
      if(NOT copied EQUAL 0)
        set(found OFF)
      endif()
      file(TOUCH ${file})
    endforeach()
  endif()
endmacro()

# A cache that cannot be written is none.
macro(kernel_cache_put key)
  string(RANDOM LENGTH 12 unique)
  execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${CACHE} RESULT_VARIABLE ignored ERROR_QUIET)
  foreach(file ${ARGN})
    get_filename_component(suffix ${file} EXT)
    file(COPY_FILE ${file} ${CACHE}/${unique} RESULT copied)
    if(copied EQUAL 0)
      file(RENAME ${CACHE}/${unique} ${CACHE}/${key}${suffix} RESULT ignored)
    endif()
  endforeach()
endmacro()
