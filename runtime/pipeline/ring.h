// A ring of bytes, taken and given back first in, first out. A piece lies in one run: one that would pass the end lies at 0.
#ifndef ZF_RUNTIME_RING_H
#define ZF_RUNTIME_RING_H

#include <stdbool.h>
#include <stdint.h>

/// Positions grow for ever; a byte's place is its position modulo `bytes`.
typedef struct zf_ring {
    uint64_t bytes;
    uint64_t head; ///< behind the last piece
    uint64_t tail; ///< behind the last piece that was given back
} zf_ring;

/// Takes `bytes`: `*at` is the place, `*end` what zf_ring_release wants. False where they are not free yet (or more than all).
static inline bool zf_ring_reserve(zf_ring *ring, uint64_t bytes, uint64_t *at, uint64_t *end) {
    if (bytes > ring->bytes) return false;
    if (ring->head == ring->tail) ring->head = ring->tail = 0; // all is free: in one run
    uint64_t from = ring->head, place = ring->bytes > 0 ? from % ring->bytes : 0;
    if (bytes > ring->bytes - place) {
        from += ring->bytes - place;
        place = 0;
    }
    if (from - ring->tail > ring->bytes - bytes) return false;
    ring->head = from + bytes;
    *at = place;
    *end = ring->head;
    return true;
}

/// Gives back the oldest piece.
static inline void zf_ring_release(zf_ring *ring, uint64_t end) { ring->tail = end; }

#endif
