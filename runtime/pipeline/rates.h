// How fast a device's link and its decoders are: guessed at first, measured since. They live as long as the context, and what
// they came to is kept in the cache's directory, a file a device, from which the next context begins.
#ifndef ZF_RUNTIME_RATES_H
#define ZF_RUNTIME_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/context/context.h"

typedef struct zf_rates zf_rates;

/// Begins with what was kept of the device, if there is a cache. `name` is the device's, `description` tells it from others of
/// that name, and from itself with another driver: a line of text. NULL: no memory.
zf_rates *zf_rates_create(zf_context *context, const char *name, const char *description);
void zf_rates_free(zf_rates *rates);

/// Keeps what was seen since it was kept last, if the context has a cache, together with what other processes have kept
/// meanwhile. Where that cannot be, nothing is lost but this. Without `now` only the 1st, 2nd, 4th, 8th ... call that has news
/// writes: so a process that never ends well is not without trace, and one that has many batches does not write after each.
void zf_rates_keep(zf_rates *rates, bool now);

// All in bytes a second; any thread.

/// Stored bytes over the link. `known`: it was measured.
double zf_rates_link(zf_rates *rates, bool *known);
/// Stored bytes into memory of the host, of all readers together.
double zf_rates_read(zf_rates *rates);
/// Plain bytes of a codec; `codec` is any number that tells codecs apart. `fallback`: the rate of an unknown codec. `*cost`:
/// seconds that a unit takes besides, whatever its bytes; 0: not measured.
double zf_rates_decode(zf_rates *rates, uint64_t codec, double fallback, double *cost);

/// Records the rates of a run. A known rate moves half of the way towards the new one. In a `first` run readers and decoders
/// waited for code, which makes it slower: its rate only moves a known rate upwards, and the next run's rate replaces it.
/// `name` is the codec's, for people; `rate` and `cost` are 0 if the run has not shown one. The cost of a first run, and that
/// of a codec without a rate, are ignored.
void zf_rates_link_seen(zf_rates *rates, double rate);
void zf_rates_read_seen(zf_rates *rates, double rate, bool first);
void zf_rates_decode_seen(zf_rates *rates, uint64_t codec, const char *name, double rate, double cost, bool first);

#endif
