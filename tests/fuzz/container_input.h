// Inputs of fuzz_container: containers whose text is empty. Before a run the text of the table that they name is put in, so that
// inputs are small and stay useful when a page of the library changes.
#ifndef ZF_TESTS_CONTAINER_INPUT_H
#define ZF_TESTS_CONTAINER_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACES_ROWS = 64, PLACES_FEATURES = 16, PLACES_COLUMNS = 4 };

/// A feature that the index names.
typedef struct container_feature {
    bool required;
    unsigned bit;
    size_t name;    ///< of the length word of its name
    size_t section; ///< of the length word of its section; 0: it has none. Required features never have one
} container_feature;

/// Where the parts of a container's index are, in bytes of the file.
typedef struct container_places {
    size_t index, end; ///< of the index
    size_t content;    ///< the end of its columns; zeros behind it
    size_t name;       ///< of the table's name
    uint32_t name_length;
    size_t text; ///< of the length word of the text
    uint32_t text_length;
    size_t features; ///< of the two words with the bits of features; 0: version 1
    uint32_t feature_count;
    container_feature names[PLACES_FEATURES];
    uint32_t column_count;
    size_t rows_per_block[PLACES_COLUMNS];
    uint32_t row_count;
    size_t rows[PLACES_ROWS]; ///< of the index's row of each block
} container_places;

/// Finds the parts. False for bytes that are not nearly a container.
bool container_find(const uint8_t *bytes, size_t size, container_places *out);
/// Makes the checksums right: of blocks, of the index, of the footer.
void container_mend(uint8_t *bytes, size_t size, const container_places *places);
/// Returns a copy with another text, which the caller frees. A right checksum of the index or the footer is right afterwards, a
/// wrong one wrong.
uint8_t *container_with_text(const uint8_t *bytes, size_t size, const container_places *places, const char *text, size_t length,
                             size_t *out_size);
/// Returns a copy with other bytes in place of some of the index's content, which the caller frees. Checksums as above.
uint8_t *container_with_bytes(const uint8_t *bytes, size_t size, const container_places *places, size_t at, size_t old_length,
                              const void *content, size_t length, size_t *out_size);
/// Returns where the words at the end of a block's header stand, in bytes of the file, or 0 where its header is too long.
size_t container_block_end(const uint8_t *bytes, const container_places *places, uint32_t row);
/// Returns a copy with another block, which the caller frees. Checksums are wrong afterwards.
uint8_t *container_with_block(const uint8_t *bytes, size_t size, const container_places *places, uint32_t row,
                              const uint8_t *block, size_t block_size, size_t *out_size);

#endif
