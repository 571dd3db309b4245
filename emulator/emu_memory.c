// Memory of the emulated GPU: each allocation apart from every other, between canaries.
#include <stdlib.h>
#include <string.h>

#include "emulator/emu_internal.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

typedef unsigned long long ull;

enum { ALIGNMENT = 256, CANARY = 256, CANARY_BYTE = 0xcb, FRESH_BYTE = 0xa7 };

void zf_emu_memory_init(zf_emu_memory *memory) {
    *memory = (zf_emu_memory){0};
    pthread_mutex_init(&memory->lock, NULL);
}

static void free_allocation(zf_emu_allocation *allocation) {
    free(allocation->map);
    free(allocation->written);
    free(allocation);
}

void zf_emu_memory_destroy(zf_emu_memory *memory) {
    while (memory->all != NULL) {
        zf_emu_allocation *allocation = memory->all;
        memory->all = allocation->next;
        free_allocation(allocation);
    }
    pthread_mutex_destroy(&memory->lock);
}

zf_status zf_emu_allocate(zf_emu_memory *memory, uint64_t bytes, uint64_t *address, zf_error *error) {
    *address = 0;
    uint64_t room = 0;
    zf_emu_allocation *allocation = malloc(sizeof *allocation);
    bool fits = zf_align_up(bytes, ALIGNMENT, &room) && !__builtin_add_overflow(room, (uint64_t)2 * CANARY, &room);
    uint8_t *map = allocation != NULL && fits ? aligned_alloc(ALIGNMENT, room) : NULL;
    pthread_mutex_lock(&memory->lock);
    bool marks = memory->marks;
    pthread_mutex_unlock(&memory->lock);
    uint8_t *written = map != NULL && marks ? calloc(1, bytes + 1) : NULL;
    if (map == NULL || (marks && written == NULL)) {
        free(map);
        free(allocation);
        return zf_raise(error, ZF_E_DEVICE_MEMORY, "device `emu` has no %llu bytes of memory", (ull)bytes);
    }
    *allocation = (zf_emu_allocation){.map = map, .at = map + CANARY, .written = written, .bytes = bytes};
    memset(map, CANARY_BYTE, CANARY);
    memset(allocation->at, FRESH_BYTE, bytes);
    memset(allocation->at + bytes, CANARY_BYTE, room - CANARY - bytes);
    pthread_mutex_lock(&memory->lock);
    allocation->next = memory->all;
    memory->all = allocation;
    pthread_mutex_unlock(&memory->lock);
    *address = (uint64_t)(uintptr_t)allocation->at;
    return ZF_OK;
}

void zf_emu_release(zf_emu_memory *memory, uint64_t address) {
    pthread_mutex_lock(&memory->lock);
    zf_emu_allocation **at = &memory->all;
    while (*at != NULL && (uint64_t)(uintptr_t)(*at)->at != address) at = &(*at)->next;
    zf_emu_allocation *allocation = *at;
    if (allocation != NULL) *at = allocation->next;
    pthread_mutex_unlock(&memory->lock);
    if (allocation != NULL) free_allocation(allocation);
}

bool zf_emu_find(zf_emu_memory *memory, uint64_t address, uint64_t bytes, uint8_t **written) {
    bool found = false;
    *written = NULL;
    pthread_mutex_lock(&memory->lock);
    for (const zf_emu_allocation *a = memory->all; a != NULL && !found; a = a->next) {
        uint64_t offset = address - (uint64_t)(uintptr_t)a->at; // beyond all of them where it is before the first
        found = offset <= a->bytes && bytes <= a->bytes - offset;
        if (found && a->written != NULL) *written = a->written + offset;
    }
    pthread_mutex_unlock(&memory->lock);
    return found;
}

static bool whole(const uint8_t *canary, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) {
        if (canary[i] != CANARY_BYTE) return false;
    }
    return true;
}

zf_status zf_emu_canaries(zf_emu_memory *memory, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&memory->lock);
    for (const zf_emu_allocation *a = memory->all; a != NULL && status == ZF_OK; a = a->next) {
        uint64_t room = 0;
        zf_align_up(a->bytes, ALIGNMENT, &room);
        const char *side = !whole(a->map, CANARY)                               ? "before"
                           : !whole(a->at + a->bytes, room + CANARY - a->bytes) ? "behind"
                                                                                : NULL;
        if (side == NULL) continue;
        status = zf_raise(error, ZF_E_KERNEL_FAULT, "something was written %s an allocation of %llu bytes", side, (ull)a->bytes);
        zf_fail_place(error, status, "device emu");
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}
