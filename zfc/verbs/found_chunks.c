#include "zfc/verbs/found_chunks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

enum { SLOW_BYTES = 1 << 20 }; ///< of a chunk, above which a GPU decodes it slowly

typedef unsigned long long ull;

static bool is_gzip(const zf_found_chunks *found) { return (unsigned char)found->bytes[0] == 0x1f; }

/// How to make a file with shorter chunks.
static const char *advice(const zf_found_chunks *found) {
    return is_gzip(found) ? "`bgzip` makes members of 64 KiB, and `split -b 1M --filter=gzip FILE > FILE.gz` of 1 MiB"
                          : "`split -b 1M --filter=zstd FILE > FILE.zst` makes frames of 1 MiB";
}

static zf_status check_largest(const zf_found_chunks *found, const zf_codec_node *codec, size_t largest, zf_error *error) {
    const zf_wrapped_chunk *chunk = &found->chunks[largest];
    if (chunk->rows <= codec->chunk_size) return ZF_OK;
    bool longer = chunk->rows <= ZF_UNEVEN_CHUNK_MOST;
    zf_status status = zf_raise(error, ZF_E_WRAPPED_CHUNK, "the largest %s makes %llu bytes; a chunk of %s has at most %llu",
                                is_gzip(found) ? "member" : "frame", (ull)chunk->rows, longer ? codec->inst->name : "any codec",
                                (ull)(longer ? codec->chunk_size : ZF_UNEVEN_CHUNK_MOST));
    zf_fail_place(error, status, "%.200s, byte %llu", found->path, (ull)((const char *)chunk->bytes - found->bytes));
    if (!longer) return zf_fail_hint(error, status, "%s", advice(found));
    return zf_fail_hint(error, status, "give the codec longer chunks: `chunk: %llu` among the arguments of `%.64s`",
                        (ull)chunk->rows, codec->inst->algorithm->name);
}

/// Says what a GPU makes of the column, if it is not fast.
static void note_slow(const zf_found_chunks *found, const zf_codec_node *codec, uint64_t largest) {
    char text[32], how[64] = "decodes slowly, each by one warp", enough[48];
    bool refused = codec->chunk_size > ZF_CHUNK_MOST, needless = refused && largest <= ZF_CHUNK_MOST;
    if (largest <= SLOW_BYTES && !refused) return;
    if (refused) snprintf(how, sizeof how, "refuses, since `chunk` is above %d", ZF_CHUNK_MOST);
    snprintf(enough, sizeof enough, "`chunk: %llu` is enough", (ull)largest);
    fprintf(stderr, "zfc wrap: note: ");
    zf_print_line(stderr, "column `%s` has chunks of up to %s, which a GPU %s; %s", found->column, zf_bytes_text(largest, text),
                  how, needless ? enough : advice(found));
}

/// Says that a file of BGZF may be cut where a block ends, which nothing else shows.
static void note_no_end(const zf_found_chunks *found, uint64_t size) {
    static const unsigned char end[28] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0, 0x1b, 0, 3};
    bool is_bgzf = size >= sizeof end && memcmp(found->bytes, end, 4) == 0 && memcmp(found->bytes + 10, end + 10, 6) == 0;
    if (!is_bgzf || memcmp(found->bytes + size - sizeof end, end, sizeof end) == 0) return;
    fprintf(stderr, "zfc wrap: note: ");
    zf_print_line(stderr, "%s has no empty block of BGZF at its end, so it may be cut", found->path);
}

/// Says that checksums are left unread, if the codec could compare them.
static void note_unchecked(const zf_found_chunks *found, const zf_codec_node *codec) {
    for (uint32_t p = 0; p < codec->inst->param_count; p++) {
        if (strcmp(codec->inst->params[p]->name, "check") != 0 || (codec->param_given[p] && codec->param_bits[p] != 0)) continue;
        fprintf(stderr, "zfc wrap: note: ");
        zf_print_line(stderr,
                      "damage that only the checksums of %s tell is not noticed; `%s(check: 1)` compares them in each decode",
                      found->path, codec->inst->algorithm->name);
    }
}

zf_status zf_found_check(const zf_found_chunks *found, const zf_table *table, bool quiet, zf_error *error) {
    const zf_column *column = table->columns;
    while (column != NULL && strcmp(column->name, found->column) != 0) column = column->next;
    if (column == NULL || column->codec->count != 1) return ZF_OK;
    const zf_codec_node *codec = column->codec->alternatives[0];
    if (codec->inst->pattern != ZF_NON_PARALLEL) return ZF_OK;
    if (column->type.kind != ZF_K_STRING && zf_element_bits((zf_element)column->type.kind) != 8) {
        zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_CHUNK_LIST, "column `%s` has no rows of one byte, and %s has no list of sizes",
                column->name, found->path);
        return zf_fail_hint(error, ZF_ERR_USAGE, "chunks are found for columns of bytes; give others a list, by --sizes");
    }
    size_t largest = 0;
    for (size_t k = 1; k < found->count; k++)
        if (found->chunks[k].rows > found->chunks[largest].rows) largest = k;
    ZF_TRY(check_largest(found, codec, largest, error));
    if (quiet) return ZF_OK;
    const zf_wrapped_chunk *last = &found->chunks[found->count - 1];
    note_slow(found, codec, found->chunks[largest].rows);
    note_unchecked(found, codec);
    note_no_end(found, (uint64_t)((const char *)last->bytes - found->bytes) + last->size);
    return ZF_OK;
}

void zf_found_explain(const zf_found_chunks *found, zf_error *error) {
    char begin[160];
    snprintf(begin, sizeof begin, "column %.128s,", found->column);
    const char *chunk = strstr(error->place, ", chunk ");
    if (chunk == NULL || strncmp(error->place, begin, strlen(begin)) != 0) return;
    uint64_t k = strtoull(chunk + strlen(", chunk "), NULL, 10);
    if (k >= found->count) return;
    uint64_t byte = (uint64_t)((const char *)found->chunks[k].bytes - found->bytes);
    zf_fail_hint(error, error->status,
                 "%llu bytes from byte %llu on are damaged, or are not for the column's codec; the file: %.120s",
                 (ull)found->chunks[k].size, (ull)byte, found->path);
}
