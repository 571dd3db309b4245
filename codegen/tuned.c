#include "codegen/tuned.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/kernel_shape.h"
#include "codegen/simt_choices.h"

static void free_kernel(zf_tuned_kernel *kernel) { free(kernel->shape); }

void zf_tuned_free(zf_tuned *tuned) {
    for (size_t d = 0; d < tuned->count; d++) {
        for (size_t k = 0; k < tuned->devices[d].count; k++) free_kernel(&tuned->devices[d].kernels[k]);
        free(tuned->devices[d].kernels);
        free(tuned->devices[d].description);
    }
    free(tuned->devices);
    *tuned = (zf_tuned){0};
}

static zf_tuned_device *device_of(zf_tuned *tuned, const char *description) {
    for (size_t d = 0; d < tuned->count; d++) {
        if (strcmp(tuned->devices[d].description, description) == 0) return &tuned->devices[d];
    }
    zf_tuned_device *more = realloc(tuned->devices, (tuned->count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    tuned->devices = more;
    more[tuned->count] = (zf_tuned_device){.description = strdup(description)};
    return more[tuned->count].description != NULL ? &more[tuned->count++] : NULL;
}

bool zf_tuned_set(zf_tuned *tuned, const char *description, const zf_tuned_kernel *kernel) {
    zf_tuned_device *device = device_of(tuned, description);
    if (device == NULL) return false;
    size_t at = 0;
    while (at < device->count && strcmp(device->kernels[at].shape, kernel->shape) != 0) at++;
    char *shape = at < device->count ? device->kernels[at].shape : strdup(kernel->shape);
    if (shape == NULL) return false;
    if (at == device->count) {
        zf_tuned_kernel *more = realloc(device->kernels, (device->count + 1) * sizeof *more);
        if (more == NULL) {
            free(shape);
            return false;
        }
        device->kernels = more;
        device->count++;
    }
    device->kernels[at] = *kernel;
    device->kernels[at].shape = shape;
    return true;
}

// ---- Finding --------------------------------------------------------------------------------------------------

/// Bytes of a description that are the GPU's, without its driver's.
static size_t model_length(const char *description) {
    const char *driver = strstr(description, ", driver for ");
    return driver != NULL ? (size_t)(driver - description) : strlen(description);
}

const zf_tuned_device *zf_tuned_find(const zf_tuned *tuned, const char *description) {
    const zf_tuned_device *same_model = NULL;
    size_t length = model_length(description);
    for (size_t d = 0; d < tuned->count; d++) {
        const char *other = tuned->devices[d].description;
        if (strcmp(other, description) == 0) return &tuned->devices[d];
        if (model_length(other) == length && memcmp(other, description, length) == 0) same_model = &tuned->devices[d];
    }
    return same_model;
}

const zf_tuned_kernel *zf_tuned_kernel_of(const zf_tuned_device *device, const char *shape) {
    for (size_t k = 0; device != NULL && k < device->count; k++) {
        if (strcmp(device->kernels[k].shape, shape) == 0) return &device->kernels[k];
    }
    return NULL;
}

const zf_tuned_kernel *zf_tuned_nearest(const zf_tuned_device *device, const char *shape) {
    const zf_tuned_kernel *nearest = NULL;
    unsigned most = 0;
    for (size_t k = 0; device != NULL && k < device->count; k++) {
        unsigned nearness = zf_kernel_shape_nearness(device->kernels[k].shape, shape);
        if (nearness <= most) continue;
        most = nearness;
        nearest = &device->kernels[k];
    }
    return nearest;
}

bool zf_tuned_choose(const zf_tuned_device *device, const zf_plan *plan, const zf_block_view *block, zf_choices *out) {
    *out = (zf_choices){0};
    for (uint32_t k = 0; k < plan->kernel_count && out->count < ZF_CHOICES_KERNELS; k++) {
        zf_text shape = {0};
        zf_kernel_shape_print(plan, &plan->kernels[k], block, &shape);
        const zf_tuned_kernel *known = shape.failed ? NULL : zf_tuned_kernel_of(device, shape.data);
        zf_text_free(&shape);
        if (known == NULL || known->choice.chosen == 0) continue;
        zf_choice_space space;
        zf_choice_space_of(plan, &plan->kernels[k], &space);
        if (!zf_choice_is_legal(&space, &known->choice, NULL)) continue;
        out->kernels[out->count] = k;
        out->of[out->count++] = known->choice;
    }
    return out->count > 0;
}
