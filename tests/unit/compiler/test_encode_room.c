// Links: zipflow-compiler
// Streams of encode bodies whose room ends where bits pend: nothing is lost when they get more. An encode compares its block with
// the rows.
#include "compiler/program.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"

/// Nine bytes by bits and one by something else; the first of them begins at any place.
static const char PENDING[] =
    "algorithm pending(s: u8[], param begin: u64) -> u8[] fully_parallel {\n"
    "    decode(i) = all(k in 1..10: s[begin + 10 * i + k] == s[begin + 10 * i]) ? s[begin + 10 * i] : 255;\n"
    "    encode(x) {\n"
    "        begin = x.len % 16;\n"
    "        for k in 0..begin { s.push(0); }\n"
    "        for i in 0..x.len {\n"
    "            for k in 0..3 { s.push_bits(x[i] as u64 * 0x10101, 24); }\n"
    "            if x[i] % 3 == 0 { s.append(x[i..i + 1]); }\n"
    "            if x[i] % 3 == 1 { s.push(x[i]); }\n"
    "            if x[i] % 3 == 2 { s.push_varint(x[i] as u64); }\n"
    "        }\n"
    "    }\n"
    "}\n"
    "table t { c: u8 = pending; }\n";

static void encode(zf_program *program, unsigned kind, uint64_t rows) {
    static uint8_t plain[3000];
    zf_error error = {0};
    for (unsigned k = 0; k < rows; k++) plain[k] = (uint8_t)(3 * (k * k % 40) + kind); // remainders by 3 are `kind`
    zf_encode_column column = {.name = "c", .values = plain};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = 8192, .overwrite = true};
    zf_status status = zf_encode(program, NULL, &column, 1, rows, &options, place("t.zfd"), NULL, &error);
    CHECK(status == ZF_OK, "%u, %u rows: %s: %s (%s)", kind, (unsigned)rows, error.code, error.message, error.place);
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(scratch_begin("encode-room"), "no directory");
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    zf_status status = zf_program_read(compiler, "t.zf", PENDING, sizeof PENDING - 1, false, &program, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    for (unsigned kind = 0; kind < 3 && status == ZF_OK; kind++)
        for (uint64_t rows = 1600; rows < 1616; rows++) encode(program, kind, rows);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
