// Records: what the warp that walks a chunk appends in place of elements, and the executor that makes elements of them.
//
// A statement that emits becomes a record {begin, what}: where its elements begin in the chunk, and what they are: bytes of a
// stream, the chunk's own output a distance before, or an expression with the few words that it takes from the walk. Records
// lie in a ring in shared memory, a ring a warp. The executor makes a *tile* of the output at a time, ROWS elements a lane. The
// records that begin in the tile are bits of a mask, so that an element finds its record by counting bits, and the work depends
// neither on the lengths of records nor on their distances. Elements that are copied from the tile itself are found by
// following links in shared memory, each round over twice as many.
#ifndef ZF_CODEGEN_SIMT_RECORDS_H
#define ZF_CODEGEN_SIMT_RECORDS_H

#include "codegen/kernel/kernel_chunks.h"
#include "codegen/kernel/kernel_region.h"
#include "codegen/simt/simt.h"

enum {
    ZF_RECORD_SITES = 8,   ///< statements that emit, at most
    ZF_RECORD_WORDS = 4,   ///< words that an expression takes from the walk, at most
    ZF_RECORD_ROWS = 4,    ///< elements of a tile that each lane makes
    ZF_RECORD_STATE = 48,  ///< bytes of the state that several warps of a chunk share
    ZF_RECORD_LOADED = 16, ///< bytes that a lane loads of the window at once
    ZF_RECORD_OTHERS = 4,  ///< streams that a guessed step reads beside the one at whose elements it is guessed, at most
    ZF_RECORD_WALKED = 8   ///< ways of a step that no record says, at most
};
/// In place of a site's number: the elements are stored already.
enum { ZF_RECORD_STORED = 0x7fffffff };

/// Elements of a tile.
static inline uint32_t zf_record_tile(uint32_t wave) { return ZF_RECORD_ROWS * wave; }

/// A statement that emits.
typedef struct zf_record_site {
    const zf_stmt *stmt; ///< EMIT or EMIT_REGION
    zf_region_form form; ///< of a region
    bool inner;          ///< it belongs to the inner loop
    bool direct;         ///< an EMIT whose value its lane stores at once: nothing is copied from it
    bool reads;          ///< of a region: its expression reads, or has checks
    bool any_words;      ///< of a region: its expression has a value, whatever its words and index are
    // ---- of an expression (TERM, and EMIT, whose value is the only word)
    const zf_local *locals[ZF_RECORD_WORDS]; ///< that its expression takes, in the order of the words
    uint32_t local_count;
    bool takes_position; ///< the word behind them: `out.pos`
    bool takes_low;      ///< the word behind that: the binder's first value, where it is no constant 0
} zf_record_site;

/// A stream that a guessed step reads at a cursor.
typedef struct zf_record_cursor {
    const zf_port *port;
    uint32_t least; ///< elements that a step takes, at least; 0: that is not known, either
    bool fixed;     ///< it never takes more
} zf_record_cursor;

/// The sites of a program, and the one loop that has them, if there is one.
typedef struct zf_record_program {
    const zf_stmt *loop;  ///< of the body's own statements; a *step* is one turn of it; NULL: the sites are anywhere
    const zf_stmt *inner; ///< a FOR_RANGE with which a step may end, whose turns are steps, too; NULL: none
    /// Statements that a guess leaves undecided, with those that follow them: they come to what no record says. All lanes walk
    /// such a step, and store its elements at once.
    const zf_stmt *walked[ZF_RECORD_WALKED];
    uint32_t walked_count;
    bool own_arrays; ///< the local arrays are those of walked statements, at which there are no records: their memory is one
    zf_record_site sites[ZF_RECORD_SITES];
    uint32_t site_count;
    uint32_t most;                       ///< records of a step, at most
    bool copies, copies_back, has_terms; ///< kinds of sites
    bool may_fail;                       ///< an expression's elements have checks that the walk does not make
    uint32_t words;                      ///< of a record: 1 and what it is
    // ---- guess and chain (simt_guess.c)
    zf_record_cursor cursor; ///< the stream at whose elements steps are guessed; no port: they cannot be guessed
    uint32_t inner_least;    ///< its elements that a turn of `inner` takes, at least
    zf_record_cursor others[ZF_RECORD_OTHERS]; ///< other streams that a step reads (simt_cursors.c)
    uint32_t other_count;
    const char *why; ///< why there are no records, or steps are not guessed: static; NULL: they are
} zf_record_program;

/// Reads a kernel of chunks. False: records cannot make its elements.
bool zf_record_program_of(const zf_plan *plan, const zf_kernel *kernel, zf_record_program *out);

/// Whether a guess leaves a step undecided at a statement, or has before.
bool zf_record_is_walked(const zf_record_program *program, const zf_stmt *stmt);

/// Whether a statement is a loop.
bool zf_record_is_loop(const zf_stmt *stmt);
/// In a program whose sites are anywhere: whether a statement reads the output, not only by copies, and emits nothing.
bool zf_record_reads(const zf_stmt *stmt);
/// Whether a statement is another or within it, also in what that calls.
bool zf_record_is_within(const zf_stmt *stmt, const zf_stmt *outer);

/// How far a step, its loop's condition (NULL: none) and its statements, moves the cursor of a stream (simt_record_ways.c).
zf_record_cursor zf_record_cursor_of(const zf_expr *condition, const zf_stmt *stmts, const zf_port *port);

/// Whether a statement requires something of `out.pos` that nothing but locals decides besides: a guess puts it off.
bool zf_record_waits(const zf_stmt *stmt);

/// The content of a record.
typedef struct zf_record_what {
    LLVMValueRef v_count;                  ///< elements (i64)
    LLVMValueRef v_from;                   ///< STREAM: index of the first (i64)
    LLVMValueRef v_distance;               ///< BACK (i64)
    LLVMValueRef v_words[ZF_RECORD_WORDS]; ///< of an expression (i64)
} zf_record_what;

/// Where the parts of a chunk's records lie in shared memory, in bytes from their begin.
typedef struct zf_record_places {
    uint32_t begins, state, window;    ///< the data begin at 0; `state` of several warps, `window` of guesses
    uint32_t links, values, few, tile; ///< of the first executor, and how far the next one's are
    uint32_t all;                      ///< bytes
    uint32_t ring;                     ///< records that have a place, a power of two
} zf_record_places;

/// The records of a chunk.
typedef struct zf_records {
    zf_record_program program;
    zf_chunk *chunk;
    zf_kernel_build *lower;
    zf_cg *cg;
    zf_cg_frame *frame; ///< of the body
    bool guesses;
    uint32_t warps;                                          ///< of the chunk
    uint32_t ring;                                           ///< records that have a place, a power of two
    LLVMValueRef v_begins, v_data, v_links, v_values, v_few; ///< in shared memory; the latter three are of each executor
    LLVMValueRef v_window;                                   ///< of the guesses, in shared memory
    LLVMValueRef v_loaded;       ///< slot (i32): the half of the stream that is in the window, with the next,
    LLVMValueRef v_windows;      ///< slot (i32): windows so far
    LLVMValueRef v_ahead;        ///< slot: this lane's 16 bytes of the half behind them
    LLVMValueRef v_lane, v_upto; ///< i32; the set of the lanes up to this one
    LLVMValueRef v_out;          ///< where the chunk's element 0 goes
    struct zf_guess *guess;      ///< of the step that is being built; NULL: all lanes walk it together
    LLVMValueRef v_turns;        ///< slot (i32): turns of `inner` that are left
    LLVMValueRef v_made;         ///< slot (i32): records that were appended
    LLVMValueRef v_taken;        ///< slot (i32): the record of the element before the next tile
    LLVMValueRef v_end;          ///< slot (i32): elements of all records
    LLVMValueRef v_tile;         ///< slot (i32): the next tile's first element
    // ---- of several warps (simt_record_warps.c), of which the first walks. In the others' slots are their own tile and its end
    LLVMValueRef v_is_walker;         ///< i1
    LLVMValueRef v_state, v_progress; ///< in shared memory: two batches, and elements that are made
    LLVMValueRef v_turn;              ///< slot (i32): which of the two is written
    LLVMValueRef v_before;            ///< slot (i32): the walker's records before this batch
    LLVMValueRef v_batch;             ///< slot (i32): the first element of the batch that is executed,
    LLVMValueRef v_batch_end;         ///< slot (i32): and the one behind it
    LLVMValueRef v_batch_made;        ///< slot (i32): its records and all before,
    LLVMValueRef v_batch_low;         ///< slot (i32): and one of the first that have a place still
    LLVMValueRef v_waits_for;         ///< i32: first element of the tile that is made, where others make those before it; or NULL
} zf_records;

/// Lays out the records of a chunk that so many warps make.
zf_record_places zf_records_places(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program, bool guesses,
                                   uint32_t warps);
/// Begins the records of a chunk.
void zf_records_begin(zf_records *records);
/// Appends a record of elements that begin at v_begin (i32), as number v_number (i32): a lane for which v_where (i1) holds, or
/// each that comes here (NULL).
void zf_records_put(zf_records *records, uint32_t site, const zf_record_what *what, LLVMValueRef v_begin, LLVMValueRef v_number,
                    LLVMValueRef v_where);
/// The same where all sites are expressions, of the site whose number is v_site (i32) and words in `what`.
void zf_records_put_term(zf_records *records, LLVMValueRef v_site, const zf_record_what *what, LLVMValueRef v_begin,
                         LLVMValueRef v_number);
/// Says that the records have v_end (i32) elements now.
void zf_records_end(zf_records *records, LLVMValueRef v_end);
/// The content of a site's record where the body is being built. Checks leave by the chunk's bb_stop.
zf_record_what zf_records_what(zf_records *records, const zf_record_site *site);
/// Returns how many values (i64) a record of the site has, and where they are in `what`; NULL: `out.pos`, which is known when the
/// record is put.
uint32_t zf_records_words(const zf_record_site *site, zf_record_what *what, LLVMValueRef **v_words);
/// The number of the site of a statement, or -1: it emits nothing.
int32_t zf_records_site(const zf_records *records, const zf_stmt *stmt);
/// A check of a record that the walk makes.
void zf_records_require(zf_records *records, LLVMValueRef v_ok, const char *what);
/// The records have v_count (i32) more elements, which are stored already.
void zf_records_skip(zf_records *records, LLVMValueRef v_count);
/// Stores the value that a direct site's record would have, as element v_at (i32) of the chunk.
void zf_records_store(zf_records *records, const zf_record_site *site, LLVMValueRef v_word, LLVMValueRef v_at);
/// Where a record's begin is; v_number: i32.
LLVMValueRef zf_records_begin_at(const zf_records *records, LLVMValueRef v_number);
/// Where a word of its data is.
LLVMValueRef zf_records_word_at(const zf_records *records, LLVMValueRef v_number, uint32_t word);
/// Whether a site's records copy, from a stream or from before.
bool zf_record_is_copy(const zf_record_site *site);
/// Words of a site's record that are an expression's.
uint32_t zf_record_word_count(const zf_record_site *site);
/// Whether few elements of a tile may be a site's, each of which takes long.
bool zf_record_makes_few(const zf_record_program *program, const zf_record_site *site);

// ---- simt_record_executor.c ----
/// Makes the tile of a warp that begins at v_tile, and ends at v_end at the latest.
void zf_records_make_tile(zf_records *records);
/// Settles what was put off, and makes tiles: all that are whole, or, if v_last (i1), all there are; and more where fewer than
/// `room` records have a place.
void zf_records_drain(zf_records *records, LLVMValueRef v_last, uint32_t room);

// ---- simt_record_warps.c ----
/// Begins a chunk of several warps: clears their state in shared memory. Returns what v (i1) is in the block's first thread.
LLVMValueRef zf_records_meet_first(zf_kernel_build *lower, LLVMValueRef v_state, LLVMValueRef v);
/// Begins their batches, behind zf_records_begin.
void zf_records_warps_begin(zf_records *records);
/// Walker: whether the batch should end (i1), where a step appends up to `room` records.
LLVMValueRef zf_records_is_batch(zf_records *records, uint32_t room);
/// Walker: hands over the tiles that are whole or, if v_last (i1), all elements that there are.
void zf_records_publish(zf_records *records, LLVMValueRef v_last);
/// Any warp: the chunk has failed (by one lane).
void zf_records_fail(zf_records *records);
/// Executors: make the batch.
void zf_records_execute(zf_records *records);
/// All warps end a batch together. *v_failed, *v_last (i1): what happened in it.
void zf_records_meet(zf_records *records, LLVMValueRef *v_failed, LLVMValueRef *v_last);
/// Waits until the elements of the batch before v_made (i32, each lane's own) are made.
void zf_records_await(zf_records *records, LLVMValueRef v_made);

// ---- simt_guess_window.c ----
/// Whether steps are guessed at bytes, which come to shared memory before.
bool zf_record_has_window(const zf_record_program *program);
/// Its bytes, a power of two; 0: there is none.
uint32_t zf_record_window_bytes(const zf_record_program *program, uint32_t wave);
void zf_records_window_begin(zf_records *records);
/// The shared memory of the window holds something else now.
void zf_records_window_anew(zf_records *records);
/// Brings the window to v_at (i32). Returns the position (i32) up to which steps may read.
LLVMValueRef zf_records_move_window(zf_records *records, const zf_chunk_stream *s, LLVMValueRef v_at);

// ---- simt_guess.c ----
/// Bytes of shared memory that a warp's guesses need.
uint32_t zf_records_guess_bytes(const zf_record_program *program, uint32_t wave);
/// Steps that a window of guesses has, at most.
uint32_t zf_records_guess_steps(const zf_record_program *program, uint32_t wave);
/// Whether each lane has the step behind that of the lane before: all steps take as many bytes, at most 16, without inner turns.
bool zf_record_is_consecutive(const zf_record_program *program);
/// Whether lanes look for steps at several places each, and then have a true step each.
bool zf_record_is_wide(const zf_record_program *program);
/// Begins the guesses of a chunk; once, before the first.
void zf_records_guess_begin(zf_records *records);
/// Guesses the steps (`inner`: the turns that are left) from the cursor on, and appends the records of those that are true. Goes
/// on at bb_walk with the cursor at a step that all lanes must walk together, at bb_done behind the last step, else at bb_next. A
/// check that fails leaves by the chunk's bb_stop.
void zf_records_guess(zf_records *records, bool inner, LLVMBasicBlockRef bb_walk, LLVMBasicBlockRef bb_next,
                      LLVMBasicBlockRef bb_done);
/// Ends them: leaves by bb_stop where the steps may have taken more turns than the chunk has.
void zf_records_guess_end(zf_records *records);

// ---- simt_guess_step.c ----
/// A statement of a step that is being guessed. False: it is an ordinary one.
bool zf_records_guess_statement(zf_records *records, const zf_stmt *stmt);

#endif
