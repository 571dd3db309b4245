// Reading what the printers of graph and plan wrote: words, numbers, quoted texts, one record a line. The first error sticks:
// from then on every call fails or yields nothing, so a reader of records looks at `failed` once.
#ifndef ZF_PATTERNS_READER_H
#define ZF_PATTERNS_READER_H

#include "frontend/check/type.h"
#include "runtime/base/text.h"

typedef struct zf_reader {
    zf_arena *arena;
    const char *at;
    uint32_t line; ///< from 1
    bool failed;
    zf_text *message; ///< gets "line 3: ...", once
} zf_reader;

void zf_reader_init(zf_reader *reader, zf_arena *arena, const char *text, zf_text *message);
void zf_reader_fail(zf_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Takes a word or punctuation that must come next; words are separated by spaces.
void zf_reader_expect(zf_reader *reader, const char *word);
/// Takes a letter that a number follows without a space: the V of V01.
void zf_reader_letter(zf_reader *reader, char letter);
/// Takes it if it comes next.
bool zf_reader_accept(zf_reader *reader, const char *word);
int64_t zf_reader_integer(zf_reader *reader, int64_t least, int64_t most);
uint64_t zf_reader_u64(zf_reader *reader);
uint32_t zf_reader_number(zf_reader *reader, uint32_t limit); ///< below `limit`
const char *zf_reader_quoted(zf_reader *reader);              ///< a JSON string; "" after a failure
const char *zf_reader_rest(zf_reader *reader);                ///< to the end of the line, which it leaves untaken
zf_type zf_reader_type(zf_reader *reader);
/// One of `count` names (which may hold spaces; none is the beginning of an earlier one); its index.
uint32_t zf_reader_choice(zf_reader *reader, const char *const *names, uint32_t count, const char *what);
void zf_reader_end_line(zf_reader *reader);
bool zf_reader_at_end(const zf_reader *reader);

#endif
