# LLVM for programs that take it along (ZF_STATIC). Sets `zf_llvm_archives`, LLVM's archives with all that they need, and
# `zf_llvm_libs`, what a target that uses LLVM links: the archives where it has the property ZF_LLVM_INSIDE, else one shared
# library made from them, so that many programs packed together hold LLVM once.
#
# LLVM's CMake files are not asked: they want a development package of everything that any part of LLVM can use. Its
# llvm-config gives the archives of the parts that codegen/ needs, and those use zlib and zstd only.
execute_process(COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles core passes orcjit native nvptx asmparser bitwriter
  OUTPUT_VARIABLE zf_llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(zf_llvm_archives UNIX_COMMAND "${zf_llvm_archives}")
foreach(name z zstd)
  find_library(zf_static_${name} lib${name}.a REQUIRED)
  list(APPEND zf_llvm_archives ${zf_static_${name}})
endforeach()
# libstdc++ by its file: a C compiler links, and `-lstdc++` would take the shared one.
list(APPEND zf_llvm_archives -l:libstdc++.a -static-libgcc m dl)

if(ZF_FUZZ) # each program holds LLVM: a library made of instrumented objects would need the sanitizers' runtimes
  set(zf_llvm_libs ${zf_llvm_archives})
  return()
endif()

# The C interface of LLVM, as far as codegen/ refers to it: its sources are in the library only to pull in what they use.
add_library(zf-llvm SHARED ${codegen_sources})
set_target_properties(zf-llvm PROPERTIES LINKER_LANGUAGE C)
target_include_directories(zf-llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(zf-llvm PRIVATE zipflow-patterns zipflow-runtime ${zf_llvm_archives})
target_link_options(zf-llvm PRIVATE LINKER:--gc-sections LINKER:--no-undefined
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports_llvm.map)
set(zf_llvm_libs "$<IF:$<BOOL:$<TARGET_PROPERTY:ZF_LLVM_INSIDE>>,${zf_llvm_archives},zf-llvm>")
