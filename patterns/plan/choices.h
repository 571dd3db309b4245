// Choices: how a kernel is lowered, where that is free. They say how fast a kernel runs and nothing of what it makes, so files do
// not depend on them. Which values a kernel may have follows from its form (codegen/simt/simt_choices.h); here they are only
// data.
#ifndef ZF_SCHEDULER_CHOICES_H
#define ZF_SCHEDULER_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

typedef enum zf_choice_kind {
    ZF_CHOICE_L,         ///< of maps: vectors that a thread makes; of scans: rows whose shuffles are under way together; of
                         ///< chunks that warps walk: how many a warp has
    ZF_CHOICE_C,         ///< neighbours that a thread makes, and stores, together
    ZF_CHOICE_THREADS,   ///< of a thread block: S
    ZF_CHOICE_REGISTERS, ///< of a thread, at most; 0: as many as the assembler likes
    ZF_CHOICE_WALK,      ///< threads that walk a chunk without lanes: 1, or 32
    ZF_CHOICE_STAGE,     ///< what of packed words is copied to shared memory at once: zf_simt_stage_way
    ZF_CHOICE_AHEAD,     ///< 1: what a tile reads of streams is asked for from memory before its first element is made; of maps
                         ///< that take bits at known places: by a tile that is made long before
    ZF_CHOICE_TABLE,     ///< KiB of shared memory for streams that are looked up at indices which data say
    ZF_CHOICE_KINDS
} zf_choice_kind;

enum {
    ZF_CHOICE_MOST = 4096,   ///< the largest value of any
    ZF_CHOICES_KERNELS = 64, ///< for which one text may choose
};

/// What was chosen for one kernel; all zeroes: nothing, so that all is as the kernel's form has it.
typedef struct zf_choice {
    uint32_t chosen; ///< bit k: kind k
    uint32_t values[ZF_CHOICE_KINDS];
} zf_choice;

/// For the kernels of a plan, by their numbers.
typedef struct zf_choices {
    uint32_t count;
    uint32_t kernels[ZF_CHOICES_KERNELS]; ///< each once
    zf_choice of[ZF_CHOICES_KERNELS];
} zf_choices;

/// "THREADS".
extern const char *const zf_choice_names[ZF_CHOICE_KINDS];

bool zf_is_chosen(const zf_choice *choice, zf_choice_kind kind);
/// What was chosen, or `fallback` where nothing was.
uint32_t zf_choice_value(const zf_choice *choice, zf_choice_kind kind, uint32_t fallback);
void zf_choose(zf_choice *choice, zf_choice_kind kind, uint32_t value);
/// For kernel `number`; NULL: nothing. `choices` may be NULL.
const zf_choice *zf_choices_find(const zf_choices *choices, uint32_t number);

/// Reads `0:THREADS=128,L=8,1:REGISTERS=40`: the number of a kernel before the first of its choices, names in upper or lower
/// case, each once a kernel. False, with what is wrong in `message`, for any other text. Whether kernels may have the values is
/// not asked.
bool zf_choices_read(const char *text, zf_choices *out, zf_text *message);
/// As the plan's text has them: "L 8, THREADS 128".
void zf_choice_print(const zf_choice *choice, zf_text *out);
/// As zf_choices_read takes it behind a kernel's number: "L=4,THREADS=128"; "default" where nothing is chosen.
void zf_choice_text(const zf_choice *choice, zf_text *out);

#endif
