#include "python/extension/entries.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 zf_py_product;

static uint64_t mix(uint64_t a, uint64_t b) {
    zf_py_product product = (zf_py_product)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const zf_py_entry_table *t, const char *bytes, size_t size) {
    uint64_t hash = t->seed[0] ^ size, word;
    for (; size > 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash ^ word, t->seed[1]);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return mix(mix(hash ^ word, t->seed[1]), t->seed[0]);
}

static bool reserve(void **memory, size_t *room, size_t wanted) {
    if (wanted <= *room) return true;
    size_t more = wanted + wanted / 2 + 64;
    void *grown = realloc(*memory, more);
    if (grown == NULL) return false;
    *memory = grown;
    *room = more;
    return true;
}

static size_t slot_of(const zf_py_entry_table *t, const char *bytes, size_t size) {
    size_t at = (size_t)hash_of(t, bytes, size) & (t->slot_count - 1);
    for (; t->slots[at] != 0; at = (at + 1) & (t->slot_count - 1)) {
        int64_t begin = t->offsets[t->slots[at] - 1], end = t->offsets[t->slots[at]];
        if ((size_t)(end - begin) == size && memcmp(t->bytes + begin, bytes, size) == 0) break;
    }
    return at;
}

/// Twice as many slots; whether there was memory.
static bool more_slots(zf_py_entry_table *t) {
    uint32_t *slots = calloc(t->slot_count * 2, sizeof *slots);
    if (slots == NULL) return false;
    free(t->slots);
    t->slots = slots;
    t->slot_count *= 2;
    for (size_t k = 0; k < t->count; k++) {
        size_t slot = slot_of(t, t->bytes + t->offsets[k], (size_t)(t->offsets[k + 1] - t->offsets[k]));
        if (t->slots[slot] == 0) t->slots[slot] = (uint32_t)k + 1;
    }
    return true;
}

uint32_t zf_py_entries_find(const zf_py_entry_table *t, const char *bytes, size_t size) {
    return t->slots[slot_of(t, bytes, size)];
}

bool zf_py_entries_add(zf_py_entry_table *t, const char *bytes, size_t size) {
    size_t used = (size_t)t->offsets[t->count];
    if (t->count >= UINT32_MAX - 1 || !reserve((void **)&t->bytes, &t->bytes_room, used + size + 1) ||
        !reserve((void **)&t->offsets, &t->offsets_room, (t->count + 2) * 8))
        return false;
    memcpy(t->bytes + used, bytes, size);
    t->offsets[t->count + 1] = (int64_t)(used + size);
    size_t slot = slot_of(t, bytes, size);
    t->count++;
    if (t->slots[slot] == 0) t->slots[slot] = (uint32_t)t->count;
    return t->count * 2 < t->slot_count || more_slots(t);
}

bool zf_py_entries_begin(zf_py_entry_table *t) {
    *t = (zf_py_entry_table){.slot_count = 64};
    t->slots = calloc(t->slot_count, sizeof *t->slots);
    if (t->slots == NULL || !reserve((void **)&t->offsets, &t->offsets_room, 8) ||
        !reserve((void **)&t->bytes, &t->bytes_room, 1))
        return false;
    t->offsets[0] = 0;
    if (getentropy(t->seed, sizeof t->seed) != 0) { // never where Linux has it; a seed of 0 gives all entries one hash
        t->seed[0] = (uint64_t)(uintptr_t)t->slots | 1;
        t->seed[1] = mix((uint64_t)(uintptr_t)t->offsets, UINT64_C(0x9e3779b97f4a7c15)) | 1;
    }
    return true;
}

void zf_py_entries_free(zf_py_entry_table *t) {
    free(t->slots);
    free(t->bytes);
    free(t->offsets);
}
