// Forms: the ways in which a kernel runs on a GPU. forms.def is their table; a kernel runs as the first form that fits it.
#ifndef ZF_CODEGEN_FORMS_H
#define ZF_CODEGEN_FORMS_H

#include "patterns/plan/plan.h"

typedef struct zf_kernel_build zf_kernel_build;
typedef struct zf_choice_space zf_choice_space;
typedef struct zf_codegen_form_info zf_codegen_form_info;

/// The forms, in the order of forms.def.
typedef enum zf_simt_form {
#define ZF_FORM(ID, name, slow, parallel, use, tile, codecs) ZF_SIMT_##ID,
#include "codegen/simt/forms/forms.def"
#undef ZF_FORM
    ZF_SIMT_FORMS ///< number of forms
} zf_simt_form;

/// How the thread blocks of a kernel are launched.
typedef struct zf_simt_shape {
    zf_simt_form form;
    uint32_t threads, tiles; ///< of a thread block
    uint32_t warp;           ///< lanes that work together: a wave of the target, or half of one
    uint32_t span;           ///< tiles of one block that stand for each of these; 0 or 1: that tile alone
    uint32_t shared_bytes;
    uint32_t bitmap_bytes; ///< of shared_bytes those of a warp's rows, which are first (simt_row_bitmap.h)
    uint32_t array_bytes;  ///< of shared_bytes those of a warp's local arrays, which are last (simt_arrays.h)
    uint32_t stage;        ///< of a scan, zf_simt_stage_way (simt_staging.h): what each warp copies to shared memory
    uint32_t registers;    ///< limit for each thread, so that more threads run at once; 0: no limit
    bool slow;             ///< the kernel has the slow path of its form
    bool prefetch;         ///< the kernel prefetches what a tile reads (simt_prefetch_tile.h)
} zf_simt_shape;

/// One form: a row of forms.def.
typedef struct zf_form {
    const char *name; ///< "map"
    const char *use;  ///< what it runs, for users
    const char *tile; ///< who makes a tile, for users
    bool parallel;    ///< false: one thread makes a whole tile or chunk
    /// Returns whether the form can run the kernel, if no form before it can.
    bool (*fits)(const zf_plan *plan, const zf_kernel *kernel);
    /// Returns the thread blocks of a kernel that the form fits.
    zf_simt_shape (*shape)(const zf_plan *plan, const zf_kernel *kernel);
    /// Adds to `space` the choices that only this form has. `kernel` has none set; `shape` is its default.
    void (*choices)(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space);
    /// Emits the kernel's body, between its first block and zf_kernel_build.bb_leave.
    void (*emit)(zf_kernel_build *lower, const zf_simt_shape *shape);
    /// Emits the body of the slow path, which makes the thread block's tiles by one thread each; NULL: the form has none.
    void (*emit_slow)(zf_kernel_build *lower, const zf_simt_shape *shape);
} zf_form;

/// Returns the row of a form.
const zf_form *zf_form_of(zf_simt_form form);

/// Returns the form and the thread blocks of a kernel, with its choices. Depends on nothing but the plan.
zf_simt_shape zf_simt_shape_of(const zf_plan *plan, const zf_kernel *kernel);

/// The steps of a kernel, as far as they decide about its form.
typedef struct zf_form_steps {
    bool scans, warp; ///< it has scans; a warp can make all of them
    bool segmented;   ///< one of them is segmented
    uint32_t expansions;
} zf_form_steps;
zf_form_steps zf_form_steps_of(const zf_plan *plan, const zf_kernel *kernel);
/// Returns the elements of a row of a warp: a tile of scans or groups must be whole rows.
uint32_t zf_form_row(const zf_plan *plan, const zf_kernel *kernel);
/// Returns whether the kernel makes elements along which no groups run: those of maps and scans.
bool zf_form_makes_elements(const zf_plan *plan, const zf_kernel *kernel);
/// Returns whether the kernel makes groups of one stage without scans.
bool zf_form_makes_groups(const zf_plan *plan, const zf_kernel *kernel);
/// Returns the bytes of shared memory in which a warp puts the strings of a column together; 0: the kernel copies none.
uint32_t zf_form_text_bytes(const zf_plan *plan, const zf_kernel *kernel);

#define ZF_FORM(ID, name, slow, parallel, use, tile, codecs)                                                                     \
    bool zf_form_##name##_fits(const zf_plan *plan, const zf_kernel *kernel);                                                    \
    zf_simt_shape zf_form_##name##_shape(const zf_plan *plan, const zf_kernel *kernel);                                          \
    void zf_form_##name##_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape,                      \
                                  zf_choice_space *space);                                                                       \
    void zf_form_##name##_emit(zf_kernel_build *lower, const zf_simt_shape *shape);
#include "codegen/simt/forms/forms.def"
#undef ZF_FORM
/// Returns why the lanes of an algorithm cannot be those of a warp; NULL: they can, or it has none.
const char *zf_form_lanes_refusal(const zf_inst *inst);
/// Adds the choices of a kernel of chunks without lanes: how many threads walk a chunk, and how many chunks they have.
void zf_form_allow_walk(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space);
/// Threads of a block that there is shared memory for, if the kernel may have records.
uint32_t zf_form_records_threads(const zf_plan *plan, const zf_kernel *kernel);
/// Adds the choice whether a kernel of chunks has records, and how its steps are walked then.
void zf_form_allow_records(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *space);
/// Tells how the warps of a kernel of chunks walk them.
void zf_form_records_walk(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out);
/// Returns how a warp shares the elements of a chunk that it walks.
struct zf_chunk_ops zf_form_warp_ops(void);
void zf_form_records_slow(zf_kernel_build *lower, const zf_simt_shape *shape);
void zf_form_lanes_slow(zf_kernel_build *lower, const zf_simt_shape *shape);
void zf_form_numbers_slow(zf_kernel_build *lower, const zf_simt_shape *shape);
void zf_form_words_slow(zf_kernel_build *lower, const zf_simt_shape *shape);
void zf_form_groups_slow(zf_kernel_build *lower, const zf_simt_shape *shape);

#endif
