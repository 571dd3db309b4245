#include "compiler/tuned/tuned.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "compiler/tuned/kernel_shape.h"

static void free_kernels(zf_tuned_kernel *kernels, size_t count) {
    for (size_t k = 0; k < count; k++) {
        free(kernels[k].shape);
        free(kernels[k].unknown);
    }
    free(kernels);
}

void zf_tuned_free(zf_tuned *tuned) {
    for (size_t d = 0; d < tuned->count; d++) {
        free_kernels(tuned->devices[d].kernels, tuned->devices[d].count);
        free_kernels(tuned->devices[d].others, tuned->devices[d].other_count);
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

static size_t place_of(const zf_tuned_kernel *kernels, size_t count, const char *shape) {
    size_t at = 0;
    while (at < count && strcmp(kernels[at].shape, shape) != 0) at++;
    return at;
}

static bool put_in(zf_tuned_kernel **kernels, size_t *count, const zf_tuned_kernel *kernel) {
    size_t at = place_of(*kernels, *count, kernel->shape);
    zf_tuned_kernel made = *kernel, *more = *kernels;
    made.shape = at < *count ? more[at].shape : strdup(kernel->shape);
    made.unknown = kernel->unknown != NULL ? strdup(kernel->unknown) : NULL;
    bool good = made.shape != NULL && (made.unknown != NULL || kernel->unknown == NULL);
    if (good && at == *count) {
        more = realloc(*kernels, (*count + 1) * sizeof *more);
        good = more != NULL;
    }
    if (!good) {
        if (at == *count) free(made.shape);
        free(made.unknown);
        return false;
    }
    *kernels = more;
    if (at == *count)
        (*count)++;
    else
        free(more[at].unknown);
    more[at] = made;
    return true;
}

static void take_out(zf_tuned_kernel *kernels, size_t *count, const char *shape) {
    size_t at = place_of(kernels, *count, shape);
    if (at == *count) return;
    free(kernels[at].shape);
    free(kernels[at].unknown);
    memmove(&kernels[at], &kernels[at + 1], (--*count - at) * sizeof *kernels);
}

bool zf_tuned_set(zf_tuned *tuned, const char *description, const zf_tuned_kernel *kernel) {
    zf_tuned_device *device = device_of(tuned, description);
    if (device == NULL) return false;
    if (kernel->unknown != NULL) {
        if (!put_in(&device->others, &device->other_count, kernel)) return false;
        take_out(device->kernels, &device->count, kernel->shape);
    } else {
        if (!put_in(&device->kernels, &device->count, kernel)) return false;
        take_out(device->others, &device->other_count, kernel->shape);
    }
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
        if (tuned->devices[d].count == 0) continue; // all that is said of it is for another version
        if (strcmp(other, description) == 0) return &tuned->devices[d];
        if (model_length(other) == length && memcmp(other, description, length) == 0) same_model = &tuned->devices[d];
    }
    return same_model;
}

size_t zf_tuned_unknown(const zf_tuned *tuned, const zf_tuned_kernel **first) {
    size_t count = 0;
    *first = NULL;
    for (size_t d = 0; d < tuned->count; d++) {
        if (*first == NULL && tuned->devices[d].other_count > 0) *first = &tuned->devices[d].others[0];
        count += tuned->devices[d].other_count;
    }
    return count;
}

const zf_tuned_kernel *zf_tuned_kernel_of(const zf_tuned_device *device, const char *shape) {
    if (device == NULL) return NULL;
    size_t at = place_of(device->kernels, device->count, shape);
    return at < device->count ? &device->kernels[at] : NULL;
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
        zf_choice_space space = zf_codegen_space(plan, &plan->kernels[k]);
        if (!zf_choice_space_allows(&space, &known->choice, NULL)) continue;
        out->kernels[out->count] = k;
        out->of[out->count++] = known->choice;
    }
    return out->count > 0;
}
