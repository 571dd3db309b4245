#include "tests/differential/diff_choose.h"

#include <stdlib.h>

enum { FORMS = ZF_SIMT_FORMS };

struct diff_choosing {
    uint32_t next[FORMS]; // kernels of the form that were met, from the seed on
    uint32_t chosen[FORMS][ZF_CHOICE_KINDS][ZF_CHOICE_MOST + 1];
};

diff_choosing *diff_choosing_make(uint64_t seed) {
    diff_choosing *choosing = calloc(1, sizeof *choosing);
    for (unsigned f = 0; f < FORMS; f++) choosing->next[f] = (uint32_t)seed * 5;
    return choosing;
}

void diff_choose(diff_choosing *choosing, const zf_plan *plan, zf_choices *out) {
    *out = (zf_choices){0};
    for (uint32_t k = 0; k < plan->kernel_count && k < ZF_CHOICES_KERNELS; k++) {
        zf_choice_space space = zf_codegen_space(plan, &plan->kernels[k]);
        zf_simt_form form = zf_simt_shape_of(plan, &plan->kernels[k]).form;
        zf_choice choice;
        do { // THREADS by turns, and the others beside them so that in time all pairs come by
            bool free = space.counts[ZF_CHOICE_L] > 1 || space.counts[ZF_CHOICE_C] > 1 || space.counts[ZF_CHOICE_THREADS] > 1;
            uint32_t number = choosing->next[form], threads = space.counts[ZF_CHOICE_THREADS];
            if (free) choosing->next[form]++;
            choice = (zf_choice){0};
            for (unsigned c = 0; c < ZF_CHOICE_KINDS; c++) {
                uint32_t count = space.counts[c], turn = c == ZF_CHOICE_THREADS ? number : number + number / threads * (c + 1);
                if (count > 0 && c != ZF_CHOICE_REGISTERS) zf_choose(&choice, (zf_choice_kind)c, space.values[c][turn % count]);
            }
            if (choice.values[ZF_CHOICE_WARPS] > 1) { // the warps of a chunk are a thread block
                choice.chosen &= ~(UINT32_C(1) << ZF_CHOICE_THREADS);
                choice.values[ZF_CHOICE_THREADS] = 0;
            }
        } while (!zf_choice_space_allows(&space, &choice, NULL));
        for (unsigned c = 0; c < ZF_CHOICE_KINDS; c++) {
            if (!zf_is_chosen(&choice, (zf_choice_kind)c) || space.counts[c] == 1) continue;
            choosing->chosen[form][c][choice.values[c]]++;
        }
        out->kernels[out->count] = k;
        out->of[out->count++] = choice;
    }
}

void diff_choose_warps(const zf_plan *plan, uint32_t warps, zf_choices *out) {
    *out = (zf_choices){0};
    for (uint32_t k = 0; k < plan->kernel_count && k < ZF_CHOICES_KERNELS; k++) {
        zf_choice_space space = zf_codegen_space(plan, &plan->kernels[k]);
        zf_choice choice = {0};
        zf_choose(&choice, ZF_CHOICE_WARPS, warps);
        if (!zf_choice_space_allows(&space, &choice, NULL)) continue;
        out->kernels[out->count] = k;
        out->of[out->count++] = choice;
    }
}

void diff_choosing_list(const diff_choosing *choosing, zf_text *out) {
    for (unsigned f = 0; f < FORMS; f++) {
        for (unsigned c = 0; c < ZF_CHOICE_KINDS; c++) {
            bool any = false;
            for (uint32_t v = 0; v <= ZF_CHOICE_MOST; v++) {
                uint32_t times = choosing->chosen[f][c][v];
                if (times == 0) continue;
                if (!any) zf_text_printf(out, "%s %s:", zf_form_of((zf_simt_form)f)->name, zf_choice_names[c]);
                zf_text_printf(out, " %u (%u)", v, times);
                any = true;
            }
            if (any) zf_text_puts(out, "\n");
        }
    }
}
