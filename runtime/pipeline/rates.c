#include "runtime/pipeline/rates.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/cache.h"
#include "runtime/pipeline/rates_file.h"

/// Before anything was measured: a link of PCIe 4, reading from the page cache.
static const double LINK = 24e9, READ = 4e9;

static const char part[] = "rates"; ///< of the cache's directory

struct zf_rates {
    zf_context *context;
    char *device;  ///< what the rates are of: a line
    char file[64]; ///< within `part`
    pthread_mutex_t lock;
    zf_rates_table table;
    bool news;       ///< since it was kept last
    uint64_t called; ///< calls of zf_rates_keep that had news
};

// ---- Keeping --------------------------------------------------------------------------------------------------

/// Reads the cached rates. NULL: there are none that can be used.
static zf_rates_table *read_kept(zf_rates *rates, int directory) {
    void *text = NULL;
    size_t length = 0;
    zf_cache_answer answer = zf_cache_read(directory, rates->file, ZF_RATES_FILE_BYTES, &text, &length);
    if (answer == ZF_CACHE_NONE) return NULL;
    zf_rates_table *kept = answer == ZF_CACHE_FOUND ? malloc(sizeof *kept) : NULL;
    bool good = kept != NULL && zf_rates_table_parse(text, length, rates->device, kept);
    free(text);
    if (good) return kept;
    zf_context_log(rates->context, ZF_LOG_DEBUG, "%s/%s/%s cannot be used: rates are measured anew",
                   zf_context_cache_dir(rates->context), part, rates->file);
    free(kept);
    return NULL;
}

/// A cached rate replaces ours if this process has measured none, or only in first runs.
static void merge_rate(zf_seen_rate *ours, const zf_seen_rate *theirs) {
    if (theirs->value > 0 && (!ours->here || (ours->first && !theirs->first))) *ours = *theirs;
}

static void merge(zf_rates_table *ours, const zf_rates_table *theirs) {
    merge_rate(&ours->link, &theirs->link);
    merge_rate(&ours->read, &theirs->read);
    for (uint32_t i = 0; i < theirs->count; i++) {
        const zf_codec_rate *c = &theirs->codecs[i];
        zf_codec_rate *mine = zf_rates_table_find(ours, c->codec);
        if (mine == NULL && ours->count < ZF_RATES_CODECS) mine = zf_rates_table_add(ours, c->codec, c->name);
        if (mine == NULL) continue;
        merge_rate(&mine->rate, &c->rate);
        if (mine->cost == 0 || !mine->rate.here) mine->cost = c->cost;
    }
}

static void take_over_kept(zf_rates *rates, int directory) {
    zf_rates_table *kept = read_kept(rates, directory);
    if (kept == NULL) return;
    pthread_mutex_lock(&rates->lock);
    merge(&rates->table, kept);
    pthread_mutex_unlock(&rates->lock);
    free(kept);
}

static int open_directory(const zf_rates *rates) {
    const char *cache = zf_context_cache_dir(rates->context);
    return cache[0] != 0 ? zf_cache_open(cache, part) : -1;
}

void zf_rates_keep(zf_rates *rates, bool now) {
    zf_text text = {0};
    pthread_mutex_lock(&rates->lock);
    bool wanted = rates->news;
    if (wanted && !now) {
        rates->called++;
        wanted = (rates->called & (rates->called - 1)) == 0;
    }
    if (wanted) rates->news = false;
    pthread_mutex_unlock(&rates->lock);
    int directory = wanted ? open_directory(rates) : -1;
    if (directory < 0) return;
    take_over_kept(rates, directory); // two that do this at once may still lose what one of them has seen
    pthread_mutex_lock(&rates->lock);
    zf_rates_table_print(&rates->table, rates->device, &text);
    pthread_mutex_unlock(&rates->lock);
    zf_cache_piece piece = {text.data, text.length};
    if (text.failed || !zf_cache_write(directory, rates->file, &piece, 1))
        zf_context_log(rates->context, ZF_LOG_DEBUG, "%s/%s/%s cannot be written: rates are not kept",
                       zf_context_cache_dir(rates->context), part, rates->file);
    zf_text_free(&text);
    close(directory);
}

// ---- Making ---------------------------------------------------------------------------------------------------

zf_rates *zf_rates_create(zf_context *context, const char *name, const char *description) {
    zf_text device = {0};
    zf_rates *rates = calloc(1, sizeof *rates);
    zf_text_printf(&device, "%s: %s", name, description);
    if (rates == NULL || device.failed) {
        zf_text_free(&device);
        free(rates);
        return NULL;
    }
    for (char *at = device.data; *at != 0; at++) {
        if ((unsigned char)*at < ' ') *at = ' '; // it is a line
    }
    rates->context = context;
    rates->device = device.data;
    snprintf(rates->file, sizeof rates->file, "%.32s-%016llx.txt", name,
             (unsigned long long)XXH3_64bits(rates->device, strlen(rates->device)));
    for (char *at = rates->file; *at != 0; at++) {
        if (*at == ':' || *at == '/') *at = '-';
    }
    pthread_mutex_init(&rates->lock, NULL);
    int directory = open_directory(rates);
    if (directory < 0) return rates;
    take_over_kept(rates, directory);
    close(directory);
    return rates;
}

void zf_rates_free(zf_rates *rates) {
    if (rates == NULL) return;
    pthread_mutex_destroy(&rates->lock);
    free(rates->device);
    free(rates);
}

// ---- Rates ----------------------------------------------------------------------------------------------------

double zf_rates_link(zf_rates *rates, bool *known) {
    pthread_mutex_lock(&rates->lock);
    double rate = rates->table.link.value;
    pthread_mutex_unlock(&rates->lock);
    if (known != NULL) *known = rate > 0;
    return rate > 0 ? rate : LINK;
}

double zf_rates_read(zf_rates *rates) {
    pthread_mutex_lock(&rates->lock);
    double rate = rates->table.read.value;
    pthread_mutex_unlock(&rates->lock);
    return rate > 0 ? rate : READ;
}

double zf_rates_decode(zf_rates *rates, uint64_t codec, double fallback, double *cost) {
    pthread_mutex_lock(&rates->lock);
    const zf_codec_rate *known = zf_rates_table_find(&rates->table, codec);
    double rate = known != NULL ? known->rate.value : fallback;
    *cost = known != NULL ? known->cost : 0;
    pthread_mutex_unlock(&rates->lock);
    return rate;
}

/// Half way from `rate`, if it is known, to `seen`, if that is a rate. Under the lock.
static void move(zf_rates *rates, zf_seen_rate *rate, double seen, bool first) {
    if (!(seen > 0) || isinf(seen)) return;
    bool steady = rate->value > 0 && !rate->first; // known by more than first runs
    if (first && steady && seen < rate->value) return;
    bool apart = rate->value > 0 && (first || steady);
    *rate = (zf_seen_rate){apart ? (rate->value + seen) / 2 : seen, first && !steady, true};
    rates->news = true;
}

void zf_rates_link_seen(zf_rates *rates, double rate) {
    pthread_mutex_lock(&rates->lock);
    move(rates, &rates->table.link, rate, false);
    pthread_mutex_unlock(&rates->lock);
}

void zf_rates_read_seen(zf_rates *rates, double rate, bool first) {
    pthread_mutex_lock(&rates->lock);
    move(rates, &rates->table.read, rate, first);
    pthread_mutex_unlock(&rates->lock);
}

void zf_rates_decode_seen(zf_rates *rates, uint64_t codec, const char *name, double rate, double cost, bool first) {
    pthread_mutex_lock(&rates->lock);
    zf_codec_rate *known = zf_rates_table_find(&rates->table, codec);
    if (known == NULL && rate > 0 && !isinf(rate)) known = zf_rates_table_add(&rates->table, codec, name);
    if (known == NULL) {
        pthread_mutex_unlock(&rates->lock);
        return;
    }
    move(rates, &known->rate, rate, first);
    if (!first && cost > 0 && !isinf(cost)) {
        known->cost = known->cost > 0 ? (known->cost + cost) / 2 : cost;
        rates->news = true;
    }
    pthread_mutex_unlock(&rates->lock);
}
