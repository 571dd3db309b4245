#include "runtime/pipeline/rates.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/// Most codecs that are remembered; beyond them the oldest is forgotten.
enum { MOST_CODECS = 1024 };

/// Before anything was measured: a link of PCIe 4, reading from the page cache.
static const double LINK = 24e9, READ = 4e9;

typedef struct seen_rate {
    double value; ///< 0: not measured
    bool first;   ///< by first runs alone
} seen_rate;

typedef struct codec_rate {
    uint64_t codec;
    seen_rate rate;
} codec_rate;

struct zf_rates {
    pthread_mutex_t lock;
    seen_rate link, read;
    codec_rate codecs[MOST_CODECS];
    uint32_t count, next; ///< `next`: the oldest, once all places are taken
};

zf_rates *zf_rates_create(void) {
    zf_rates *rates = calloc(1, sizeof *rates);
    if (rates != NULL) pthread_mutex_init(&rates->lock, NULL);
    return rates;
}

void zf_rates_free(zf_rates *rates) {
    if (rates == NULL) return;
    pthread_mutex_destroy(&rates->lock);
    free(rates);
}

double zf_rates_link(zf_rates *rates, bool *known) {
    pthread_mutex_lock(&rates->lock);
    double rate = rates->link.value;
    pthread_mutex_unlock(&rates->lock);
    if (known != NULL) *known = rate > 0;
    return rate > 0 ? rate : LINK;
}

double zf_rates_read(zf_rates *rates) {
    pthread_mutex_lock(&rates->lock);
    double rate = rates->read.value;
    pthread_mutex_unlock(&rates->lock);
    return rate > 0 ? rate : READ;
}

static codec_rate *find(zf_rates *rates, uint64_t codec) {
    for (uint32_t i = 0; i < rates->count; i++) {
        if (rates->codecs[i].codec == codec) return &rates->codecs[i];
    }
    return NULL;
}

double zf_rates_decode(zf_rates *rates, uint64_t codec, double otherwise) {
    pthread_mutex_lock(&rates->lock);
    const codec_rate *known = find(rates, codec);
    double rate = known != NULL ? known->rate.value : otherwise;
    pthread_mutex_unlock(&rates->lock);
    return rate;
}

/// Half way from `rate`, if it is known, to `seen`, if that is a rate.
static void move(seen_rate *rate, double seen, bool first) {
    if (!(seen > 0) || isinf(seen)) return;
    bool apart = rate->value > 0 && (first || !rate->first);
    *rate = (seen_rate){apart ? (rate->value + seen) / 2 : seen, first && (rate->first || !apart)};
}

void zf_rates_link_seen(zf_rates *rates, double rate) {
    pthread_mutex_lock(&rates->lock);
    move(&rates->link, rate, false);
    pthread_mutex_unlock(&rates->lock);
}

void zf_rates_read_seen(zf_rates *rates, double rate, bool first) {
    pthread_mutex_lock(&rates->lock);
    move(&rates->read, rate, first);
    pthread_mutex_unlock(&rates->lock);
}

void zf_rates_decode_seen(zf_rates *rates, uint64_t codec, double rate, bool first) {
    if (!(rate > 0) || isinf(rate)) return;
    pthread_mutex_lock(&rates->lock);
    codec_rate *known = find(rates, codec);
    if (known == NULL) {
        known = &rates->codecs[rates->next];
        *known = (codec_rate){.codec = codec};
        rates->next = (rates->next + 1) % MOST_CODECS;
        if (rates->count < MOST_CODECS) rates->count++;
    }
    move(&known->rate, rate, first);
    pthread_mutex_unlock(&rates->lock);
}
