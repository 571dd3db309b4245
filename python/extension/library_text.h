// The text of the table of library.h, of the version and the functions that a module was compiled with.
#ifndef ZF_PYTHON_LIBRARY_TEXT_H
#define ZF_PYTHON_LIBRARY_TEXT_H

#define ZF_BRIDGE(name) " " #name
static const char library_text[] = ZF_PY_VERSION ":"
#include "python/extension/library.def"
    ;
#undef ZF_BRIDGE

#endif
