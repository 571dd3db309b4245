// The operands of `zfc tune`: containers, and programs whose columns are generated.
#ifndef ZF_ZFC_TUNE_OPERANDS_H
#define ZF_ZFC_TUNE_OPERANDS_H

#include "zfc/program_operand.h"

typedef struct zf_tune_operand {
    const char *text; ///< as the command line has it
    bool is_program;
    zf_program_name name; ///< of a program
    zf_program *program;  ///< loaded once; may be there although `failure` says what is wrong with it
    zf_error failure;     ///< of loading it; status ZF_OK: none
} zf_tune_operand;

typedef struct zf_tune_operands {
    zf_tune_operand *items;
    size_t count;
} zf_tune_operands;

/// Reads the operands and loads the programs among them. A program that cannot be loaded fails when it is tuned. Free `out` with
/// zf_tune_operands_free, also after an error. ZF_ERR_USAGE, after printing, where one is neither.
zf_status zf_tune_operands_read(zf_compiler *compiler, const zf_arguments *arguments, zf_tune_operands *out, zf_error *error);
void zf_tune_operands_free(zf_tune_operands *operands);

/// Returns the table of a program that an operand names, or NULL after filling `error`.
const zf_table *zf_tune_operand_table(const zf_tune_operand *operand, zf_error *error);
/// Returns the number of columns of an operand, among which time is shared; 1 where it cannot be read.
size_t zf_tune_operand_columns(zf_context *context, const zf_tune_operand *operand);

/// Checks that `output` is none of the files that are read: operands, what programs import, and `known` (may be NULL). ZF2014.
zf_status zf_tune_operands_guard(const zf_tune_operands *operands, const char *known, const char *output, zf_error *error);

#endif
