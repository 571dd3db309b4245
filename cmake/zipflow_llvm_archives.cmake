# Sets `zf_llvm_archives`, LLVM's archives with all of theirs that codegen/ needs, but for the C++ runtime; empty where they are not
# installed.
#
# LLVM's CMake files are not asked: they want a development package of everything that any part of LLVM can use. Its
# llvm-config gives the archives of the parts that codegen/ needs, and those use zlib and zstd only.
execute_process(COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles core passes orcjit native nvptx asmparser bitwriter
  OUTPUT_VARIABLE zf_llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
separate_arguments(zf_llvm_archives UNIX_COMMAND "${zf_llvm_archives}")
foreach(name z zstd)
  find_library(zf_static_${name} lib${name}.a)
  list(APPEND zf_llvm_archives ${zf_static_${name}})
  if(NOT zf_static_${name})
    set(failed 1)
  endif()
endforeach()
if(NOT failed EQUAL 0)
  set(zf_llvm_archives "")
endif()
