// No algorithm is known by its name, to its last byte: under other names for everything in the library and in the codecs, every
// column has the same plan, the same optimised code, the same stored blocks and the same elements.
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_columns.h"
#include "tests/differential/diff_file.h"
#include "tests/interp/data.h"
#include "tests/support/renaming.h"

enum { LEVEL = 1, NESTS = 8, ROWS = 2 * 4096 + 77 };

/// One compiler with its library and the columns.
typedef struct side {
    diff_machine machine;
    diff_program program;
} side;

static bool open_side(side *s, const char *std_dir, const char *text) {
    zf_text message = {0};
    bool good = diff_machine_open(&s->machine, std_dir, &message) && diff_program_open(&s->machine, text, &s->program, &message);
    CHECK(good, "%s: %s", std_dir != NULL ? std_dir : "std", message.data != NULL ? message.data : "the program has errors");
    zf_text_free(&message);
    return good;
}

static void close_side(side *s) {
    diff_program_close(&s->program);
    diff_machine_close(&s->machine);
}

/// Plan and code of a column, without alternatives: the first of each.
static void print_column(const side *s, const zf_column *column, bool general, zf_text *out) {
    zf_decoder *decoder = NULL;
    zf_error error = {0};
    uint8_t branches[64] = {0};
    uint64_t shaping[64];
    for (int k = 0; k < 64; k++) shaping[k] = 7;
    zf_status status =
        zf_decoder_create(s->machine.compilers[LEVEL], column, branches, column->choice_count, NULL, &decoder, &error);
    if (status == ZF_OK) {
        zf_plan_print(decoder->plan, out);
        status = zf_decoder_print(decoder, general ? NULL : shaping, ZF_JIT_OPTIMISED, true, out, &error);
    }
    CHECK(status == ZF_OK, "%s: %s", column->codec_text, error.message);
    zf_decoder_free(decoder);
}

static void same_text(const renaming *map, const zf_column *column, const zf_text *original, const zf_text *renamed) {
    zf_text back = {0};
    size_t at = 0, line = 0;
    renaming_back(map, renamed->data, &back);
    while (original->data[at] != 0 && original->data[at] == back.data[at]) {
        if (original->data[at++] == '\n') line = at;
    }
    CHECK(original->data[at] == back.data[at], "%s: plan or code differ:\n%.200s\nunder the other names:\n%.200s",
          column->codec_text, original->data + line, back.data + line);
    zf_text_free(&back);
}

/// The same data into a file on both sides; true when both took it.
static bool same_file(const renaming *map, const side *one, const side *other, const zf_column *column,
                      const interp_stream *plain) {
    diff_file a, b;
    zf_text why_a = {0}, why_b = {0};
    bool good_a = diff_file_run(&one->program, &one->machine, LEVEL, column->table->name, column->name, plain, 4096, &a, &why_a);
    bool good_b =
        diff_file_run(&other->program, &other->machine, LEVEL, column->table->name, column->name, plain, 4096, &b, &why_b);
    CHECK(good_a == good_b, "%s: %s%s under one name alone", column->codec_text, good_a ? "" : why_a.data,
          good_b ? "" : why_b.data);
    if (!good_a && !good_b) { // then for the same reason, in another place
        zf_text back = {0};
        renaming_back(map, why_b.data, &back);
        const char *place = strstr(why_a.data, " (column ");
        CHECK(place != NULL && strncmp(why_a.data, back.data, (size_t)(place - why_a.data)) == 0,
              "%s: %s, but under the other names %s", column->codec_text, why_a.data, back.data);
        zf_text_free(&back);
    }
    if (good_a && good_b) {
        CHECK(a.stored_size == b.stored_size && memcmp(a.stored, b.stored, a.stored_size) == 0, "%s: other bytes are stored",
              column->codec_text);
        CHECK(a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0, "%s: other bytes are decoded", column->codec_text);
        CHECK(diff_file_same(&a, plain), "%s: decoded", column->codec_text);
    }
    diff_file_free(&a);
    diff_file_free(&b);
    zf_text_free(&why_a);
    zf_text_free(&why_b);
    return good_a && good_b;
}

static void compare(const renaming *map, const side *one, const side *other, unsigned each) {
    const zf_table *table = zf_spec_tables(zf_program_spec(one->program.programs[LEVEL]));
    const zf_table *same = zf_spec_tables(zf_program_spec(other->program.programs[LEVEL]));
    unsigned compared = 0, taken = 0;
    for (unsigned number = 0; table != NULL; table = table->next, same = same->next, number++) {
        CHECK(same != NULL && strcmp(table->name, same->name) == 0, "other tables");
        if (number % each != 0) continue;
        zf_text original = {0}, renamed = {0};
        print_column(one, table->columns, number % 2 == 0, &original);
        print_column(other, same->columns, number % 2 == 0, &renamed);
        same_text(map, table->columns, &original, &renamed);
        zf_text_free(&original);
        zf_text_free(&renamed);
        interp *in = interp_create(NULL);
        compared++;
        taken += same_file(map, one, other, table->columns,
                           data_stream(in, table->columns->type,
                                       number % 3 == 0   ? DATA_RUNS_16
                                       : number % 3 == 1 ? DATA_ZIPF
                                                         : DATA_NEARLY_SORTED,
                                       number, ROWS));
        interp_destroy(in);
    }
    // Some codecs refuse some of the data, as they should.
    CHECK(compared > 0 && 5 * taken >= 4 * compared, "only %u of %u columns could be written", taken, compared);
    printf("%u columns, %u written and read\n", compared, taken);
}

// Arguments: every how many columns (3), seed.
int main(int count, char **arguments) {
    unsigned each = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 3;
    uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 11;
    zf_text text = {0}, other_text = {0};
    side one = {0}, other = {0};
    char root[] = "/tmp/zf_rename_code_XXXXXX";
    diff_columns_families(&text);
    diff_columns_tpch(&text);
    diff_columns_nests(NESTS, &text);
    CHECK(mkdtemp(root) != NULL, "no temporary directory");
    renaming *map = renaming_make(seed * 0x9e3779b9u, text.data);
    renaming_write_std(map, root);
    renaming_forth(map, text.data, &other_text);
    CHECK(strstr(other_text.data, "rle") == NULL && strstr(other_text.data, "bitpack") == NULL, "a name stayed");
    if (open_side(&one, NULL, text.data) && open_side(&other, root, other_text.data)) compare(map, &one, &other, each);
    close_side(&one);
    close_side(&other);
    renaming_remove_std(map, root);
    rmdir(root);
    renaming_free(map);
    zf_text_free(&text);
    zf_text_free(&other_text);
    return check_result();
}
