// Zones of the rows that units make: the accelerator finds what they hold, and the host compares that with the index.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/decode/decode_unit_internal.h"

enum { FOUND_WORDS = sizeof(zf_zone_found) / sizeof(uint64_t) };

uint64_t zf_units_zone_words(const zf_units_column *column, uint64_t rows) {
    return column->selection.zones ? zf_zones_of(rows) * FOUND_WORDS : 0;
}

uint64_t zf_units_span_bytes(const zf_units_column *column, uint64_t rows) {
    return column->selection.zones ? zf_zones_of(rows) * sizeof(zf_unit_zone_span) : 0;
}

zf_status zf_units_list_zones(zf_units *units, zf_error *error) {
    const zf_selection *s = &units->column->selection;
    uint64_t most = 0, begin, end, zone, last;
    units->zone_word = units->words;
    if (!s->zones || units->column->options.copies > 1) return ZF_OK;
    for (uint64_t b = 0; b < units->block_count; b++) most += zf_zones_of(s->column->blocks[units->first_block + b].rows);
    units->zones = calloc(most + 1, sizeof *units->zones);
    units->spans = calloc(most + 1, sizeof *units->spans);
    if (units->zones == NULL || units->spans == NULL)
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the zones of a decode");
    for (uint64_t b = 0; b < units->block_count; b++) {
        const zf_index_block *block = &s->column->blocks[units->first_block + b];
        zf_selection_rows(s, units->first_block + b, &begin, &end);
        for (zf_selection_zones(s, units->first_block + b, begin, end, &zone, &last); zone < last; zone++) {
            units->zones[units->zone_count] = (zf_unit_zone){b, zone};
            units->spans[units->zone_count++] =
                (zf_unit_zone_span){block->zones[zone].first_row - s->begin, block->zones[zone].rows};
        }
    }
    if (units->zone_count > (UINT32_MAX - units->words) / FOUND_WORDS)
        return zf_raise(error, ZF_E_TOO_LARGE, "%llu zones are more than a decode can compare",
                        (unsigned long long)units->zone_count);
    units->words += (uint32_t)(units->zone_count * FOUND_WORDS);
    return ZF_OK;
}

zf_status zf_units_upload_zones(const zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    const void *from = units->spans;
    uint64_t bytes = units->zone_count * sizeof *units->spans;
    if (bytes == 0) return ZF_OK;
    if (memory->staging != NULL) from = memcpy((uint8_t *)memory->staging + units->staged_spans, units->spans, bytes);
    return units->accelerator->ops->copy_in(units->accelerator, stream, zf_units_head(memory) + units->at_spans, from, bytes,
                                            error);
}

zf_status zf_units_find_zones(const zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    const zf_units_column *column = units->column;
    const zf_selection *s = &column->selection;
    if (units->zone_count == 0) return ZF_OK;
    for (uint64_t b = 0; b < units->block_count; b++) {
        if (units->blocks[b].backwards != ZF_ABI_NO_FAILURE) return ZF_OK; // rows are left out, and the decode fails
    }
    zf_zones_args args = {.spans = zf_units_head(memory) + units->at_spans,
                          .values = memory->values,
                          .offsets = column->is_text ? memory->offsets : 0,
                          .validity = column->nullable ? memory->validity : 0,
                          .validity_skip = units->sizes.validity_skip,
                          .words = zf_units_head(memory),
                          .found = zf_units_head(memory) + units->zone_word * UINT64_C(8),
                          .count = (uint32_t)units->zone_count,
                          .word_count = (uint32_t)units->zone_word,
                          .element = s->column->type.element,
                          .values_bytes = units->sizes.values,
                          .offsets_bytes = units->sizes.offsets,
                          .validity_bytes = units->sizes.validity};
    if (!column->is_text) args.skip = s->bits == 1 ? units->sizes.skip : units->sizes.skip / (s->bits / 8);
    return units->accelerator->ops->zones(units->accelerator, stream, &args, error);
}

zf_status zf_units_check_zones(const zf_units *units, const uint64_t *words, zf_error *error) {
    for (uint64_t z = 0; z < units->zone_count; z++) {
        zf_zone_found found;
        memcpy(&found, words + units->zone_word + z * FOUND_WORDS, sizeof found);
        ZF_TRY(zf_selection_check_zone(&units->column->selection, units->first_block + units->zones[z].block,
                                       units->zones[z].zone, &found, error));
    }
    return ZF_OK;
}
