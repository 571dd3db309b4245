// The decoders of a compiler, shared by everybody who asks for the same: containers of one table, all blocks of an encode,
// modules that are made, and `zfc explain`.
//
// A decoder is found by its identity: the text of the codecs, the column, the branches and the plan request. The hash of the
// identity finds candidates, and all of its bytes are compared. Holders are counted. A decoder that nobody holds stays until the
// cache has more than ZF_DECODERS_MOST; then the least recently used one of those goes. A text lives as long as a holder or a
// decoder of it, so ten thousand containers of one table are parsed, planned and lowered once.
#ifndef ZF_COMPILER_DECODER_CACHE_H
#define ZF_COMPILER_DECODER_CACHE_H

#include "compiler/decoder/decoder.h"
#include "frontend/spec/spec.h"

enum { ZF_DECODERS_MOST = 256 }; ///< kept, unless more are held

typedef struct zf_decoder_cache zf_decoder_cache;

/// The codecs of a container or a program, checked. Read-only for holders.
typedef struct zf_codec_text {
    zf_spec *spec;
    const zf_table *table;    ///< of a container; NULL for a program
    const char *name;         ///< what places in errors call the text of a container: "lineitem.zf"
    zf_declarations declared; ///< of a container
} zf_codec_text;

/// A decoder, for its holders.
typedef struct zf_cached_decoder {
    zf_decoder *decoder;
} zf_cached_decoder;

/// Counters since creation, and what the cache has now.
typedef struct zf_decoder_cache_stats {
    uint64_t parsed;  ///< texts of containers
    uint64_t planned; ///< decoders made
    uint64_t found;   ///< requests that the cache served
    uint64_t evicted; ///< decoders
    size_t texts, decoders, held;
} zf_decoder_cache_stats;

/// Creates a cache for the decoders of a compiler, or returns NULL without memory. Any thread may use it.
zf_decoder_cache *zf_decoder_cache_create(zf_compiler *compiler);
/// Frees the cache with all texts and decoders. Nobody may hold any.
void zf_decoder_cache_free(zf_decoder_cache *cache);

/// Finds or parses the text of a container, and holds it. Release it with zf_codec_text_release.
/// Errors: ZF_ERR_INPUT where the text is damaged, with a place in the container, or has programs that the container may not
/// bring (zf_open_options.programs). A failure is not kept.
zf_status zf_codec_text_hold(zf_decoder_cache *cache, const zf_container *container, zf_codec_text **out, zf_error *error);
/// The same for the canonical text of a program's table, which files of the table carry.
zf_status zf_codec_text_hold_canonical(zf_decoder_cache *cache, const char *canonical, size_t length, const char *table,
                                       zf_codec_text **out, zf_error *error);
/// Makes a text of a program's spec, and holds it. The text owns the spec. NULL: no memory, and the caller keeps the spec.
/// A program's text is nobody else's: zf_codec_text_drop releases it with its decoders, which nobody may hold.
zf_codec_text *zf_codec_text_adopt(zf_spec *spec);
void zf_codec_text_release(zf_decoder_cache *cache, zf_codec_text *text);
void zf_codec_text_drop(zf_decoder_cache *cache, zf_codec_text *text);

/// Gives a column of a held text its whole budget of compiling again (zf_compiler_options.compile_budget), for a file that is
/// decoded or written from now on. All vectors of alternatives and all devices share it. Returns it; it lives as long as the
/// text. NULL: no memory.
zf_compile_budget *zf_codec_text_renew_budget(zf_decoder_cache *cache, zf_codec_text *text, const zf_column *column);

/// Finds or makes the decoder of a column of a held text, and holds it. Release it with zf_cached_decoder_release.
/// Callers may hold locks: decoders that this evicts are freed by zf_decoder_cache_sweep. Arguments and errors are those of
/// zf_decoder_create. A failure is not kept. Columns of one text are planned one at a time.
zf_status zf_cached_decoder_hold(zf_decoder_cache *cache, zf_codec_text *text, const zf_column *column, const uint8_t *branches,
                                 size_t branch_count, const zf_plan_request *request, zf_cached_decoder **out, zf_error *error);
/// Releases a held decoder (NULL: nothing). Its code may be freed at once: no decode may use it any more. Callers may hold locks,
/// as above.
void zf_cached_decoder_release(zf_decoder_cache *cache, zf_cached_decoder *decoder);
/// Frees the decoders that were evicted. Call it after zf_cached_decoder_hold and zf_cached_decoder_release, without locks: a
/// device may wait for its work before it unloads their code.
void zf_decoder_cache_sweep(zf_decoder_cache *cache);

zf_decoder_cache_stats zf_decoder_cache_stats_of(zf_decoder_cache *cache);

#endif
