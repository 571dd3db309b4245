// How fast a device's link and its decoders are: guessed at first, measured since. Kept with the device for as long as its
// context lives.
#ifndef ZF_RUNTIME_PIPELINE_RATES_H
#define ZF_RUNTIME_PIPELINE_RATES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct zf_rates zf_rates;

zf_rates *zf_rates_create(void); ///< NULL: no memory
void zf_rates_free(zf_rates *rates);

// All in bytes a second; any thread.

/// Stored bytes over the link. `known`: it was measured.
double zf_rates_link(zf_rates *rates, bool *known);
/// Stored bytes into memory of the host, of one reader.
double zf_rates_read(zf_rates *rates);
/// Plain bytes of a codec; `codec` is any number that tells codecs apart. Of one that was not met: `otherwise`.
double zf_rates_decode(zf_rates *rates, uint64_t codec, double otherwise);

/// What a run has shown. Rates move towards it by half. In the `first` run of a batch readers and decoders may have waited for
/// code: what it shows is replaced, not moved, by what a later one does.
void zf_rates_link_seen(zf_rates *rates, double rate);
void zf_rates_read_seen(zf_rates *rates, double rate, bool first);
void zf_rates_decode_seen(zf_rates *rates, uint64_t codec, double rate, bool first);

#endif
