# LLVM for programs that take it along (ZF_STATIC). Adds the C++ runtime to `zf_llvm_archives`, and sets `zf_llvm_libs`, what a
# target that uses LLVM links: the archives where it has the property ZF_LLVM_INSIDE, else one shared library made from them, so
# that many programs packed together hold LLVM once.
if(NOT zf_llvm_archives)
  message(FATAL_ERROR "ZF_STATIC needs the archives of LLVM, zlib and zstd (llvm-19-dev, zlib1g-dev, libzstd-dev)")
endif()
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
