// Memory of devices for callers that have no allocator of their own.
#include "runtime/base/error_codes.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/device.h"

/// The accelerator of a device that gives callers memory.
static zf_status find(zf_context *context, const char *name, zf_accelerator **out, zf_error *error) {
    zf_device device;
    ZF_TRY(zf_device_find(context, name != NULL ? name : "auto", &device, error));
    if (device.ops->start == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own", device.ops->name);
    ZF_TRY(zf_device_accelerator(context, &device, out, error));
    if ((*out)->ops->allocate_ordered != NULL) return ZF_OK;
    return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` gives callers no memory", device.ops->name);
}

zf_status zf_device_allocate(zf_context *context, const char *device, void *stream, uint64_t bytes, uint64_t *address,
                             zf_error *error) {
    if (address != NULL) *address = 0;
    if (context == NULL || address == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_device_allocate needs a context and a place for the address");
    zf_accelerator *accelerator;
    ZF_TRY(find(context, device, &accelerator, error));
    return accelerator->ops->allocate_ordered(accelerator, stream, bytes, address, error);
}

void zf_device_release(zf_context *context, const char *device, void *stream, uint64_t address) {
    zf_accelerator *accelerator;
    if (context == NULL || address == 0 || find(context, device, &accelerator, NULL) != ZF_OK) return;
    accelerator->ops->release_ordered(accelerator, stream, address);
}

zf_status zf_device_copy_out(zf_context *context, const char *device, void *stream, void *to, uint64_t from, uint64_t bytes,
                             zf_error *error) {
    if (context == NULL || (bytes > 0 && (to == NULL || from == 0)))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_device_copy_out needs a context and both addresses");
    zf_accelerator *accelerator;
    ZF_TRY(find(context, device, &accelerator, error));
    ZF_TRY(accelerator->ops->copy_out(accelerator, stream, to, from, bytes, error));
    return accelerator->ops->wait(accelerator, stream, error);
}

zf_status zf_device_copy_in(zf_context *context, const char *device, void *stream, uint64_t to, const void *from, uint64_t bytes,
                            zf_error *error) {
    if (context == NULL || (bytes > 0 && (to == 0 || from == NULL)))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_device_copy_in needs a context and both addresses");
    zf_accelerator *accelerator;
    ZF_TRY(find(context, device, &accelerator, error));
    ZF_TRY(accelerator->ops->copy_in(accelerator, stream, to, from, bytes, error));
    return accelerator->ops->wait(accelerator, stream, error);
}

zf_status zf_device_follow(zf_context *context, const char *device, void *stream, void *other, zf_error *error) {
    if (context == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_device_follow needs a context");
    zf_accelerator *accelerator;
    void *event = NULL;
    ZF_TRY(find(context, device, &accelerator, error));
    ZF_TRY(accelerator->ops->event_open(accelerator, false, &event, error));
    zf_status status = accelerator->ops->event_note(accelerator, other, event, error);
    if (status == ZF_OK) status = accelerator->ops->stream_follow(accelerator, stream, event, error);
    accelerator->ops->event_close(accelerator, event); // the stream waits all the same
    return status;
}

zf_status zf_device_wait(zf_context *context, const char *device, zf_error *error) {
    if (context == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_device_wait needs a context");
    zf_accelerator *accelerator;
    ZF_TRY(find(context, device, &accelerator, error));
    return accelerator->ops->wait_for_all(accelerator, error);
}
