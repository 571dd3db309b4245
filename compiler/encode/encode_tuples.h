// Which tuple of shaping values a block is stored with. A block whose own tuple is new to its column takes an earlier block's,
// with wider fields, if it grows by less than 1%: each tuple costs readers a compilation, and only some get code of their own.
//
// Blocks choose in their order, whatever thread has them, and the file numbers their shapes in this order: a file does not
// depend on the number of threads. A block's turn comes when its streams are made, before they are checked: threads wait for
// each other about as long as they do to write.
#ifndef ZF_COMPILER_ENCODE_TUPLES_H
#define ZF_COMPILER_ENCODE_TUPLES_H

#include "compiler/decoder/decoder.h"
#include "compiler/encode/encode_flat.h"

/// The tuples that the blocks of a column have so far.
typedef struct zf_encode_tuples zf_encode_tuples;

/// Creates the tuples of a column. `*out` is NULL if all blocks have one shape and no block can take another's tuple.
zf_status zf_encode_tuples_create(const zf_column *column, zf_encode_tuples **out, zf_error *error);
void zf_encode_tuples_free(zf_encode_tuples *tuples);

/// Waits for the block's turn, and chooses its tuple. `*changed`: it is another block's, and `f` has its values and streams.
///
/// `decoder` is that of the block's branches. Its shape gets a number in column `column` of the file: `*shape`. After an error
/// the block has had its turn, too. Any thread.
zf_status zf_encode_tuples_choose(zf_encode_tuples *tuples, uint64_t block, const zf_decoder *decoder, zf_writer *writer,
                                  size_t column, zf_encode_flat *f, uint32_t *shape, bool *changed, zf_error *error);
/// Gives up a block's turn, unless it has had it. Each block calls this, also one that failed: later ones wait for it. NULL:
/// nothing. Any thread.
void zf_encode_tuples_pass(zf_encode_tuples *tuples, uint64_t block);

/// Whether a larger value of a param only makes each element of one stream wider: `encode` sets it once, and then pushes an
/// element with so many bits for each element of its input. Returns the slot of that stream, or UINT32_MAX.
uint32_t zf_encode_widens(const zf_inst *inst, uint32_t param);

#endif
