# How every library, program and test of the project is compiled.
add_library(zf_flags INTERFACE)
target_include_directories(zf_flags INTERFACE ${CMAKE_SOURCE_DIR}
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/emulator/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/compiler/include>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/tuner/include>)
target_compile_options(zf_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -fno-strict-aliasing)
target_compile_definitions(zf_flags INTERFACE _GNU_SOURCE)
if(ZF_SANITIZE)
  target_compile_options(zf_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(zf_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(zf_flags INTERFACE ZF_SANITIZE=1)
  # clang marks functions by words before their code, which generated ones do not have.
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    target_compile_options(zf_flags INTERFACE -fno-sanitize=function)
  endif()
  # Generated code is instrumented too, and finds the sanitizer's runtime in the program.
  set(CMAKE_ENABLE_EXPORTS ON)
endif()
if(ZF_FUZZ)
  target_compile_options(zf_flags INTERFACE -fsanitize=fuzzer-no-link) # coverage of all rooms; main is libFuzzer's in tests/fuzz alone
endif()

if(ZF_SANITIZE_THREADS)
  target_compile_options(zf_flags INTERFACE -fsanitize=thread)
  target_link_options(zf_flags INTERFACE -fsanitize=thread)
endif()

# zf_component(name sources...): a static library of one directory, which programs and the shared libraries are made from.
function(zf_component name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC zf_flags)
endfunction()
