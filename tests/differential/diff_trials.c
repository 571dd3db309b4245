#include "tests/differential/diff_trials.h"

#include <stdio.h>
#include <string.h>

#include "tests/differential/diff_wild.h"
#include "tests/interp/interp_internal.h"

enum { TIGHT_LEVEL, TIGHT_SLOPE, TIGHT_RANDOM }; // the data of DIFF_TIGHT
enum { SWEPT_TABLE = 6144 };                     // bytes of a stream that bodies look elements up in
enum { STAGES_FIRST = 9 };                       // the first trial of DIFF_STAGES, behind the random ones
enum { ALONE_FIRST = DIFF_TRIALS - DIFF_ALONE - DIFF_CUTS - DIFF_WILDS };

// A tile of a map on a GPU is so many rows; those of other kernels divide it.
static uint64_t tile_of(zf_type type) {
    if (type.kind == ZF_K_BOOL) return 8192;
    unsigned size = zf_kind_size(type.kind);
    return size == 1 ? 16384 : size == 2 ? 8192 : 4096;
}

static bool random_trial(unsigned number, unsigned k, zf_type type, diff_trial *out) {
    uint64_t tile = tile_of(type);
    data_random random = {.state = number * 1000 + k};
    uint64_t more = tile > 8192 ? 4096 : tile; // of the next tile
    const uint64_t sizes[] = {0, 1, tile - 1, tile, tile + 1, tile + more - 1, 64 + data_below(&random, more), tile + more + 1};
    diff_trial t = {.shape = (data_shape)((number * 5 + k) % DATA_SHAPES),
                    .rows = sizes[(number + k) % (sizeof sizes / sizeof sizes[0])],
                    .seed = number * 1000 + k};
    if (k == 9) t = (diff_trial){.shape = DATA_CONSTANT, .rows = tile + 1, .seed = t.seed};
    t.lines = k == 17 && type.kind != ZF_K_BOOL && type.kind != ZF_K_STRING;
    if (t.lines) t.rows = tile + 1;
    t.narrow = t.rows > 1 && (k + k / 8) % 4 == 3;
    *out = t;
    return true;
}

// How many algorithms of a codec decode in order.
static unsigned ordered_stages(const char *codec) {
    static const char *const names[] = {"rle",      "delta", "delta_stride", "strings",  "words",
                                        "nullable", "pfor",  "alp",          "set_gaps", "members"};
    unsigned count = 0;
    for (size_t length; *codec != 0; codec += length > 0 ? length : 1) {
        length = strspn(codec, "abcdefghijklmnopqrstuvwxyz0123456789_");
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            count += length > 0 && strlen(names[k]) == length && strncmp(codec, names[k], length) == 0;
    }
    return count;
}

// Whether one of them has elements that another algorithm takes.
static bool has_stages(const char *codec) {
    unsigned count = ordered_stages(codec);
    size_t length = strcspn(codec, "(");
    char root[16] = {0};
    if (length < sizeof root) memcpy(root, codec, length);
    return count > (ordered_stages(root) > 0 ? 1 : 0);
}

// Elements that a thread of the emulated GPU makes together.
static unsigned lanes_of(zf_type type) {
    if (type.kind == ZF_K_STRING) return 4;
    return type.kind == ZF_K_BOOL ? 8 : 16 / zf_kind_size(type.kind);
}

// The row is in the middle of a tile, on each lane of each of the rows of a warp that are made together, or in a block that is
// shorter than such a row.
static bool last_trial(unsigned k, const zf_column *column, diff_trial *out) {
    enum { TOGETHER = 4 };
    unsigned lanes = lanes_of(column->type), way = k % (DIFF_ALONE / 2);
    bool whole = k < DIFF_ALONE / 2, strings = strncmp(column->codec_text, "strings", 7) == 0;
    if (way >= (whole ? TOGETHER * lanes : lanes) || (!strings && strncmp(column->codec_text, "nullable", 8) != 0)) return false;
    uint64_t tile = column->type.kind == ZF_K_STRING ? 1024 : tile_of(column->type), row = 32 * lanes;
    *out = (diff_trial){.kind = DIFF_LAST, .rows = 64 + way + 2, .last = 64 + way};
    if (whole) {
        out->rows = tile;
        out->last = tile / 2 + way / lanes * row + 64 + way % lanes;
    }
    return true;
}

// Whole rows of threads and a few elements more. Codes that are narrow, and cross a word at the last element; and wide ones.
static bool tight_trial(unsigned k, zf_type type, diff_trial *out) {
    static const uint64_t narrow[] = {7, 13, 20, 26}, wide[] = {1, 2, 3}; // of five bits: the last is element 6, 12, 19, 25
    unsigned way = k / 3;
    if (!zf_kind_is_integer(type.kind) || type.nullable || zf_kind_size(type.kind) < 4) return false;
    *out = (diff_trial){.kind = DIFF_TIGHT, .last = k % 3, .rows = 512 + narrow[way]};
    if (k % 3 == TIGHT_RANDOM) out->rows = way < 3 ? 512 + wide[way] : tile_of(type);
    return true;
}

bool diff_trial_of(const zf_column *column, unsigned number, unsigned k, diff_trial *out) {
    static const diff_trial_kind kinds[ALONE_FIRST - DIFF_RANDOM_TRIALS] = {
        DIFF_LANES, DIFF_STEPS,  DIFF_SLOPES, DIFF_WIDE,   DIFF_DEEP,  DIFF_FLOOD, DIFF_PATCHES, DIFF_EQUAL,
        DIFF_HUGE,  DIFF_STAGES, DIFF_STAGES, DIFF_STAGES, DIFF_SWEPT, DIFF_SWEPT, DIFF_SWEPT};
    if (k >= DIFF_TRIALS - DIFF_WILDS) {
        diff_trial_wild(column, number, k - (DIFF_TRIALS - DIFF_WILDS), out);
        return true;
    }
    if (k < DIFF_RANDOM_TRIALS) return random_trial(number, k, column->type, out);
    if (k >= ALONE_FIRST) {
        k -= ALONE_FIRST;
        bool good = k < DIFF_ALONE ? last_trial(k, column, out) : tight_trial(k - DIFF_ALONE, column->type, out);
        out->seed = number * 1000 + k;
        return good;
    }
    bool runs = strncmp(column->codec_text, "rle", 3) == 0, strides = strncmp(column->codec_text, "delta_stride", 12) == 0;
    if (column->type.kind == ZF_K_STRING) runs = false; // made of numbers
    *out = (diff_trial){.kind = kinds[k - DIFF_RANDOM_TRIALS], .seed = number * 1000 + k};
    switch (out->kind) {
    case DIFF_LANES:
        out->shape = DATA_EVEN_2;
        out->rows = tile_of(column->type) + 133;
        return true;
    case DIFF_SWEPT:
        out->shape = DATA_EVEN_2;
        out->last = k % 3;
        out->rows = (tile_of(column->type) > 4096 ? tile_of(column->type) : 4096 + 1024) + 133;
        return true;
    case DIFF_STEPS: return runs || strides;
    case DIFF_SLOPES: return strides;
    case DIFF_DEEP: // groups of one mostly, so that stages have as many elements as the column
        out->shape = DATA_UNIFORM;
        out->rows = 2 * 4096 + 133;
        return has_stages(column->codec_text);
    case DIFF_STAGES: // the last tile is whole
        out->last = k - (DIFF_RANDOM_TRIALS + STAGES_FIRST);
        out->rows = 2 * 4096;
        out->lines = column->type.kind != ZF_K_STRING && strstr(column->codec_text, "entries: ") != NULL; // which are different
        return has_stages(column->codec_text);
    case DIFF_FLOOD: // which takes a while
        out->shape = DATA_CONSTANT;
        out->rows = DIFF_STEP_ROWS;
        return strcmp(column->codec_text, "rle") == 0 && column->type.kind == ZF_K_U32;
    case DIFF_PATCHES: return strncmp(column->codec_text, "alp", 3) == 0 || strncmp(column->codec_text, "pfor", 4) == 0;
    case DIFF_EQUAL:
        out->rows = 2 * 4096 + 133;
        if (column->type.nullable || column->type.kind == ZF_K_STRING) return true;
        out->lines = strncmp(column->codec_text, "members", 7) == 0;
        if (out->lines) out->rows = 2 * 4096 + 128; // whole words of members
        return (strides || out->lines || column->type.kind == ZF_K_BOOL || zf_kind_is_float(column->type.kind)) &&
               strstr(column->codec_text, "bitpack") != NULL;
    case DIFF_HUGE: // which takes a while
        out->rows = 128 + 30;
        return strcmp(column->codec_text, "strings") == 0;
    default: return (runs || strides) && strstr(column->codec_text, "bitpack") != NULL;
    }
}

// Data of another trial, or of a size that ends near a tile, a row of a warp or a vector.
void diff_trial_wild(const zf_column *column, unsigned number, uint64_t seed, diff_trial *out) {
    static const uint16_t units[] = {4096, 4096, 4096, 4096, 4096, 4096, 1024, 1024, 1024, 256, 128, 64, 16, 8192};
    data_random random = {.state = number * UINT64_C(1000003) + seed};
    bool found = false;
    if (data_below(&random, 2) == 0) {
        for (unsigned tries = 0; !found && tries < 8; tries++) {
            found = diff_trial_of(column, number, (unsigned)data_below(&random, DIFF_TRIALS - DIFF_WILDS), out);
            found = found && out->kind != DIFF_HUGE && out->kind != DIFF_FLOOD && out->kind != DIFF_SWEPT && out->rows > 0;
        }
    }
    if (!found) {
        uint64_t unit = units[data_below(&random, sizeof units / sizeof units[0])];
        uint64_t shape = data_below(&random, DATA_SHAPES);
        uint64_t rows = unit * (1 + data_below(&random, unit < 4096 ? 9 : unit < 8192 ? 2 : 3));
        rows += data_below(&random, 41);
        rows = rows > 20 ? rows - 20 : 0;
        uint64_t less = rows > 64 && data_below(&random, 3) == 0 ? data_below(&random, unit) : 0;
        if (less <= rows) rows -= less; // `rows` may be a little below one unit
        *out = (diff_trial){.shape = (data_shape)shape, .rows = rows};
    }
    if (out->rows == 0) out->rows = 1;
    out->wild = true;
    out->narrow = false;
    out->seed = data_next(&random);
}

// A number as a value of the type.
static void push_number(interp_stream *out, zf_type type, uint64_t value) {
    double number = (double)(value % 100000);
    float single = (float)number;
    uint64_t bits = value;
    if (type.kind == ZF_K_F64) memcpy(&bits, &number, 8);
    if (type.kind == ZF_K_F32) {
        bits = 0;
        memcpy(&bits, &single, 4);
    }
    interp_stream_push(out, zf_kind_is_float(type.kind) ? bits : interp_value_mask(type.kind, bits));
}

static void push_lines(interp_stream *out, zf_type type, const diff_trial *t) {
    data_random random = {.state = t->seed};
    uint64_t value = 0, step = 0, left = 0;
    for (uint64_t r = 0; r < t->rows; r++, left--) {
        if (t->bends) {
            step += 1 + data_below(&random, 3);
        } else if (left == 0) {
            left = 1 + data_below(&random, 400);
            step = 1 + data_below(&random, 3);
        }
        value += step;
        push_number(out, type, value);
    }
}

// Groups begin with a value that does not go on as the one before would. One that rises has steps of 1 to 3.
static void push_steps(interp_stream *out, zf_type type, const diff_trial *t) {
    uint32_t sizes[DIFF_STEP_GROUPS];
    bool strides = t->kind != DIFF_STEPS && type.kind != ZF_K_BOOL;
    diff_step_sizes(t->seed, sizes);
    uint64_t value = 0;
    for (uint32_t g = 0; g < DIFF_STEP_GROUPS; g++) {
        uint64_t step = strides ? 1 + g % 3 : 0;
        value += type.kind == ZF_K_BOOL ? 1 : 5 + g % 7;
        for (uint32_t r = 0; r < sizes[g]; r++, value += step) push_number(out, type, value);
    }
}

// A number with two decimals.
static void push_decimal(interp_stream *out, zf_type type, uint64_t hundredths) {
    double number = (double)hundredths / 100;
    float single = (float)number;
    uint64_t bits = 0;
    if (type.kind == ZF_K_F32)
        memcpy(&bits, &single, 4);
    else
        memcpy(&bits, &number, 8);
    interp_stream_push(out, bits);
}

// Groups of small numbers, each but the last of which ends with one that is an exception.
static void push_patches(interp_stream *out, zf_type type, const diff_trial *t) {
    uint32_t sizes[DIFF_STEP_GROUPS];
    bool is_float = zf_kind_is_float(type.kind);
    diff_step_sizes(t->seed, sizes);
    for (uint32_t g = 0; g < DIFF_STEP_GROUPS; g++) {
        for (uint32_t r = 0; r < sizes[g]; r++) {
            bool odd = r + 1 == sizes[g] && g + 1 < DIFF_STEP_GROUPS;
            if (odd) // a float: a NaN
                interp_stream_push(out,
                                   interp_value_mask(type.kind, is_float ? UINT64_MAX - g : UINT64_C(0x5a5a5a5a5a5a5a5a) + g));
            else if (is_float)
                push_decimal(out, type, 100 + (3 * g + r) % 8);
            else
                interp_stream_push(out, (3 * g + r) % 8);
        }
    }
}

static void push_text_from(interp *in, interp_stream *out, uint64_t first, uint64_t length) {
    char *text = zf_arena_alloc(interp_arena(in), (size_t)length + 1);
    for (uint64_t k = 0; k < length; k++) text[k] = (char)('a' + (first + k) % 23);
    interp_stream_push_string(out, text, length);
}

static void push_text(interp *in, interp_stream *out, uint64_t length) { push_text_from(in, out, 0, length); }

// One string of a megabyte among those of the first warp's row, and one in the next, which is cut.
static void push_huge(interp *in, interp_stream *out, const diff_trial *t) {
    enum { HUGE_BYTES = (1 << 20) + 77 };
    for (uint64_t r = 0; r < t->rows; r++) push_text(in, out, r == 9 || r == t->rows - 9 ? HUGE_BYTES : r % 5);
}

static void push_last(interp *in, interp_stream *out, zf_type type, const diff_trial *t) {
    for (uint64_t r = 0; r < t->rows; r++) {
        bool has = r == t->last || (r < t->last && r % 7 == 3);
        if (type.kind == ZF_K_STRING && (has || !type.nullable))
            push_text(in, out, has ? 5 : 0);
        else if (has)
            push_number(out, type, 1 + r % 5);
        else
            interp_stream_push_null(out);
    }
}

// Numbers that take five bits, or whose differences do; or any.
static void push_tight(interp_stream *out, zf_type type, const diff_trial *t) {
    data_random random = {.state = t->seed};
    uint64_t value = 0;
    for (uint64_t r = 0; r < t->rows; r++) {
        value = t->last == TIGHT_RANDOM ? data_next(&random) : (t->last == TIGHT_SLOPE ? value : 0) + r * 11 % 32;
        push_number(out, type, value);
    }
}

// Groups of one value each, or of one slope, or of none in their turn; or whose first row alone has one, while the others have
// none or are alike. Strings are of one length: they begin where they would without the damage.
static void push_stages(interp *in, interp_stream *out, zf_type type, const diff_trial *t) {
    uint64_t value = 0;
    for (uint64_t g = 0, r = 0; r < t->rows; g++) {
        uint32_t rows = diff_stage_rows(t, g);
        for (uint32_t left = rows; left > 0 && r < t->rows; left--, r++) {
            bool lone = t->last == DIFF_LONE_ROWS, has = lone ? left == rows : g % 2 == 0;
            uint64_t group = lone && !has ? 0 : g;
            value += 1 + (lone ? has : g % 2);
            if (type.nullable && !has)
                interp_stream_push_null(out);
            else if (t->lines)
                push_number(out, type, value);
            else if (type.kind == ZF_K_STRING)
                push_text_from(in, out, group, 5);
            else
                push_number(out, type, type.kind == ZF_K_BOOL ? has : lone && !has ? 4 : 5 + group % 7);
        }
    }
}

static void push_equal(interp *in, interp_stream *out, zf_type type, const diff_trial *t) {
    for (uint64_t r = 0; r < t->rows; r++) {
        if (type.nullable)
            interp_stream_push_null(out);
        else if (type.kind == ZF_K_STRING)
            push_text(in, out, 0);
        else if (zf_kind_is_float(type.kind))
            push_decimal(out, type, 1225);
        else if (type.kind == ZF_K_BOOL)
            push_number(out, type, r % 4 == 3);
        else
            push_number(out, type, t->lines ? 5 + r : 5 + r % 8);
    }
}

// "Order#0004711-3", all of one length: the last byte alone differs where each row is a lane's in its turn.
static void push_numbered(interp *in, interp_stream *out, const diff_trial *t) {
    data_random random = {.state = t->seed};
    for (uint64_t r = 0; r < t->rows; r++) {
        enum { ROOM = 32 };
        char *text = zf_arena_alloc(interp_arena(in), ROOM);
        unsigned number = t->kind == DIFF_LAST ? 0 : (unsigned)data_below(&random, 10000000), last = (unsigned)r % 10;
        interp_stream_push_string(out, text, (uint64_t)snprintf(text, ROOM, "Order#%07u-%u", number, last));
    }
}

interp_stream *diff_trial_data(interp *in, const diff_trial *t, zf_type type) {
    bool steps = t->kind >= DIFF_STEPS && t->kind <= DIFF_WIDE;
    bool rises = (t->lines && t->kind != DIFF_STAGES && t->kind != DIFF_EQUAL) || t->bends,
         made_to_measure = steps || rises || t->numbered || (t->kind >= DIFF_PATCHES && t->kind != DIFF_SWEPT);
    if (!made_to_measure) {
        interp_stream *made = data_stream(in, type, t->shape, t->seed, t->rows);
        // Nulls behind the last value, of which there is no index.
        for (uint64_t r = t->rows; type.nullable && t->seed % 2 == 0 && r > 0 && t->rows - r < 3; r--)
            interp_stream_set(made, r - 1, (interp_value){.null = true});
        return made;
    }
    interp_stream *out = interp_stream_new(in, type);
    if (t->numbered)
        push_numbered(in, out, t);
    else if (rises)
        push_lines(out, type, t);
    else if (steps)
        push_steps(out, type, t);
    else if (t->kind == DIFF_PATCHES)
        push_patches(out, type, t);
    else if (t->kind == DIFF_STAGES)
        push_stages(in, out, type, t);
    else if (t->kind == DIFF_EQUAL)
        push_equal(in, out, type, t);
    else if (t->kind == DIFF_HUGE)
        push_huge(in, out, t);
    else if (t->kind == DIFF_LAST)
        push_last(in, out, type, t);
    else
        push_tight(out, type, t);
    return out;
}

bool diff_trial_milder(diff_trial *t, zf_type type, unsigned k) {
    bool texts = type.kind == ZF_K_STRING && !type.nullable, numbers = type.kind != ZF_K_STRING && type.kind != ZF_K_BOOL;
    t->numbered = texts && k == 0;
    t->lines = numbers && k == 1;
    t->bends = numbers && k == 2;
    if (!t->numbered && !t->lines && !t->bends) t->shape = DATA_CONSTANT;
    return k == 0 || (texts && k == 1) || (numbers && k <= 2);
}

bool diff_trial_full_groups(const zf_column *column, const diff_trial *t) {
    bool made = t->wild || t->kind == DIFF_SWEPT; // words without a bit
    return strstr(column->codec_text, "fsst_groups") == NULL && (!made || strstr(column->codec_text, "members") == NULL);
}

bool diff_trial_thorough(const diff_trial *t) {
    if (t->wild) return t->seed % 8 == 0;
    if (t->kind == DIFF_SWEPT) return false;
    return t->kind != DIFF_RANDOM && (t->kind < DIFF_HUGE || t->kind == DIFF_STAGES);
}

static bool settle(interp *in, const zf_column *column, const diff_trial *t, interp_block *block) {
    if (t->kind == DIFF_TIGHT) return diff_cut_streams(in, column, block);
    if (t->kind == DIFF_STAGES) return diff_stages_widen(in, column, t, block);
    if (t->kind == DIFF_SWEPT) {
        diff_wild wild;
        diff_wild_open(in, column, block, &wild);
        diff_wild_pack(&wild, t->last == 0 ? DIFF_FULL : DIFF_NARROWER, t->last == 1);
        if (t->last == 1 && !diff_wild_has_sizes(&wild)) return false;
        if (t->last == 2 && !diff_wild_inflate(&wild, SWEPT_TABLE)) return false;
        *block = wild.block;
        return true;
    }
    return t->kind != DIFF_WIDE || diff_widen_sizes(in, column, block);
}

bool diff_trial_settle(interp *in, const zf_column *column, const diff_trial *t, interp_block *block) {
    if (!t->wild) return settle(in, column, t, block);
    interp_block settled = *block;
    if (settle(in, column, t, &settled)) *block = settled;
    diff_wild wild;
    diff_wild_open(in, column, block, &wild);
    diff_wild_shape(&wild, diff_wild_packing(t->seed), t->seed);
    *block = wild.block;
    return true;
}
