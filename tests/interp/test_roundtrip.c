// Every codec of roundtrip.zf encodes and decodes every distribution, and what the checker claims about values holds.
// Arguments: names of columns (all without).
#include <stdlib.h>
#include <string.h>

#include "tests/interp/data.h"
#include "tests/interp/externs.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"

#ifdef ZF_SANITIZE
enum { STEP = 8 }; // of the distributions a column takes one in so many: checked code is ten times slower
#else
enum { STEP = 4 };
#endif

static unsigned turn; // ZF_TEST_TURN: other distributions and sizes at each turn

typedef struct tally {
    uint64_t taken, refused;
} tally;

static void run_case(const zf_column *column, data_shape shape, uint64_t count, bool whole, tally *t) {
    interp_options options = {.externs = interp_test_externs,
                              .extern_count = interp_test_extern_count,
                              .max_elements = 1 << 20,
                              .no_verify = count > 100}; // decoded below in any case
    interp *in = interp_create(&options);
    interp_stream *plain = data_stream(in, column->type, shape, count * 31 + shape, count), *out;
    interp_tree *tree;
    interp_report report;
    interp_status status = interp_encode(in, column, plain, &tree, &report);       // decodes and compares, too
    bool refused = (status == INTERP_REFUSED || status == INTERP_LIMIT) && !whole; // sparse sets make long bitmaps
    CHECK(status == INTERP_OK || refused, "%s, %s, %llu elements: %s: %s", column->name, data_shape_name(shape),
          (unsigned long long)count, interp_status_name(status), report.message);
    if (status == INTERP_OK) {
        t->taken++;
        interp_block block;
        interp_flatten(in, column, tree, &block);
        status = interp_decode_stored(in, column, &block, &out, &report);
        uint64_t first = 0;
        CHECK(status == INTERP_OK && interp_stream_equal(tree->plain, out, &first), "%s, %s, %llu elements: decoding: %s at %llu",
              column->name, data_shape_name(shape), (unsigned long long)count, interp_status_name(status),
              (unsigned long long)first);
        CHECK(!report.unreached, "%s, %s, %llu elements: something that is never pulled violates V%02u of '%s'", column->name,
              data_shape_name(shape), (unsigned long long)count, report.hidden.number, report.hidden.path);
    } else
        t->refused++;
    const interp_claims *claims = interp_claims_of(in);
    CHECK(!claims->range && !claims->proved, "%s, %s, %llu elements: the checker is wrong: %s", column->name,
          data_shape_name(shape), (unsigned long long)count, claims->where);
    interp_destroy(in);
}

static void run_column(const zf_column *column, bool whole, unsigned number) {
    static const uint64_t small[] = {0, 1, 2, 31, 32, 33}, large[] = {4095, 4096, 4097};
    tally all = {0};
    for (unsigned k = 0; k < 6; k++)
        for (unsigned s = 0; s < 4; s++) run_case(column, (data_shape)((s * 6 + k) % DATA_SHAPES), small[k], whole, &all);
    for (unsigned s = (number + turn) % STEP; s < DATA_SHAPES; s += STEP) // each column begins at another one, with another size
        run_case(column, (data_shape)s, large[(s + number / STEP + turn / STEP) % 3], whole, &all);
    CHECK(all.taken > 0, "%s took nothing at all", column->name);
    CHECK(whole || all.refused > 0, "%s refused nothing at all", column->name);
}

int main(int count, char **names) {
    const char *given = getenv("ZF_TEST_TURN");
    turn = given != NULL ? (unsigned)strtoul(given, NULL, 10) : 0;
    zf_spec *spec = load_file(ZF_SOURCE_DIR "/tests/interp/roundtrip.zf");
    CHECK(spec != NULL, "roundtrip.zf has errors");
    if (!spec) return check_result();
    unsigned number = 0;
    for (const zf_table *table = zf_spec_tables(spec); table; table = table->next) {
        for (const zf_column *column = table->columns; column; column = column->next, number++) {
            bool wanted = count < 2;
            for (int k = 1; k < count; k++) wanted = wanted || strcmp(names[k], column->name) == 0;
            if (wanted) run_column(column, strcmp(table->name, "whole") == 0, number);
        }
    }
    zf_spec_destroy(spec);
    return check_result();
}
