// Choices of how a kernel is lowered on a GPU. They change a kernel's speed and never its result, so files do not depend on them.
// A kernel's form decides which values it may have (zf_codegen_space); here they are only data.
#ifndef ZF_PATTERNS_CHOICES_H
#define ZF_PATTERNS_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

typedef enum zf_choice_kind {
    ZF_CHOICE_L,       ///< maps: vectors per thread; scans: rows with shuffles in flight; chunks that warps walk: chunks per warp
    ZF_CHOICE_C,       ///< contiguous elements that a thread makes and stores at a time
    ZF_CHOICE_THREADS, ///< threads of a thread block: S
    ZF_CHOICE_REGISTERS, ///< register limit of a thread; 0: the assembler's choice
    ZF_CHOICE_WALK,      ///< threads that walk a chunk without lanes: 1 or 32
    ZF_CHOICE_STAGE,     ///< how packed words are copied to shared memory: zf_simt_stage_way
    ZF_CHOICE_PREFETCH,  ///< 1: a tile prefetches the elements that it reads; a map of packed bits prefetches for a later tile
    ZF_CHOICE_TABLE,     ///< KiB of shared memory for streams that are gathered from
    ZF_CHOICE_RECORDS,   ///< 0: none; a walk notes what it emits in records: 1: all lanes walk together, 2: they guess steps
    ZF_CHOICE_WARPS,     ///< of a chunk with records: 1, or one that walks it and others that make its elements: 2, 4, 8
    ZF_CHOICE_KINDS
} zf_choice_kind;

enum {
    ZF_CHOICE_MOST = 4096,   ///< largest value of any choice
    ZF_CHOICES_KERNELS = 64, ///< kernels that one text may name
};

/// The choices of one kernel; all zeroes: every default of its form.
typedef struct zf_choice {
    uint32_t chosen; ///< bit k: kind k
    uint32_t values[ZF_CHOICE_KINDS];
} zf_choice;

/// The choices of a plan's kernels, by their numbers.
typedef struct zf_choices {
    uint32_t count;
    uint32_t kernels[ZF_CHOICES_KERNELS]; ///< each once
    zf_choice of[ZF_CHOICES_KERNELS];
} zf_choices;

/// "THREADS".
extern const char *const zf_choice_names[ZF_CHOICE_KINDS];

bool zf_is_chosen(const zf_choice *choice, zf_choice_kind kind);
/// Returns the chosen value, or `fallback` where the kind is not chosen.
uint32_t zf_choice_value(const zf_choice *choice, zf_choice_kind kind, uint32_t fallback);
void zf_choose(zf_choice *choice, zf_choice_kind kind, uint32_t value);
/// Returns the choices of kernel `number`; NULL: it has none. `choices` may be NULL.
const zf_choice *zf_choices_find(const zf_choices *choices, uint32_t number);

/// Reads `0:THREADS=128,L=8,1:REGISTERS=40`: a kernel's number stands before its first choice. Names are in upper or lower case,
/// each once a kernel. Returns false with a reason in `message` for any other text. Does not check whether kernels may have the
/// values.
bool zf_choices_read(const char *text, zf_choices *out, zf_text *message);
/// Prints choices as the plan's text has them: "L 8, THREADS 128".
void zf_choice_print(const zf_choice *choice, zf_text *out);
/// Prints choices as zf_choices_read reads them after a kernel's number: "L=4,THREADS=128"; "default" where nothing is chosen.
void zf_choice_text(const zf_choice *choice, zf_text *out);

#endif
