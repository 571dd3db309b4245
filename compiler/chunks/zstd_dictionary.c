#include "compiler/chunks/zstd_dictionary.h"

#define MAGIC 0xec30a437

enum {
    DICTIONARY_MOST = 16 << 20, ///< bytes: each block of the container has them
    MAGIC_BYTES = 4,
    HEAD_BYTES = 8,
};

/// Reads what a dictionary has for frames, behind its number.
static zf_status read_made(zf_zstd_dictionary *d, zf_zstd_reader *r, zf_error *error) {
    static const uint8_t order[ZF_ZSTD_KINDS] = {1, 2, 0}; // of the tables: distances, copies, literals
    d->id = (uint32_t)zf_zstd_take_number(r, 4);
    d->code = zf_zstd_pass_code(r, &d->code_bytes);
    if (r->bad) return zf_zstd_cut(r, error);
    if (!zf_zstd_code_holds(d->code, d->code_bytes)) return zf_zstd_refuse(r, "the code of literals in front is none", error);
    for (unsigned k = 0; k < ZF_ZSTD_KINDS; k++) ZF_TRY(zf_zstd_take_table(&d->tables, r, order[k], ZF_ZSTD_DESCRIBED, error));
    for (unsigned k = 0; k < ZF_ZSTD_KINDS; k++) d->recent[k] = (uint32_t)zf_zstd_take_number(r, 4);
    if (r->bad) return zf_zstd_cut(r, error);
    for (unsigned k = 0; k < ZF_ZSTD_KINDS; k++) {
        if (d->recent[k] == 0 || d->recent[k] > (uint64_t)(r->end - r->at))
            return zf_zstd_refuse(r, "a distance is 0, or beyond its bytes", error);
    }
    return ZF_OK;
}

zf_status zf_zstd_dictionary_read(const uint8_t *bytes, uint64_t size, zf_zstd_dictionary *out, zf_error *error) {
    if (size > DICTIONARY_MOST)
        return zf_raise(error, ZF_E_CHUNK_DICTIONARY, "the dictionary has %llu bytes; at most %d are allowed",
                        (unsigned long long)size, DICTIONARY_MOST);
    zf_zstd_reader r = {.begin = bytes, .at = bytes, .end = bytes + size, .of_dictionary = true};
    *out = (zf_zstd_dictionary){.recent = {1, 4, 8}, .made = size >= HEAD_BYTES && zf_chunk_number(bytes, 4) == MAGIC};
    if (out->made) {
        zf_zstd_take(&r, MAGIC_BYTES);
        ZF_TRY(read_made(out, &r, error));
    }
    out->content = r.at;
    out->size = (uint64_t)(r.end - r.at);
    return ZF_OK;
}
