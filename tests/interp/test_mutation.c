// Blocks that were damaged: a violation or a result, never more. Run under AddressSanitizer and
// UndefinedBehaviorSanitizer, too. Arguments: rounds a column, first seed.
#include <stdlib.h>

#include "tests/differential/generator/gen_program.h"
#include "tests/interp/data.h"
#include "tests/interp/externs.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"

typedef struct tally {
    uint64_t results, violations, limits;
} tally;

static void damage(const zf_column *column, uint64_t seed, unsigned rounds, tally *t) {
    interp_options options = {
        .externs = interp_test_externs, .extern_count = interp_test_extern_count, .fuel = 10000000, .max_elements = 100000};
    static const data_shape shapes[] = {DATA_NEARLY_SORTED, DATA_RUNS_16, DATA_ZIPF, DATA_OUTLIERS, DATA_EVEN_4};
    interp *in = interp_create(&options);
    uint64_t count = 1 + seed % 700;
    interp_stream *plain = data_stream(in, column->type, shapes[seed % 5], seed, count), *out;
    interp_tree *tree;
    interp_report report;
    interp_block block;
    if (interp_encode(in, column, plain, &tree, &report) == INTERP_OK && interp_flatten(in, column, tree, &block) == INTERP_OK) {
        for (unsigned k = 0; k < rounds; k++) {
            interp_block damaged = block;
            for (uint64_t n = 1 + k % 3; n > 0; n--) gen_damage(in, seed * 1000 + k * 3 + n, &damaged);
            interp_status status = interp_decode_stored(in, column, &damaged, &out, &report);
            t->results += status == INTERP_OK;
            t->violations += status == INTERP_VIOLATION;
            t->limits += status == INTERP_LIMIT;
            CHECK(status == INTERP_OK || status == INTERP_VIOLATION || status == INTERP_LIMIT, "%s, seed %llu, round %u: %s: %s",
                  column->name, (unsigned long long)seed, k, interp_status_name(status), report.message);
            CHECK(status != INTERP_VIOLATION || report.violation.number != 0, "%s: a violation has a number", column->name);
        }
    }
    const interp_claims *claims = interp_claims_of(in);
    CHECK(!claims->range && !claims->proved, "%s, seed %llu: the checker is wrong: %s", column->name, (unsigned long long)seed,
          claims->where);
    interp_destroy(in);
}

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 12;
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    zf_spec *spec = load_file(ZF_SOURCE_DIR "/tests/interp/roundtrip.zf");
    CHECK(spec != NULL, "roundtrip.zf has errors");
    if (!spec) return check_result();
    tally t = {0};
    for (const zf_table *table = zf_spec_tables(spec); table; table = table->next)
        for (const zf_column *column = table->columns; column; column = column->next)
            for (uint64_t seed = first; seed < first + 5; seed++) damage(column, seed * 131, rounds, &t);
    printf("%llu results, %llu violations, %llu limits\n", (unsigned long long)t.results, (unsigned long long)t.violations,
           (unsigned long long)t.limits);
    CHECK(t.violations > t.results / 4 && t.results > 0, "damage is noticed, and not always");
    zf_spec_destroy(spec);
    return check_result();
}
