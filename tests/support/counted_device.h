// An emulated GPU, `counted`, that counts references to loaded images, and can fail a call or report one to the test.
#ifndef ZF_TESTS_COUNTED_DEVICE_H
#define ZF_TESTS_COUNTED_DEVICE_H

#include <stdatomic.h>
#include <string.h>

#include "emulator/emu.h"
#include "runtime/base/error.h"
#include "runtime/device/device.h"
#include "tests/unit/check.h"

static struct {
    const zf_accelerator_ops *ops;
    zf_accelerator_ops counting;
    atomic_long references, most, loads;
    atomic_long failing_load, failing_launch; ///< so many calls until one fails; 0: none does
    void (*on_load)(void), (*on_copy)(void);  ///< NULL: nobody is told
    void (*on_unload)(void);                  ///< before code is unloaded; likewise
    bool over;                                ///< the device was stopped
} counted;

static inline long counted_references(void) { return atomic_load(&counted.references); }

static inline bool counted_fails(atomic_long *in) { return atomic_load(in) > 0 && atomic_fetch_sub(in, 1) == 1; }

static inline zf_status counted_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code,
                                     zf_accelerator_code **out, zf_error *error) {
    *out = NULL;
    if (counted_fails(&counted.failing_load)) return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a load that was to fail");
    ZF_TRY(counted.ops->load(self, plan, code, out, error));
    long references = atomic_fetch_add(&counted.references, 1) + 1, most = atomic_load(&counted.most);
    while (references > most && !atomic_compare_exchange_weak(&counted.most, &most, references)) continue;
    atomic_fetch_add(&counted.loads, 1);
    if (counted.on_load != NULL) counted.on_load();
    return ZF_OK;
}

static inline void counted_unload(zf_accelerator *self, zf_accelerator_code *code) {
    CHECK(!counted.over, "code is unloaded from a device that was stopped");
    if (counted.on_unload != NULL) counted.on_unload();
    atomic_fetch_sub(&counted.references, 1);
    counted.ops->unload(self, code);
}

static inline zf_status counted_copy_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                                        zf_error *error) {
    if (counted.on_copy != NULL) counted.on_copy();
    return counted.ops->copy_in(self, stream, to, from, bytes, error);
}

static inline zf_status counted_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel,
                                       uint32_t groups, const zf_simt_args *args, zf_error *error) {
    if (counted_fails(&counted.failing_launch)) return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a launch that was to fail");
    return counted.ops->launch(self, stream, code, kernel, groups, args, error);
}

static inline void counted_describe(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)index, (void)reason;
    zf_text_puts(description, "counted");
    info->present = info->emulated = true;
}

static inline zf_status counted_start(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    (void)context, (void)shared, (void)index;
    ZF_TRY(zf_emu_create(1, 32, out, error));
    counted.ops = (*out)->ops;
    counted.counting = *counted.ops;
    counted.counting.load = counted_load;
    counted.counting.unload = counted_unload;
    counted.counting.copy_in = counted_copy_in;
    counted.counting.launch = counted_launch;
    (*out)->ops = &counted.counting;
    return ZF_OK;
}

static inline void counted_stop(zf_accelerator *accelerator) {
    counted.over = true;
    zf_emu_free(accelerator);
}

/// Adds the device to a context, with nothing counted yet, and starts it. One context at a time.
static inline zf_status counted_begin(zf_context *context, zf_accelerator **accelerator, zf_error *error) {
    static const zf_device_ops device_ops = {
        .name = "counted", .describe = counted_describe, .start = counted_start, .stop = counted_stop};
    zf_device device;
    memset(&counted, 0, sizeof counted);
    ZF_TRY(zf_context_add_devices(context, &(const zf_device_ops *){&device_ops}, 1, error));
    ZF_TRY(zf_device_find(context, "counted", &device, error));
    return zf_device_accelerator(context, &device, accelerator, error);
}

#endif
