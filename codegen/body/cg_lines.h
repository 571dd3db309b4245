// Places in the `.zf` text that generated code came from: the line and column of each instruction of a kernel. An instruction
// gets the place that the builder stands for when it is made. Bodies set it, expression by expression (cg_expr.c, cg_stmt.c);
// what a lowering makes around them stands for the algorithm at the kernel's root.
//
// There is no debugger's information: a `debug` target would make ptxas compile without optimisation. PTX gets `.file` and
// `.loc`, which cost no register; the emulator's calls get numbers (runtime/base/abi.h), and its module is stripped of the rest.
// Modules of the host have no places: cg->lines is NULL, and the functions here do nothing.
#ifndef ZF_CODEGEN_CG_LINES_H
#define ZF_CODEGEN_CG_LINES_H

#include "codegen/body/cg.h"

/// Begins a module with places. `nameless`: what texts are called that lie in no file, such as a container's.
void zf_cg_lines_begin(zf_cg *cg, const char *nameless);
/// Ends it: before the module is verified. `kept`: PTX will have the places; else they leave the module.
void zf_cg_lines_end(zf_cg *cg, bool kept);
/// Makes the instructions that follow belong to `v_function`, called `name`, and to `span`, until the next call.
void zf_cg_lines_function(zf_cg *cg, LLVMValueRef v_function, const char *name, zf_span span);

/// Stands for `span` from now on, unless it has no source. Gives what was before: for zf_cg_lines_leave.
LLVMMetadataRef zf_cg_lines_enter(zf_cg *cg, zf_span span);
void zf_cg_lines_leave(zf_cg *cg, LLVMMetadataRef before);

/// The number of a place as runtime/base/abi.h has it: of where the builder stands, of an instruction. 0: none.
uint32_t zf_cg_lines_here(zf_cg *cg);
uint32_t zf_cg_lines_of(zf_cg *cg, LLVMValueRef v_instruction);
/// The paths of the sources that those numbers mean, by number; ZF_ABI_FILES_MOST + 1 of them, NULL where there is none. The
/// array is the arena's, the paths are the sources'.
const char *const *zf_cg_lines_files(zf_cg *cg);

#endif
