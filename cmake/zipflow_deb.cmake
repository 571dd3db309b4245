# A Debian package of this build: `cpack -G DEB`, which script/deb calls for the preset `deb`. Needs dpkg-shlibdeps (dpkg-dev), which
# finds the packages of the libraries that it needs, LLVM's among them, and their versions.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME zipflow)
set(CPACK_PACKAGE_VENDOR zipflow)
set(CPACK_PACKAGE_CONTACT "zipflow maintainers <maintainers@zipflow.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compressed columns of data, decoded fast on CPUs and GPUs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "zipflow is a compiler and a runtime for compressed columns of data.
A codec is a few lines of text, from which the compiler makes an encoder
and decoders for CPUs and NVIDIA GPUs. Nested codecs decode in one kernel.
.
This package has the command zfc, the C libraries and their headers, and
the library of codecs. A GPU needs its driver only.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "liblz4-1, libsnappy1v5") # which compiler/encoders opens if they are installed
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)

# Before 1.0 each minor version has an interface of its own under the same SONAME (docs/compatibility.md).
set(control ${CMAKE_BINARY_DIR}/deb-control)
math(EXPR next "${PROJECT_VERSION_MINOR} + 1")
set(shlibs "")
foreach(library zipflow zipflow-compile zipflow-tune zipflow-emulator)
  string(APPEND shlibs "lib${library} ${PROJECT_VERSION_MAJOR} zipflow (>= ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}), "
    "zipflow (<< ${PROJECT_VERSION_MAJOR}.${next}~)\n")
endforeach()
file(WRITE ${control}/shlibs "${shlibs}")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)

# The two documents that each package of Debian has.
set(documents ${CMAKE_BINARY_DIR}/deb-documents)
file(WRITE ${documents}/changelog "zipflow (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  Mon, 01 Jan 2024 00:00:00 +0000
")
find_program(ZF_GZIP gzip)
mark_as_advanced(ZF_GZIP)
if(ZF_GZIP)
  execute_process(COMMAND ${ZF_GZIP} -9nf ${documents}/changelog)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/cmake/deb_copyright DESTINATION share/doc/zipflow RENAME copyright COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES ${documents}/changelog.gz DESTINATION share/doc/zipflow COMPONENT deb EXCLUDE_FROM_ALL)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};zipflow;ALL;/;${CMAKE_BINARY_DIR};zipflow;deb;/")
include(CPack)
