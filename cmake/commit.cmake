# Writes HEADER with the commit that SOURCE is at, "-dirty" after it when tracked files differ, or "unknown" where SOURCE is no
# git checkout of its own. Usage: cmake -DSOURCE=... -DHEADER=... -P commit.cmake
set(commit "unknown")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed EQUAL 0 AND prefix STREQUAL "")
  execute_process(COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0)
    set(commit "${described}")
  endif()
endif()
set(text "#define ZF_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${HEADER} "${text}")
endif()
