// zf-bench: how fast generated kernels decode on this machine, one thread, against memcpy of the same plain bytes.
//
//   zf-bench [--bytes N] [--repeats N] [--only NAME] [--optimise 1..4] [--general] [--text]
//
// Each workload is 16 MiB of plain data whose stored streams are made by hand, kept as often as fills N bytes (256 MiB) of
// output, every copy in memory of its own. Every buffer is touched before. memcpy and decoding take turns; both figures are
// medians. After the clock stops every output byte is compared. The result is JSON on standard output; what is counted stands in
// it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/decoder.h"

__extension__ typedef unsigned __int128 wide;

enum { BLOCK_BYTES = 16 << 20, STREAMS = 8, PARAMS = 16, MOST_REPEATS = 101 };

typedef struct stream {
    uint8_t *data;
    uint64_t bytes, elements;
} stream;

/// One block: plain data, and what is stored of it.
typedef struct block {
    zf_decoder *decoder;
    const zf_abi_code *code;
    uint64_t count;
    unsigned element;
    uint8_t *plain;
    uint64_t params[PARAMS], counts[32];
    stream streams[STREAMS];
    uint64_t *records; ///< of the one tree
} block;

typedef struct workload {
    const char *name, *type, *codec;
    void (*fill)(block *b, unsigned width);
    unsigned width;
} workload;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *allocate(size_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 8191) & ~(size_t)4095);
    if (p == NULL) {
        fprintf(stderr, "zf-bench: no memory\n");
        exit(1);
    }
    memset(p, 1, bytes + 1);
    return p;
}

static uint64_t seed = 1;
static uint64_t random_bits(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed ^ seed >> 29) * 0x9e3779b97f4a7c15u >> 13;
}

// ---- Filling blocks -------------------------------------------------------------------------------------------

static int edge_of(const block *b, const char *path) {
    for (uint32_t e = 0; e < b->decoder->graph->edge_count; e++) {
        if (strcmp(b->decoder->graph->edges[e].path, path) == 0) return (int)e;
    }
    fprintf(stderr, "zf-bench: no edge %s\n", path);
    exit(1);
}

static void set_param(block *b, const char *path, uint64_t value) {
    for (uint32_t p = 0; p < b->decoder->shape.param_count; p++) {
        if (strcmp(b->decoder->shape.params[p].path, path) == 0) b->params[p] = value;
    }
}

static void set_stream(block *b, const char *path, const void *data, uint64_t bytes, uint64_t elements) {
    int edge = edge_of(b, path);
    stream *s = &b->streams[b->decoder->graph->edges[edge].stored];
    s->data = allocate(bytes + 16);
    memcpy(s->data, data, bytes);
    s->bytes = bytes;
    s->elements = elements;
    b->counts[edge] = elements;
}

/// A bitpack under `path` ("" or "values"): values of `width` bits over `base`.
static void set_bitpack(block *b, const char *path, const uint64_t *values, uint64_t count, unsigned width, uint64_t base) {
    char name[64];
    const char *dot = path[0] == 0 ? "" : ".";
    uint64_t words = (count * width + 31) / 32;
    uint8_t *bytes = calloc(words * 4 + 16, 1);
    for (uint64_t k = 0; bytes != NULL && k < count; k++) {
        wide word;
        uint64_t at = k * width;
        memcpy(&word, bytes + at / 8, 16);
        word |= (wide)values[k] << (at % 8);
        memcpy(bytes + at / 8, &word, 16);
    }
    snprintf(name, sizeof(name), "%s%swidth", path, dot);
    set_param(b, name, width);
    snprintf(name, sizeof(name), "%s%sbase", path, dot);
    set_param(b, name, base);
    snprintf(name, sizeof(name), "%s%spacked", path, dot);
    set_stream(b, name, bytes, words * 4, words);
    b->counts[edge_of(b, path)] = count;
    free(bytes);
}

static uint64_t masked(uint64_t v, unsigned width) { return width >= 64 ? v : v & (((uint64_t)1 << width) - 1); }

static uint64_t *some_values(uint64_t count, unsigned width) {
    uint64_t *values = allocate(8 * count + 8);
    for (uint64_t k = 0; k < count; k++) values[k] = masked(random_bits() ^ random_bits() << 40, width);
    return values;
}

static void put(block *b, uint64_t at, uint64_t v) { memcpy(b->plain + at * b->element, &v, b->element); }

static void fill_bitpack(block *b, unsigned width) {
    uint64_t *values = some_values(b->count, width);
    for (uint64_t k = 0; k < b->count; k++) put(b, k, values[k] + 5);
    set_bitpack(b, "", values, b->count, width, 5);
    free(values);
}

static void fill_dictionary(block *b, unsigned width) {
    uint64_t *codes = some_values(b->count, width), entries = (uint64_t)1 << width;
    uint64_t *values = some_values(entries, 32);
    uint8_t *packed = allocate(entries * b->element);
    for (uint64_t k = 0; k < entries; k++) memcpy(packed + k * b->element, &values[k], b->element);
    for (uint64_t k = 0; k < b->count; k++) put(b, k, values[codes[k]]);
    set_bitpack(b, "codes", codes, b->count, width, 0);
    set_stream(b, "entries", packed, entries * b->element, entries);
    free(codes), free(values), free(packed);
}

static void fill_float2int(block *b, unsigned width) {
    uint64_t *values = some_values(b->count, width);
    for (uint64_t k = 0; k < b->count; k++) {
        double v = (double)(int64_t)(values[k] + 90000) / 100.0;
        memcpy(b->plain + 8 * k, &v, 8);
    }
    set_param(b, "digits", 2);
    set_bitpack(b, "ints", values, b->count, width, 90000);
    free(values);
}

static void fill_delta(block *b, unsigned width) {
    uint64_t *values = some_values(b->count, width), v = 77;
    for (uint64_t k = 0; k < b->count; k++) {
        put(b, k, v);
        v += values[k] - 3;
    }
    set_param(b, "first", 77);
    set_bitpack(b, "deltas", values, b->count - 1, width, (uint64_t)-3);
    free(values);
}

/// Runs of 1..2 * mean - 1 elements; their number. `sizes` holds the block's count.
static uint64_t runs(const block *b, unsigned mean, uint64_t *sizes) {
    uint64_t groups = 0;
    for (uint64_t at = 0; at < b->count; groups++) {
        uint64_t size = 1 + random_bits() % (2 * mean - 1);
        sizes[groups] = size > b->count - at ? b->count - at : size;
        at += sizes[groups];
    }
    return groups;
}

static unsigned bits_for(uint64_t most) { return most == 0 ? 0 : 64 - (unsigned)__builtin_clzll(most); }

static void fill_rle(block *b, unsigned mean) {
    uint64_t *sizes = allocate(8 * b->count), groups = runs(b, mean, sizes), at = 0;
    uint64_t *values = some_values(groups, 11);
    for (uint64_t g = 0; g < groups; g++) {
        for (uint64_t j = 0; j < sizes[g]; j++) put(b, at++, values[g] + 9);
        sizes[g]--;
    }
    set_bitpack(b, "values", values, groups, 11, 9);
    set_bitpack(b, "counts", sizes, groups, bits_for(2 * mean - 2), 1);
    free(sizes), free(values);
}

static void fill_delta_stride(block *b, unsigned mean) {
    uint64_t *sizes = allocate(8 * b->count), groups = runs(b, mean, sizes), at = 0;
    uint64_t *starts = some_values(groups, 27), *strides = some_values(groups, 5);
    for (uint64_t g = 0; g < groups; g++) {
        for (uint64_t j = 0; j < sizes[g]; j++) put(b, at++, starts[g] + j * (strides[g] - 16));
        sizes[g]--;
    }
    set_bitpack(b, "start", starts, groups, 27, 0);
    set_bitpack(b, "stride", strides, groups, 5, (uint64_t)-16);
    set_bitpack(b, "count", sizes, groups, bits_for(2 * mean - 2), 1);
    free(sizes), free(starts), free(strides);
}

static const workload workloads[] = {
    {"bitpack-1", "u32", "bitpack", fill_bitpack, 1},
    {"bitpack-7", "u32", "bitpack", fill_bitpack, 7},
    {"bitpack-16", "u32", "bitpack", fill_bitpack, 16},
    {"bitpack-25", "u32", "bitpack", fill_bitpack, 25},
    {"bitpack-32", "u32", "bitpack", fill_bitpack, 32},
    {"bitpack-7", "i64", "bitpack", fill_bitpack, 7},
    {"bitpack-16", "i64", "bitpack", fill_bitpack, 16},
    {"bitpack-25", "i64", "bitpack", fill_bitpack, 25},
    {"bitpack-40", "i64", "bitpack", fill_bitpack, 40},
    {"bitpack-3", "u8", "bitpack", fill_bitpack, 3},
    {"dictionary-4", "i32", "dictionary(codes: bitpack)", fill_dictionary, 4},
    {"dictionary-12", "i32", "dictionary(codes: bitpack)", fill_dictionary, 12},
    {"float2int-20", "f64", "float2int(bitpack)", fill_float2int, 20},
    {"delta-5", "i32", "delta(bitpack)", fill_delta, 5},
    {"delta-5", "i64", "delta(bitpack)", fill_delta, 5},
    {"rle-mean-4", "i32", "rle(bitpack, bitpack)", fill_rle, 4},
    {"rle-mean-64", "i32", "rle(bitpack, bitpack)", fill_rle, 64},
    {"rle-mean-4", "i64", "rle(bitpack, bitpack)", fill_rle, 4},
    {"delta_stride-mean-4", "i64", "delta_stride(bitpack, bitpack, bitpack)", fill_delta_stride, 4},
    {"delta_stride-mean-64", "i64", "delta_stride(bitpack, bitpack, bitpack)", fill_delta_stride, 64},
};

// ---- Running --------------------------------------------------------------------------------------------------

/// The block's streams and states, laid out once in memory of their own.
typedef struct placed {
    uint8_t *base;
    uint64_t *slots;
    uint64_t bytes;
} placed;

static uint64_t round_up(uint64_t n) { return (n + 16 + 255) & ~(uint64_t)255; }

static placed place(const block *b) {
    const zf_plan *plan = b->decoder->plan;
    uint64_t tiles = (b->count - 1) / b->decoder->abi.kernels[0].tile + 1,
             fields = plan->tree_count == 0 ? 0 : plan->trees[0].field_count;
    uint64_t offsets[STREAMS] = {0}, seeks[8] = {0}, total = 0;
    for (uint32_t s = 0; s < b->decoder->graph->stored_count; s++) {
        offsets[s] = total;
        total += round_up(b->streams[s].bytes);
    }
    for (uint64_t f = 0; f < fields; f++) {
        seeks[f] = total;
        total += round_up(8 * (tiles - 1));
    }
    placed p = {.base = allocate(total), .slots = allocate(8 * (plan->slot_count + 1)), .bytes = total};
    for (uint32_t s = 0; s < b->decoder->graph->stored_count; s++)
        memcpy(p.base + offsets[s], b->streams[s].data, b->streams[s].bytes);
    for (uint64_t f = 0; f < fields && b->records != NULL; f++) {
        memcpy(p.base + seeks[f], b->records + f * (tiles - 1), 8 * (tiles - 1));
    }
    for (uint32_t s = 0; s < plan->slot_count; s++) {
        const zf_abi_slot *slot = &plan->slots[s];
        p.slots[s] = slot->kind == ZF_SLOT_PARAM         ? b->params[slot->a]
                     : slot->kind == ZF_SLOT_OFFSET      ? offsets[slot->a]
                     : slot->kind == ZF_SLOT_COUNT       ? b->counts[slot->a]
                     : slot->kind == ZF_SLOT_SEEK_OFFSET ? seeks[slot->b]
                                                         : 8;
    }
    return p;
}

static bool decode(const block *b, const placed *p, uint8_t *out, zf_abi_mode mode, uint64_t *record) {
    uint64_t failure = ZF_ABI_NO_FAILURE;
    zf_abi_args args = {
        .base = p->base, .slots = p->slots, .out = out, .record = record, .failure = &failure, .mode = (uint32_t)mode};
    args.tiles = (b->count - 1) / b->decoder->abi.kernels[0].tile + 1;
    if (b->code->check != NULL) b->code->check(&args);
    if (failure == ZF_ABI_NO_FAILURE) b->code->kernels[0](&args, 0, args.tiles);
    return failure == ZF_ABI_NO_FAILURE;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times, unsigned count) {
    qsort(times, count, sizeof(*times), compare);
    return times[count / 2];
}

typedef struct options {
    uint64_t bytes;
    unsigned repeats, optimise;
    const char *only;
    bool text, general;
} options;

typedef struct session {
    zf_context *context;
    zf_compiler *compiler;
    zf_spec *spec;
    uint8_t *source, *out;
} session;

static zf_type type_named(const char *name) {
    unsigned k = 0;
    while (k < ZF_K_OPAQUE && strcmp(zf_kind_name((zf_kind)k), name) != 0) k++;
    return zf_type_of((zf_kind)k);
}

static bool prepare(const session *s, const workload *w, bool general, block *b, zf_error *error) {
    zf_column *column = zf_spec_resolve_codec(s->spec, "x", type_named(w->type), w->codec);
    if (column == NULL ||
        zf_decoder_create(s->compiler, s->spec, column, NULL, 0, (zf_abi_target){0}, 0, &b->decoder, error) != ZF_OK)
        return false;
    if (b->decoder->plan->kernel_count != 1) return false;
    b->element = zf_kind_size(column->type.kind);
    b->count = BLOCK_BYTES / b->element;
    b->plain = allocate(BLOCK_BYTES);
    b->counts[0] = b->count;
    w->fill(b, w->width);
    uint64_t shaping[PARAMS];
    for (uint32_t k = 0; k < b->decoder->plan->shaping_count; k++) shaping[k] = b->params[b->decoder->plan->shaping[k]];
    return zf_decoder_code_for(b->decoder, general ? NULL : shaping, &b->code, error) == ZF_OK;
}

static bool run(const session *s, const options *o, const workload *w, bool first) {
    block b = {0};
    zf_error error = {0};
    if (!prepare(s, w, o->general, &b, &error)) {
        fprintf(stderr, "zf-bench: %s %s: %s %s\n", w->name, w->type, error.code, error.message);
        return false;
    }
    if (b.decoder->plan->tree_count > 0) { // states, as the encoder gets them
        placed p = place(&b);
        b.records = allocate(8 * 8 * (b.count / 256));
        if (!decode(&b, &p, s->out, ZF_ABI_RECORD, b.records)) fprintf(stderr, "zf-bench: %s: recording failed\n", w->name);
        free(p.base), free(p.slots);
    }
    uint64_t blocks = o->bytes / BLOCK_BYTES;
    placed *copies = allocate(blocks * sizeof(*copies));
    for (uint64_t k = 0; k < blocks; k++) copies[k] = place(&b);
    memset(s->out, 0x5a, o->bytes);
    double copy_times[MOST_REPEATS], times[MOST_REPEATS];
    bool good = true;
    for (unsigned r = 0; r <= o->repeats; r++) { // the first round warms up
        double t0 = now();
        memcpy(s->out, s->source, o->bytes);
        double t1 = now();
        for (uint64_t k = 0; k < blocks; k++)
            good = decode(&b, &copies[k], s->out + k * BLOCK_BYTES, ZF_ABI_DECODE, NULL) && good;
        double t2 = now();
        if (r == 0) continue;
        copy_times[r - 1] = t1 - t0;
        times[r - 1] = t2 - t1;
    }
    for (uint64_t k = 0; k < blocks; k++) good = memcmp(s->out + k * BLOCK_BYTES, b.plain, BLOCK_BYTES) == 0 && good;
    double copy = median(copy_times, o->repeats), seconds = median(times, o->repeats), plain = (double)o->bytes;
    uint64_t stored = 0;
    for (uint32_t k = 0; k < b.decoder->graph->stored_count; k++) stored += b.streams[k].bytes;
    stored *= blocks;
    if (o->text) {
        printf("%-24s %-4s %7.2f GB/s %6.1f%% of memcpy (%.2f GB/s) ratio %6.2f%s\n", w->name, w->type, plain / seconds * 1e-9,
               100 * copy / seconds, plain / copy * 1e-9, plain / (double)stored, good ? "" : "  WRONG");
    } else {
        printf("%s    {\"name\": \"%s\", \"type\": \"%s\", \"codec\": \"%s\", \"plain_bytes\": %" PRIu64
               ", \"stream_bytes\": %" PRIu64
               ", \"decode_seconds\": %.6f, \"memcpy_seconds\": %.6f, \"decode_gb_per_s\": %.3f, \"percent_of_memcpy\": %.1f, "
               "\"verified\": %s}",
               first ? "" : ",\n", w->name, w->type, w->codec, o->bytes, stored, seconds, copy, plain / seconds * 1e-9,
               100 * copy / seconds, good ? "true" : "false");
    }
    fflush(stdout);
    for (uint64_t k = 0; k < blocks; k++) free(copies[k].base), free(copies[k].slots);
    for (unsigned k = 0; k < STREAMS; k++) free(b.streams[k].data);
    free(copies), free(b.plain), free(b.records);
    zf_decoder_free(b.decoder);
    return good;
}

static bool read_options(int count, char **arguments, options *o) {
    for (int k = 1; k < count; k++) {
        bool more = k + 1 < count;
        if (strcmp(arguments[k], "--text") == 0)
            o->text = true;
        else if (strcmp(arguments[k], "--general") == 0)
            o->general = true; // one kernel for all shaping values
        else if (more && strcmp(arguments[k], "--bytes") == 0)
            o->bytes = strtoull(arguments[++k], NULL, 0);
        else if (more && strcmp(arguments[k], "--repeats") == 0)
            o->repeats = (unsigned)strtoul(arguments[++k], NULL, 0);
        else if (more && strcmp(arguments[k], "--optimise") == 0)
            o->optimise = (unsigned)strtoul(arguments[++k], NULL, 0);
        else if (more && strcmp(arguments[k], "--only") == 0)
            o->only = arguments[++k];
        else
            return false;
    }
    o->bytes -= o->bytes % BLOCK_BYTES;
    return o->bytes > 0 && o->repeats > 0 && o->repeats <= MOST_REPEATS;
}

int main(int count, char **arguments) {
    options o = {.bytes = 256 << 20, .repeats = 9};
    if (!read_options(count, arguments, &o)) {
        fprintf(stderr, "usage: zf-bench [--bytes N] [--repeats 1..101] [--only NAME] [--optimise 1..4] [--general] [--text]\n");
        return 2;
    }
    session s = {0};
    zf_error error = {0};
    zf_context_options context_options = {.cache_dir = ""};
    zf_compiler_options compiler_options = {.optimise = o.optimise};
    if (zf_context_create(&context_options, &s.context, &error) != ZF_OK ||
        zf_compiler_create(s.context, &compiler_options, &s.compiler, &error) != ZF_OK) {
        fprintf(stderr, "zf-bench: %s %s\n", error.code, error.message);
        return 1;
    }
    zf_spec_options spec_options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    s.spec = zf_spec_create(&spec_options);
    static const char program[] = "const UNUSED: u8 = 0;";
    if (!zf_spec_add_text(s.spec, "bench.zf", program, strlen(program)) || !zf_spec_check(s.spec)) {
        fprintf(stderr, "zf-bench: the standard library does not check\n");
        return 1;
    }
    s.source = allocate(o.bytes);
    s.out = allocate(o.bytes);
    if (!o.text) {
        printf("{\n  \"counted\": \"plain bytes written per second by kernels on one thread, buffers touched before; memcpy of "
               "as many "
               "plain bytes in turn with them; medians of %u\",\n  \"llvm\": \"%s\",\n  \"repeats\": %u,\n  \"results\": [\n",
               o.repeats, zf_compiler_llvm_version(), o.repeats);
    }
    bool good = true, first = true;
    for (size_t k = 0; k < sizeof(workloads) / sizeof(workloads[0]); k++) {
        if (o.only != NULL && strstr(workloads[k].name, o.only) == NULL) continue;
        good = run(&s, &o, &workloads[k], first) && good;
        first = false;
    }
    if (!o.text) printf("\n  ]\n}\n");
    zf_spec_destroy(s.spec);
    zf_compiler_free(s.compiler);
    zf_context_free(s.context);
    free(s.source), free(s.out);
    return good ? 0 : 1;
}
