// The line on a terminal that a column is being compiled, which users would take for a hang.
#ifndef ZF_ZFC_COMPILING_LINE_H
#define ZF_ZFC_COMPILING_LINE_H

#include "zipflow/compile.h"

/// Begins to watch a compiler, before it compiles. After half a second of compiling, all columns together, a line on standard
/// error names a column that is being compiled; it goes when none is. Call it once, where standard error is a terminal.
void zf_compiling_line_start(zf_compiler *compiler);
/// Ends watching, while nothing is compiled. Nothing happens where it did not begin.
void zf_compiling_line_stop(void);

/// Takes the line away while something else is printed, until zf_compiling_line_resume. Any thread.
void zf_compiling_line_pause(void);
void zf_compiling_line_resume(void);

#endif
