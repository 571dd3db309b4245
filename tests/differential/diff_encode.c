#include "tests/differential/diff_encode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/encode/encode_tree.h"
#include "tests/differential/diff_text.h"
#include "tests/interp/interp_internal.h"

typedef unsigned long long ull;

const char *diff_encoded_name(diff_encoded verdict) {
    static const char *const names[DIFF_ENCODE_VERDICTS] = {"encoded", "refused", "other_branch", "limited", "differs"};
    return names[verdict];
}

// ---- Programs -------------------------------------------------------------------------------------------------

static bool write_text(const char *text, char *path, int suffix) {
    int file = mkstemps(path, suffix);
    if (file < 0) return false;
    size_t length = strlen(text);
    bool good = write(file, text, length) == (ssize_t)length;
    close(file);
    return good;
}

bool diff_program_open(const diff_machine *m, const char *text, diff_program *out, zf_text *message) {
    char path[] = "/tmp/zf_differential_XXXXXX.zf";
    *out = (diff_program){{0}};
    if (!write_text(text, path, 3)) {
        zf_text_printf(message, "%s cannot be written", path);
        return false;
    }
    bool good = diff_program_open_file(m, path, out, NULL); // that a program has errors is no trouble
    unlink(path);
    return good;
}

bool diff_program_open_file(const diff_machine *m, const char *path, diff_program *out, zf_text *message) {
    *out = (diff_program){{0}};
    zf_error error = {0};
    bool good = true;
    for (unsigned k = 0; k < DIFF_LEVELS && good; k++)
        good = zf_program_load(m->compilers[k], path, &out->programs[k], &error) == ZF_OK;
    if (good) return true;
    if (message != NULL) zf_text_printf(message, "%s: %s (%s)", error.code, error.message, error.place);
    diff_program_close(out);
    return false;
}

void diff_program_close(diff_program *p) {
    for (unsigned k = 0; k < DIFF_LEVELS; k++) zf_program_free(p->programs[k]);
    *p = (diff_program){{0}};
}

zf_spec *diff_program_spec(const diff_program *p) { return zf_program_spec(p->programs[0]); }

static const zf_column *same_column(const diff_program *p, unsigned level, const zf_column *column) {
    if (level == 0) return column;
    const zf_table *table = zf_spec_find_table(zf_program_spec(p->programs[level]), column->table->name);
    for (const zf_column *c = table != NULL ? table->columns : NULL; c != NULL; c = c->next)
        if (strcmp(c->name, column->name) == 0) return c;
    return NULL;
}

// ---- The input of encoders ------------------------------------------------------------------------------------

typedef struct source {
    uint8_t *bytes;    // elements one after the other; bool: a byte each
    uint8_t *validity; // nullable: a byte each
    uint64_t *offsets; // strings
    uint64_t rows;
    zf_encode_input input;
} source;

static source source_of(const interp_stream *plain) {
    source s = {.rows = interp_stream_count(plain)};
    zf_type type = zf_type_strip(interp_stream_type(plain));
    size_t size = type.kind == ZF_K_BOOL ? 1 : zf_kind_size(type.kind);
    s.bytes = calloc((type.kind == ZF_K_STRING ? diff_characters(plain) : s.rows * size) + 64, 1);
    if (type.kind == ZF_K_STRING) s.offsets = diff_texts(plain, s.bytes);
    if (type.nullable) s.validity = calloc(s.rows + 1, 1);
    for (uint64_t r = 0; r < s.rows; r++) {
        bool null = interp_stream_get(plain, r).null;
        uint64_t bits = s.offsets == NULL ? interp_stream_bits(plain, r, NULL) : 0;
        if (s.offsets == NULL) memcpy(s.bytes + r * size, &bits, size);
        if (type.nullable) s.validity[r] = !null;
    }
    s.input = (zf_encode_input){
        .type = type, .values = s.bytes, .validity = s.validity, .offsets = s.offsets, .rows = s.rows, .part_count = s.rows > 0};
    return s;
}

static zf_encode_fn find_encoder(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "its encoder was not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

// ---- Comparing ------------------------------------------------------------------------------------------------

static bool say(zf_text *message, const zf_codec_node *node, const char *what, const char *name) {
    zf_text_printf(message, "%s: %s %s", node->inst->name, what, name);
    return false;
}

static bool same_stream(const zf_encode_buffer *made, const interp_stream *wanted) {
    zf_kind kind = interp_stream_type(wanted).kind;
    uint64_t count = interp_stream_count(wanted);
    if (made->length != count) return false;
    for (uint64_t k = 0; made->nullable && k < count; k++) {
        bool null;
        null = interp_stream_get(wanted, k).null;
        if (null == (made->validity[k] != 0)) return false;
    }
    for (uint64_t k = 0; made->is_text && k < count; k++) {
        uint64_t length, at[2];
        const uint8_t *text = diff_text_of(wanted, k, &length);
        memcpy(at, made->data + 8 * k, sizeof at);
        if (at[1] - at[0] != length || (length > 0 && memcmp(made->text + at[0], text, length) != 0)) return false;
    }
    if (made->is_text) return true;
    if (kind != ZF_K_BOOL) return count == 0 || memcmp(made->data, interp_stream_bytes(wanted), interp_stream_size(wanted)) == 0;
    for (uint64_t k = 0; k < count; k++)
        if ((made->data[k] != 0) != (interp_stream_bits(wanted, k, NULL) != 0)) return false;
    return true;
}

static uint64_t masked(zf_kind kind, uint64_t bits) {
    unsigned width = zf_kind_bits(kind);
    return width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

// False with *message when something differs; *other when another alternative was taken somewhere.
static bool same_tree(const zf_encode_node *made, const interp_tree *wanted, bool *other, zf_text *message) {
    const zf_inst *inst = wanted->node->inst;
    if (made->branch != wanted->branch) {
        *other = true;
        return true;
    }
    if (made->count != interp_stream_count(wanted->plain))
        return say(message, wanted->node, "the number of elements differs", "");
    for (uint32_t p = 0; p < inst->param_count; p++)
        if (masked(inst->params[p]->type.kind, made->params[p]) != masked(inst->params[p]->type.kind, wanted->params[p])) {
            zf_text_printf(message, "%s: param %s is %llu, should be %llu", inst->name, inst->params[p]->name,
                           (ull)made->params[p], (ull)wanted->params[p]);
            return false;
        }
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (!same_stream(&made->streams[s], wanted->streams[s]))
            return say(message, wanted->node, "other elements in stream", inst->streams[s]->name);
        if ((made->children[s] == NULL) != (wanted->children[s] == NULL))
            return say(message, wanted->node, "another tree at", inst->streams[s]->name);
        if (made->children[s] != NULL && !same_tree(made->children[s], wanted->children[s], other, message)) return false;
    }
    return true;
}

// ---- A compiled tree as a block -------------------------------------------------------------------------------

typedef struct flat {
    interp *in;
    uint8_t *branches;
    uint64_t *params, *counts;
    interp_stored *streams;
    interp_directory *directories;
    interp_block *out;
} flat;

static void measure(const zf_encode_node *node, interp_block *out) {
    const zf_inst *inst = node->codec->inst;
    out->edge_count++;
    out->param_count += inst->param_count;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (node->children[s] != NULL)
            measure(node->children[s], out);
        else {
            out->edge_count++;
            out->stream_count++;
        }
    }
}

static void fill(const zf_encode_node *node, flat *f) {
    const zf_inst *inst = node->codec->inst;
    f->counts[f->out->edge_count++] = node->count;
    if (node->choice->count > 1) f->branches[node->choice->index] = (uint8_t)node->branch;
    for (uint32_t p = 0; p < inst->param_count; p++) f->params[f->out->param_count++] = node->params[p];
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_encode_buffer *buffer = &node->streams[s];
        if (inst->streams[s]->per_chunk && !inst->streams[s]->fixed) {
            uint64_t *starts = ZF_NEW_ARRAY(interp_arena(f->in), uint64_t, buffer->start_count + 1);
            if (buffer->start_count > 0) memcpy(starts, buffer->starts, buffer->start_count * sizeof *starts);
            f->directories[f->out->edge_count] = (interp_directory){.starts = starts, .count = buffer->start_count};
        }
        if (node->children[s] != NULL) {
            fill(node->children[s], f);
            continue;
        }
        interp_stream *copy = interp_stream_new(f->in, inst->streams[s]->type);
        for (uint64_t k = 0; k < buffer->length; k++) {
            uint64_t bits = 0;
            memcpy(&bits, buffer->data + k * buffer->element, buffer->element);
            interp_stream_push(copy, bits);
        }
        f->streams[f->out->stream_count++] =
            (interp_stored){.bytes = interp_stream_bytes(copy), .size = interp_stream_size(copy), .elements = buffer->length};
        f->counts[f->out->edge_count++] = buffer->length;
    }
}

static void flatten(interp *in, const zf_column *column, const zf_encode_node *tree, interp_block *out) {
    zf_arena *arena = interp_arena(in);
    *out = (interp_block){.branch_count = column->choice_count};
    measure(tree, out);
    flat f = {.in = in,
              .out = out,
              .branches = ZF_NEW_ARRAY(arena, uint8_t, column->choice_count + 1u),
              .params = ZF_NEW_ARRAY(arena, uint64_t, out->param_count + 1u),
              .counts = ZF_NEW_ARRAY(arena, uint64_t, out->edge_count + 1u),
              .streams = ZF_NEW_ARRAY(arena, interp_stored, out->stream_count + 1u),
              .directories = ZF_NEW_ARRAY(arena, interp_directory, out->edge_count + 1u)};
    out->param_count = out->edge_count = out->stream_count = 0;
    fill(tree, &f);
    out->branches = f.branches;
    out->params = f.params;
    out->counts = f.counts;
    out->streams = f.streams;
    out->directories = f.directories;
}

// ---- A column -------------------------------------------------------------------------------------------------

// The compiled block must decode to its source, whatever was chosen.
static bool decodes(interp *in, const zf_column *column, const zf_encode_node *tree, const interp_stream *plain,
                    interp_block *block, zf_text *message) {
    interp_report report;
    interp_stream *out;
    uint64_t row = 0;
    flatten(in, column, tree, block);
    interp_status status = interp_decode_stored(in, column, block, &out, &report);
    if (status == INTERP_OK && interp_stream_equal(plain, out, &row)) return true;
    zf_text_printf(message, "what was encoded does not decode: %s, row %llu", interp_status_name(status), (ull)row);
    return false;
}

static diff_encoded check_level(const diff_program *p, unsigned level, const zf_column *column, interp *in,
                                const interp_stream *plain, interp_status status, const interp_tree *wanted, interp_block *block,
                                zf_text *message) {
    zf_error error = {0};
    const zf_column *own = same_column(p, level, column);
    zf_text_printf(message, "%s: ", diff_level_name(level));
    if (zf_program_compile(p->programs[level], (const zf_column *[]){own}, 1, 1, &error) != ZF_OK) {
        zf_text_printf(message, "compiling: %s %s", error.code, error.message);
        return DIFF_ENCODE_DIFFERS;
    }
    source s = source_of(plain);
    s.input.parts = &s.rows;
    zf_encode_task task = {.find = find_encoder, .user = p->programs[level]};
    zf_encode_node *tree = NULL;
    zf_status made = zf_encode_tree(&task, own->codec, &s.input, &tree);
    diff_encoded verdict = DIFF_ENCODED;
    bool other = false;
    if (made == ZF_OK && status == INTERP_OK) {
        if (!same_tree(tree, wanted, &other, message))
            verdict = DIFF_ENCODE_DIFFERS;
        else if (!decodes(in, own, tree, plain, block, message))
            verdict = DIFF_ENCODE_DIFFERS;
        else if (other)
            verdict = DIFF_OTHER_BRANCH;
    } else if (made == ZF_ERR_INPUT && (status == INTERP_REFUSED || status == INTERP_VIOLATION)) {
        verdict = DIFF_REFUSED;
    } else {
        zf_text_printf(message, "%s where the interpreter says: %s", made == ZF_OK ? "encoded" : task.refusals[0].reason,
                       interp_status_name(status));
        verdict = DIFF_ENCODE_DIFFERS;
    }
    zf_encode_tree_free(tree);
    free(s.bytes);
    free(s.validity);
    free(s.offsets);
    return verdict;
}

diff_encoded diff_check_encode(const diff_program *p, const zf_column *column, interp *in, const interp_stream *plain,
                               interp_block *block, zf_text *message) {
    interp_report report;
    interp_tree *wanted;
    interp_status status = interp_encode(in, column, plain, &wanted, &report);
    if (status == INTERP_LIMIT || status == INTERP_MEMORY) return DIFF_ENCODE_LIMITED;
    diff_encoded verdict = DIFF_ENCODED;
    for (unsigned level = 0; level < DIFF_LEVELS; level++) {
        zf_text why = {0};
        diff_encoded one = check_level(p, level, column, in, plain, status, wanted, block, &why);
        if (one == DIFF_ENCODE_DIFFERS) zf_text_puts(message, why.data);
        zf_text_free(&why);
        if (one == DIFF_ENCODE_DIFFERS) return one;
        if (one != DIFF_ENCODED) verdict = one;
    }
    if (verdict == DIFF_ENCODED && interp_flatten(in, column, wanted, block) != INTERP_OK) return DIFF_ENCODE_LIMITED;
    return verdict;
}
