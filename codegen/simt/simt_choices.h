// The choices (patterns/plan/choices.h) of accelerators' kernels. This is the one place that defines them: choices from a
// person, and those that a search tries, are both checked here. Every legal choice makes the same bytes of the requested rows,
// and the same errors of whole blocks. A tile that a range of rows cuts is checked whole, and its length may be a choice. One
// choice may therefore report a violation in a row that was not requested, and another not.
#ifndef ZF_CODEGEN_SIMT_CHOICES_H
#define ZF_CODEGEN_SIMT_CHOICES_H

#include "codegen/simt/simt.h"
#include "runtime/base/error.h"
#include "runtime/base/private.h"

enum { ZF_CHOICE_VALUES = 16 };

/// The values that a kernel may have, by kind, ascending. Not all of their combinations are legal: zf_choice_is_legal.
struct zf_choice_space {
    uint32_t kernel;
    zf_simt_form form;
    uint32_t counts[ZF_CHOICE_KINDS]; ///< 0: the form has no such choice
    uint32_t values[ZF_CHOICE_KINDS][ZF_CHOICE_VALUES];
    uint32_t least_tile;     ///< outputs of a tile, at least; 0: any number
    uint32_t staged_outputs; ///< what STAGE copies at once must be a multiple of so many outputs; 0: any number
    zf_choice otherwise;     ///< what is where nothing is chosen; of kinds that are not in it the code decides case by case
};

/// The forms (forms/forms.def) add their choices by these: values, powers of two, 0..most.
void zf_choice_allow(zf_choice_space *space, zf_choice_kind kind, uint32_t value);
void zf_choice_allow_powers(zf_choice_space *space, zf_choice_kind kind, uint32_t least, uint32_t most);
void zf_choice_allow_up_to(zf_choice_space *space, zf_choice_kind kind, uint32_t most);
/// Neighbours that a thread makes together (C).
void zf_choice_allow_together(zf_choice_space *space, zf_type type);
/// Whether the kernel prefetches (AHEAD); by default as `shape` has it.
void zf_choice_allow_prefetch(zf_choice_space *space, const zf_simt_shape *shape);
/// The most threads of a thread block that makes a tile of groups, and no fewer than `least`.
uint32_t zf_choice_threads_of_tile(const zf_plan *plan, const zf_kernel *kernel, uint32_t least);

/// Fills the space of a kernel of a plan for an accelerator, whatever is chosen for it, with the form that it has by default.
ZF_PRIVATE_API void zf_choice_space_of(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *out);
/// Whether a kernel may be lowered so; if not, why is appended to `reason` (NULL: not wanted).
ZF_PRIVATE_API bool zf_choice_is_legal(const zf_choice_space *space, const zf_choice *choice, zf_text *reason);
/// Whether all kernels of a plan made with `choices` may be lowered so, and they are of kernels that it has. With nothing chosen
/// for the host's: code for it is made as if nothing were.
bool zf_choices_are_legal(const zf_plan *plan, const zf_choices *choices, zf_text *reason);
/// The same, ZF_ERR_USAGE naming the column where they may not.
zf_status zf_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error);
/// Lists the kernels of a plan for an accelerator, and what may be chosen for each: text, or an object of JSON.
void zf_choices_text(const zf_plan *plan, zf_text *out);
void zf_choices_json(const zf_plan *plan, zf_text *out);

/// Whether a kernel's elements take bits of a stream at places that data say, so that loads wait for loads.
bool zf_simt_takes_places(const zf_plan *plan, const zf_kernel *kernel);

#endif
