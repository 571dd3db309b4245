#include "compiler/module/branches.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"

typedef struct reached {
    const zf_codec_choice **choices; ///< in pre-order, those with several alternatives
    size_t count, room;
} reached;

static bool reach(reached *r, const zf_codec_choice *choice, const uint8_t *branches) {
    uint32_t branch = choice->count > 1 ? branches[choice->index] : 0;
    const zf_codec_node *node = branch < choice->count ? choice->alternatives[branch] : NULL;
    if (node == NULL || node->inst == NULL) return false;
    if (choice->count > 1) {
        if (r->count == r->room) return false;
        r->choices[r->count++] = choice;
    }
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        if (node->streams[s] != NULL && !reach(r, node->streams[s], branches)) return false;
    }
    return true;
}

zf_status zf_branches_next(const zf_column *column, uint8_t *branches, bool *more, zf_error *error) {
    reached r = {.choices = calloc(column->choice_count + 1u, sizeof(zf_codec_choice *)), .room = column->choice_count};
    *more = false;
    if (r.choices == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for alternatives");
    bool good = reach(&r, column->codec, branches);
    // The last choice counts up first. Changing a choice may make the choices behind it in pre-order unreachable.
    while (good && r.count > 0 && !*more) {
        const zf_codec_choice *choice = r.choices[--r.count];
        *more = branches[choice->index] + 1u < choice->count;
        branches[choice->index] = *more ? (uint8_t)(branches[choice->index] + 1) : 0;
    }
    free(r.choices);
    if (good) return ZF_OK;
    return zf_raise(error, ZF_E_INTERNAL, "the codec of column `%s` is not whole", column->name);
}
