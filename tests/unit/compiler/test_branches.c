// Links: zipflow-compiler
// The vectors of alternatives of a column: all of them once.
#include <string.h>

#include "compiler/module/branches.h"
#include "tests/unit/check.h"

static const char text[] =
    "table t {\n"
    "    none:   u32 = bitpack;\n"
    "    one:    u32 = bitpack | plain;\n"
    "    nested: u32 = rle(bitpack | plain, plain) | plain | dictionary(plain | bitpack | rle(plain, plain));\n"
    "    flat:   u32 = rle(bitpack | plain, bitpack | plain);\n"
    "}\n";

static const zf_table *table_of(zf_spec **spec) {
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    *spec = zf_spec_create(&options);
    CHECK(zf_spec_add_text(*spec, "t.zf", text, sizeof text - 1) && zf_spec_check(*spec), "the program does not check");
    return zf_spec_find_table(*spec, "t");
}

int main(void) {
    static const struct {
        const char *name;
        unsigned vectors;
    } cases[] = {{"none", 1}, {"one", 2}, {"nested", 2 + 1 + 3}, {"flat", 4}};
    zf_spec *spec;
    const zf_table *table = table_of(&spec);
    if (table == NULL) return 1;
    for (const zf_column *column = table->columns; column != NULL; column = column->next) {
        uint8_t branches[32] = {0}, seen[16][32];
        unsigned count = 0;
        bool more = true;
        zf_error error = {0};
        while (more && count < 16) {
            memcpy(seen[count], branches, sizeof branches);
            for (unsigned k = 0; k < count; k++)
                CHECK(memcmp(seen[k], branches, sizeof branches) != 0, "%s: twice", column->name);
            count++;
            CHECK(zf_branches_next(column, branches, &more, &error) == ZF_OK, "%s: %s", column->name, error.message);
        }
        for (unsigned k = 0; k < sizeof branches; k++) CHECK(branches[k] == 0, "%s ends elsewhere than it began", column->name);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            if (strcmp(cases[k].name, column->name) == 0)
                CHECK(count == cases[k].vectors, "%s: %u vectors, not %u", column->name, count, cases[k].vectors);
        }
    }
    zf_spec_destroy(spec);
    return check_result();
}
