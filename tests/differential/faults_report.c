#include "tests/differential/faults_report.h"

#include <stdlib.h>
#include <string.h>

// Columns of a worker's line.
enum { NUMBER, TABLE, TYPE, CODEC, TARGET, FORM, FUNCTION, SITE, KIND, WHAT, VERDICT, TEXT, FIELDS };

// Sites of one place of a kernel: a site per lane, say.
struct fault_result {
    char *line, *fields[FIELDS];
    fault_counts n;
};
typedef struct fault_result result;

const char *fault_kind_name(zf_fault_site_kind kind) {
    static const char *const names[ZF_SITE_KINDS] = {"barrier", "mask", "guard", "check"};
    return names[kind];
}

static bool same_place(const result *a, char *const fields[FIELDS]) {
    for (unsigned k = 0; k < VERDICT; k++)
        if (k != SITE && strcmp(a->fields[k], fields[k]) != 0) return false;
    return true;
}

static void add(fault_counts *to, const fault_counts *from) {
    to->sites += from->sites;
    to->found += from->found;
    to->same += from->same;
    to->redundant += from->redundant;
}

fault_counts fault_results_count(const fault_results *r, const char *target) {
    fault_counts sum = {0};
    for (size_t k = 0; k < r->count; k++)
        if (target == NULL || strcmp(r->all[k].fields[TARGET], target) == 0) add(&sum, &r->all[k].n);
    return sum;
}

static void put_counts(FILE *out, const fault_counts *n) {
    fprintf(out, "\"sites\": %u, \"same_code\": %u, \"redundant\": %u, \"found\": %u", n->sites, n->same, n->redundant, n->found);
}

void fault_results_add(fault_results *r, const char *line) {
    char *copy = strdup(line), *at = copy, *fields[FIELDS];
    if (copy == NULL) abort();
    for (unsigned k = 0; k < FIELDS; k++) {
        fields[k] = at;
        at += strcspn(at, "\t\n");
        if (*at != 0) *at++ = 0;
    }
    bool found = strcmp(fields[VERDICT], "found") == 0;
    fault_counts one = {.sites = 1,
                        .found = found,
                        .same = strcmp(fields[VERDICT], "same") == 0,
                        .redundant = strcmp(fields[VERDICT], "redundant") == 0};
    size_t n = r->count;
    while (n > 0 && strcmp(r->all[n - 1].fields[NUMBER], fields[NUMBER]) == 0 && !same_place(&r->all[n - 1], fields)) n--;
    if (n > 0 && same_place(&r->all[n - 1], fields)) {
        result *known = &r->all[n - 1];
        if (known->n.found == 0 && found) { // its line says how
            free(known->line);
            known->line = copy;
            memcpy(known->fields, fields, sizeof fields);
        } else {
            free(copy);
        }
        add(&known->n, &one);
        return;
    }
    if (r->count == r->room) {
        r->room = 2 * r->room + 64;
        r->all = realloc(r->all, r->room * sizeof *r->all);
        if (r->all == NULL) abort();
    }
    r->all[r->count] = (result){.line = copy, .n = one};
    memcpy(r->all[r->count++].fields, fields, sizeof fields);
}

bool fault_same_site(const zf_fault_site *a, const zf_fault_site *b) {
    return a->kind == b->kind && a->precedes == b->precedes && a->in == b->in && strcmp(a->what, b->what) == 0 &&
           strcmp(a->of, b->of) == 0 && strcmp(a->function, b->function) == 0;
}

void fault_put_message(char *to, size_t room, const char *message) {
    static const char root[] = ZF_SOURCE_DIR "/";
    size_t length = 0;
    for (const char *at = message; *at != 0 && length + 1 < room; length++) {
        if (strncmp(at, root, sizeof root - 1) == 0) at += sizeof root - 1;
        to[length] = *at;
        if (*at != 0) at++;
    }
    to[length] = 0;
}

const char *fault_purpose_of(const zf_fault_site *s, char text[120]) {
    snprintf(text, 120, "%s%s%s%s%s%s", s->what, s->of[0] != 0 ? " of " : "", s->of,
             s->precedes ? ", before a thread's last" : "", s->in != NULL ? ", in " : "", s->in != NULL ? s->in : "");
    return text;
}

static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if ((uint8_t)*text >= ' ') fputc(*text, out);
    }
    fputc('"', out);
}

void fault_results_print(const fault_results *r, const char *commit, const char *command, FILE *out) {
    static const char *const names[] = {"column", "type", "codec", "target", "form", "function", "kind", "what"};
    static const unsigned fields[] = {TABLE, TYPE, CODEC, TARGET, FORM, FUNCTION, KIND, WHAT};
    fprintf(out, "{\n  \"commit\": ");
    put_text(out, commit);
    fprintf(out, ",\n  \"command\": ");
    put_text(out, command);
    static const char *const targets[] = {"emu", "host"};
    for (unsigned t = 0; t < 2; t++) {
        fault_counts n = fault_results_count(r, targets[t]);
        fprintf(out, "%s\"%s\": {", t == 0 ? ",\n  \"targets\": {" : ", ", targets[t]);
        put_counts(out, &n);
        fputc('}', out);
    }
    fprintf(out, "},\n  \"kinds\": {");
    for (unsigned kind = 0; kind < ZF_SITE_KINDS; kind++) {
        const char *name = fault_kind_name((zf_fault_site_kind)kind);
        fault_counts sum = {0};
        for (size_t k = 0; k < r->count; k++)
            if (strcmp(r->all[k].fields[KIND], name) == 0) add(&sum, &r->all[k].n);
        fprintf(out, "%s\"%s\": {", kind > 0 ? ", " : "", name);
        put_counts(out, &sum);
        fputc('}', out);
    }
    fprintf(out, "},\n  \"places\": [");
    for (size_t k = 0; k < r->count; k++) {
        const result *one = &r->all[k];
        fprintf(out, "%s\n    {", k > 0 ? "," : "");
        for (unsigned n = 0; n < sizeof fields / sizeof fields[0]; n++) {
            fprintf(out, "\"%s\": ", names[n]);
            put_text(out, one->fields[fields[n]]);
            fprintf(out, ", ");
        }
        put_counts(out, &one->n);
        fprintf(out, ", \"by\": ");
        put_text(out, one->n.found > 0 ? one->fields[TEXT] : "");
        fputc('}', out);
    }
    fprintf(out, "\n  ]\n}\n");
}

void fault_results_free(fault_results *r) {
    for (size_t k = 0; k < r->count; k++) free(r->all[k].line);
    free(r->all);
    *r = (fault_results){0};
}

// ---- Redundant sites ------------------------------------------------------------------------------------------

// Programs of chunks.zf that end only where `out.pos` is `out.len`; of these, the ones that emit no more than there is
// room for; and the ones with lanes, and with as many rows of all lanes as make a chunk.
#define COMPLETE                                                                                                                 \
    "^orc_rle1_draft|^rice|^floats|^prefix|^mixed|^msb|^records|^ahead|^ring|^orc_rle2_draft|^parquet_hybrid|^delta_binary_"     \
    "packed|^roaring"
#define FITTING "^rice|^floats|^prefix|^mixed|^msb|^records|^ahead|^parquet_hybrid|^delta_binary_packed"
#define LANES "=rans(chunk: 4096)|=tans(chunk: 4096)|=tans(chunk: 1048576, log: 12)|=huffman(chunk: 4096)|^warp_|=odd_rows"
// Formats of others whose steps are guessed.
#define GUESSED "^lz4(|^snappy(|^packbits(|^orc_byte_rle|^orc_rle1(|=lz4|=snappy|=packbits|=orc_rle1"
#define UNREAD "^packbits(|^orc_byte_rle|^orc_rle1("
#define RLE2 "^orc_rle2("
#define MATCHES "^lz4(|^snappy(|^lz_split("
#define DELTA "^delta_binary_packed("
#define WHOLE_ROWS                                                                                                               \
    "=rans(chunk: 4096)|=tans(chunk: 4096)|=tans(chunk: 1048576, log: 12)|=huffman(chunk: 4096)|=warp_i16|=odd_rows"

// A row is as narrow as its argument: zf-faults fails when a test notices one of these.
static const redundant_site redundant[] = {
    {ZF_SITE_GUARD, "the last term, which is no element's", NULL, NULL, "scans",
     "it reads within the 16 readable bytes behind a stream, and the value is not used"},
    {ZF_SITE_GUARD, "outputs that all have a group", "emu", NULL, "groups",
     "the failure is reported already; what is read exists or lies in the 16 bytes"},
    {ZF_SITE_GUARD, "elements that do not exist", NULL, NULL, "accesses of an edge without elements",
     "the check that failed has made the index 0 already; the guard makes it 0 once more"},
    {ZF_SITE_GUARD, "state of a scan behind the last tile", "emu", NULL, "scans",
     "the entry lies in the 16 bytes; a check of its own asks whether a tile follows"},
    {ZF_SITE_GUARD, "states behind the last tile", "emu", NULL, "trees whose states are read together",
     "the entries lie in the 16 bytes; each field asks once more whether a tile follows"},
    {ZF_SITE_MASK, "the tile's last row", "emu", NULL, "strings",
     "the end of a row is the begin of the next: without the mask both store the same offset"},
    {ZF_SITE_MASK, "the lane that stores a byte of validity", "emu", NULL, "nullable booleans",
     "all lanes of the byte have the same bits after the shuffles and store them to one place: the mask saves stores"},
    {ZF_SITE_MASK, "bytes of a string in a word", "emu", "^strings|^nullable(values: strings", "strings in the order of the rows",
     "the bytes beside a string are its neighbours' own, which come to the same places"},
    {ZF_SITE_CHECK, "V01 of exceptions", NULL, "=alp|=pfor|^alp(|^pfor(", "`alp`, `pfor`",
     "a group has an element for an exception only where `exceptions` has one: the check never fails"},
    {ZF_SITE_GUARD, "operands of failed checks of exceptions", "emu", "=alp|=pfor|^alp(|^pfor(", "`alp`, `pfor`",
     "the operand of a check that never fails"},
    {ZF_SITE_CHECK, "V01 of exceptions, in second exceptions of a group", "emu", "=alp|=pfor|^alp(|^pfor(", "`alp`, `pfor`",
     "the same"},
    {ZF_SITE_GUARD, "operands of failed checks of exceptions, in second exceptions of a group", "emu", "=alp|=pfor|^alp(|^pfor(",
     "`alp`, `pfor`", "the same"},
    {ZF_SITE_MASK, "checks of groups that are not walked", "emu", "=alp|=pfor", "`alp`, `pfor`",
     "the check is V01 of `exceptions`, which never fails"},
    {ZF_SITE_CHECK, "V01 of values, before a thread's last", "emu", "=interleave", "`interleave` of two runs",
     "the thread's last element is of the last run, whose places lie behind all others: its check fails where another's does"},
    {ZF_SITE_CHECK, "V01 of block_starts, before a thread's last", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "a thread's elements are of one block and read the same start"},
    {ZF_SITE_CHECK, "V01 of data, before a thread's last", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "a thread's elements are of one block and read the same words of it"},
    {ZF_SITE_CHECK, "V01 of bits of data, before a thread's last", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "a thread's elements are of one miniblock, whose places rise: the last one's fails where another's does"},
    {ZF_SITE_CHECK, "V01 of data", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "the words of a block lie before its codes, whose V01 fails, too; all elements of a thread check a tile's first value"},
    {ZF_SITE_MASK, "checks behind one that failed", NULL, "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "the element has failed V06: without the mask V01 is reported of it as well"},
    {ZF_SITE_GUARD, "bits of failed checks", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "the count only makes a mask for the value of a check that failed, and the value is not used"},
    {ZF_SITE_GUARD, "words for neighbours", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "a miniblock of at most 8 bits ends with its words: where a thread's words are cut, the thread behind it fails"},
    {ZF_SITE_GUARD, "a neighbour's bits in the first one's words, in neighbours of the first", "emu", "gpu_for|gpu_dfor",
     "`gpu_for`, `gpu_dfor`", "a thread's elements are of one miniblock: they have one start and width, and lie in two words"},
    {ZF_SITE_CHECK, "*, in neighbours of the first", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "the first one of the thread reads the same words and has the same check"},
    {ZF_SITE_MASK, "checks behind one that failed, in neighbours of the first", "emu", "gpu_for|gpu_dfor",
     "`gpu_for`, `gpu_dfor`", "the element has failed V06: without the mask V01 is reported of it as well"},
    {ZF_SITE_GUARD, "operands of failed checks of data, in neighbours of the first", "emu", "gpu_for|gpu_dfor",
     "`gpu_for`, `gpu_dfor`", "the first one of the thread has read the same words, or neighbours are not made this way"},
    {ZF_SITE_CHECK, "V06, before a thread's last", "emu", "gpu_for|gpu_dfor", "`gpu_for`, `gpu_dfor`",
     "a thread's elements are of one miniblock, which has one width"},
    {ZF_SITE_GUARD, "groups of at most a vector, in a strip of short groups", "host", NULL, "groups",
     "the strip was asked before: none of its groups is longer"},
    {ZF_SITE_CHECK, "V04", NULL, COMPLETE, "chunk programs that end when their chunk is complete",
     "their loop, or their last `emit`, ends only where `out.pos` is `out.len`"},
    {ZF_SITE_CHECK, "V03", NULL, FITTING, "chunk programs that emit what has room",
     "each `emit` follows a test of `out.pos`, or takes the smaller of its size and the room"},
    {ZF_SITE_CHECK, "V10", NULL,
     "^runs|^ramps_of_rows|^rows_of_floats|^rows_of_bytes|^summed|^roaring|^delta_binary_packed_draft|^deflate",
     "chunk programs each of whose rounds reads or makes an element",
     "a chunk may take 64 rounds for each byte that it reads and each element that it makes"},
    {ZF_SITE_CHECK, "V01 of literals", NULL, "^window|^lz_split", "`window`, `lz_split`",
     "the `skip` before it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "V01 of src", NULL, "^packbits_draft", "`packbits_draft`",
     "the `skip` before it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "V01 of counts", NULL, "^rows_of_floats", "`rows_of_floats`", "the index lies below `counts.len`"},
    {ZF_SITE_CHECK, "V01", NULL, "^ring|^delta_binary_packed_draft", "`ring`, `delta_binary_packed_draft`",
     "it is of `out`, which has grown by as much as the index goes back"},
    {ZF_SITE_CHECK, "V01", NULL, "^deflate", "`deflate`",
     "a `require` before it bounds the index, or it counts symbols, of which there are no more than the array has"},
    {ZF_SITE_CHECK, "V01 of data", NULL, "^roaring", "`roaring`", "the index lies below `data.len`"},
    {ZF_SITE_CHECK, "V05 of kinds", NULL, "^roaring", "`roaring`", "two reads of the element have the same check"},
    {ZF_SITE_CHECK, "V05 of widths", NULL, "^rice", "`rice`", "two reads of the element in one round have the same check"},
    {ZF_SITE_CHECK, "V01 of widths, in a batch of rows", "emu", "^warp_i", "`warp_i16`, `warp_i32`",
     "four of five rows in a row read each element: another row of the batch fails as well"},
    {ZF_SITE_BARRIER, "bytes of a window that are read before those in their place", "emu", NULL, "guesses of chunk programs",
     "the lanes meet in shuffles of what they made of these bytes before the window moves"},
    {ZF_SITE_GUARD, "bytes of a window that a step read, in a guess", "emu", GUESSED "|^lz_split(",
     "guesses of formats of others", "the window goes on behind what a step can read"},
    {ZF_SITE_GUARD, "tiles of the launch", "emu", GUESSED "|^lz_split(", "chunk programs whose warp appends records",
     "the kernel and its slow path both ask, and other rows are not stored"},
    {ZF_SITE_CHECK, "turns of loops", "emu", GUESSED "|^mixed_turns|^plain_turns", "guesses of chunk programs",
     "each turn reads a byte, for which a chunk may take 64 rounds"},
    {ZF_SITE_GUARD, "records that have a place", "emu", "^lz4(", "`lz4`",
     "of each two records one has four elements or more, so that a tile leaves few"},
    {ZF_SITE_CHECK, "copies from a stream, in a guess", "emu", GUESSED, "guesses of formats of others",
     "the `skip` behind it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "copies from a stream, in a walked step", "emu", GUESSED, "records of formats of others",
     "the `skip` behind it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "distances that exist, in a guess", "emu", MATCHES, "`lz4`, `snappy`, `lz_split`",
     "the program requires of a distance what its copy asks: one fails where the other does"},
    {ZF_SITE_CHECK, "distances within the chunk", "emu", MATCHES, "`lz4`, `snappy`, `lz_split`", "the same"},
    {ZF_SITE_CHECK, "V06 that waited", "emu", "^lz4(|^snappy(", "`lz4`, `snappy`", "the same"},
    {ZF_SITE_CHECK, "distances that exist, in a walked step", "emu", MATCHES, "`lz4`, `snappy`, `lz_split`", "the same"},
    {ZF_SITE_CHECK, "distances within the chunk, in a walked step", "emu", MATCHES, "`lz4`, `snappy`, `lz_split`", "the same"},
    {ZF_SITE_CHECK, "V06, in a walked step", "emu", "^lz4(|^snappy(", "`lz4`, `snappy`", "the same"},
    {ZF_SITE_CHECK, "V02 at `let head = src.u8();`", NULL, RLE2, "`orc_rle2`", "the loop has asked whether a byte is left"},
    {ZF_SITE_CHECK, "V02 at `src.skip(`", NULL, RLE2, "`orc_rle2`", "the same bits have been read: their V01 fails before"},
    {ZF_SITE_GUARD, "bits of failed checks", "emu", RLE2, "`orc_rle2`",
     "a width is at most 64, as the limit is: it is a table's"},
    {ZF_SITE_CHECK, "V02 at `src.skip(`", NULL, "^lz4(|^snappy(|^packbits(|^orc_byte_rle",
     "`lz4`, `snappy`, `packbits`, `orc_byte_rle`", "the same bytes have been copied: their V01 fails before"},
    {ZF_SITE_CHECK, "V10 at `while m < minis`", NULL, DELTA, "`delta_binary_packed`",
     "each round makes an element: a chunk may take 64 rounds for one"},
    {ZF_SITE_CHECK, "V01 of page at `let w = page[widths + m]`", NULL, DELTA, "`delta_binary_packed`",
     "the `skip` before it fails where the widths do not exist"},
    {ZF_SITE_GUARD, "bits of failed checks at `while out.pos < end`", "emu", DELTA, "`delta_binary_packed`",
     "a width is at most 64, as the limit is: the program requires it"},
    {ZF_SITE_GUARD, "rows behind the last wanted at `emit last as T; }`", "emu", DELTA, "`delta_binary_packed`",
     "the chunk's first element: no chunk that begins behind the last wanted row is made"},
    {ZF_SITE_MASK, "no bits at `last = wrapped(`", "emu", DELTA, "`delta_binary_packed`",
     "turns are walked one by one only where one of them fails: what they make is nobody's"},
    {ZF_SITE_MASK, "bits of an element at `last = wrapped(`", "emu", DELTA, "`delta_binary_packed`", "the same"},
    {ZF_SITE_CHECK, "copies from a stream, in a guess", "emu", "^lz_split(", "`lz_split`",
     "the `skip` before it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "copies from a stream, in a walked step", "emu", "^lz_split(", "`lz_split`", "the same"},
    {ZF_SITE_CHECK, "V02, in a guess at `literals.skip(`", "emu", "^lz_split(", "`lz_split`",
     "the copy behind it fails where the elements do not exist"},
    {ZF_SITE_CHECK, "V02, in a walked step at `literals.skip(`", "emu", "^lz_split(", "`lz_split`", "the same"},
    {ZF_SITE_GUARD, "starts within a stream", "emu", "^lz_split(", "`lz_split`",
     "the first round begins where the walk stands, within each stream; the guards of later rounds are no sites"},
    {ZF_SITE_CHECK, "V02, in a guess at `src.skip(`", "emu", GUESSED, "guesses of formats of others",
     "the copy before it fails where the bytes do not exist"},
    {ZF_SITE_CHECK, "V02, in a walked step at `src.skip(`", "emu", GUESSED, "records of formats of others", "the same"},
    {ZF_SITE_CHECK, "V02, in a guess at `n = src.le(`", "emu", "^snappy(", "`snappy`",
     "the copy behind it fails: its bytes would lie behind the end, too"},
    {ZF_SITE_CHECK, "V02, in a walked step at `n = src.le(`", "emu", "^snappy(", "`snappy`", "the same"},
    {ZF_SITE_CHECK, "room for a record, in a walked step at `emit k in 0..n: out[`", "emu", "^snappy(", "`snappy`",
     "a copy lies in the window, and is walked only where a check fails that stands before it"},
    {ZF_SITE_CHECK, "room for the steps of a window", "emu", UNREAD, "guesses of formats of others that do not read their output",
     "the count of the chunk's elements fails behind them, and only wanted rows are stored"},
    {ZF_SITE_CHECK, "room for a record, in a walked step", "emu", UNREAD,
     "records of formats of others that do not read their output", "the same"},
    {ZF_SITE_BARRIER, "what was emitted before what reads it at `emit k in 0..m + 4: out[`", "emu", "^lz4(", "`lz4`",
     "the next copy stands behind the barrier of its literals, also of none"},
    {ZF_SITE_GUARD, "room of a table", "emu", NULL, "tables of lanes",
     "a table's length is a param's: a block with another is refused before"},
    {ZF_SITE_MASK, "one thread of the block", "emu", LANES, "lanes",
     "all threads of the warp walk the chunk alike: they store the same bytes and report the same failure"},
    {ZF_SITE_GUARD, "end of the tile", "emu", LANES, "lanes", "a tile that is cut is made row by row, whatever its end"},
    {ZF_SITE_GUARD, "lanes that have an element", "emu", WHOLE_ROWS, "lanes, rows of which make a chunk",
     "only a block's last chunk is cut: its last row reads behind all others, and its elements have no place. A check that fails "
     "has one thread decode the chunk again"},
};

enum { REDUNDANT = sizeof redundant / sizeof redundant[0] };

// Whether a codec is one of a list: "=TEXT", "^BEGIN", "!TEXT" (not in it), else a part of it; separated by '|'.
static bool is_listed(const char *list, const char *codec) {
    for (const char *at = list; at != NULL && *at != 0;) {
        size_t length = strcspn(at, "|");
        char kind = *at, text[64] = {0};
        bool plain = strchr("=^!", kind) == NULL;
        const char *from = plain ? at : at + 1;
        size_t size = length - (size_t)(from - at);
        if (size < sizeof text) memcpy(text, from, size);
        bool inside = strstr(codec, text) != NULL;
        if (kind == '=' ? strcmp(codec, text) == 0 : kind == '^' ? strncmp(codec, text, size) == 0 : plain ? inside : !inside)
            return true;
        at += length + (at[length] == '|');
    }
    return list == NULL;
}

// "*TEXT": what ends with it. "TEXT at `LINE`": in a line of the program that begins so.
static bool is_purpose(const char *row, const char *what, const char *line) {
    const char *at = strstr(row, " at `");
    if (at != NULL) {
        const char *begin = at + strlen(" at `");
        size_t length = (size_t)(at - row);
        return strlen(what) == length && strncmp(row, what, length) == 0 && strncmp(begin, line, strlen(begin) - 1) == 0;
    }
    if (row[0] != '*') return strcmp(row, what) == 0;
    size_t length = strlen(row + 1), all = strlen(what);
    return all >= length && strcmp(what + all - length, row + 1) == 0;
}

// "fast": on the emulated GPU, not in a slow path.
static bool is_target(const char *row, const char *target, const char *function) {
    static const char slow[] = "_hard";
    size_t length = strlen(function);
    if (row == NULL || strcmp(row, target) == 0) return true;
    bool is_slow = length >= sizeof slow && strcmp(function + length + 1 - sizeof slow, slow) == 0;
    return strcmp(row, "fast") == 0 && strcmp(target, "emu") == 0 && !is_slow;
}

const redundant_site *redundant_site_find(const zf_fault_site *site, const char *what, const char *target, const char *codec) {
    for (size_t k = 0; k < REDUNDANT; k++) {
        const redundant_site *r = &redundant[k];
        if ((r->kind != site->kind && r->kind != ZF_SITE_KINDS) || !is_purpose(r->what, what, site->line)) continue;
        if (is_target(r->target, target, site->function) && is_listed(r->codecs, codec)) return r;
    }
    return NULL;
}

// The rows as Markdown.
static void print_rows(FILE *out) {
    for (size_t k = 0; k < REDUNDANT; k++) {
        const redundant_site *r = &redundant[k];
        const char *target = r->target == NULL ? "both" : strcmp(r->target, "fast") == 0 ? "emu, fast" : r->target;
        const char *kind = r->kind == ZF_SITE_KINDS ? "any" : fault_kind_name(r->kind), *what = r->what;
        if (strncmp(what, "*, ", 3) == 0) what += 3;
        fprintf(out, "| %s: %s | %s | %s | %s |\n", kind, what, target, r->where, r->reason);
    }
}

bool redundant_sites_are_on(const char *page, FILE *out) {
    char *rows_text = NULL, line[1000];
    size_t size = 0;
    FILE *memory = open_memstream(&rows_text, &size), *file = fopen(page, "r");
    if (memory == NULL || file == NULL) abort();
    print_rows(memory);
    fclose(memory);
    // The rows of the page's table are those between its heading and the next.
    bool here = false, same = true;
    const char *at = rows_text;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') here = strstr(line, "redundant") != NULL;
        bool is_row = strncmp(line, "| ", 2) == 0 && strchr(line, ':') != NULL;
        if (!here || !is_row) continue;
        size_t length = strlen(line);
        same = same && strncmp(at, line, length) == 0;
        if (same) at += length;
    }
    same = same && *at == 0;
    fclose(file);
    if (!same) fprintf(out, "%s has other redundant sites than tests/differential/faults_report.c:\n%s", page, rows_text);
    free(rows_text);
    return same;
}
