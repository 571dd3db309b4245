// `zf_encode`: the first two bytes of the input choose a codec, all of the library's algorithms with every type and nests of them
// (tests/differential/diff_columns.h), the third its options, the rest are the rows. The codec refuses them with an error that
// has a place, or the file decodes to them on the CPU and, of some inputs, on an emulated GPU.
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "tests/differential/diff_columns.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_data.h"
#include "tests/fuzz/fuzz_decode.h"

enum { NESTS = 40, MOST_SIZE = 1 << 16 };

static fuzz_machine machine;
static zf_program *program;
static const zf_table **tables;
static size_t table_count;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    fuzz_machine_open(&machine);
    zf_text text = {0};
    diff_columns_families(&text);
    diff_columns_nests(NESTS, &text);
    program = fuzz_program(&machine, text.data);
    zf_text_free(&text);
    const zf_table *first = zf_spec_tables(zf_program_spec(program));
    for (const zf_table *table = first; table != NULL; table = table->next) table_count++;
    tables = calloc(table_count, sizeof *tables);
    if (tables == NULL) exit(2);
    size_t number = 0;
    for (const zf_table *table = first; table != NULL; table = table->next) tables[number++] = table;
    return 0;
}

static void check_decode(zf_container *container, const char *device, const fuzz_data *data, const char *codec) {
    fuzz_decoded decoded;
    zf_decode_options options = {.threads = 1};
    FUZZ_DEMAND(fuzz_decode(container, 0, device, &options, &decoded), "%s: %zu bytes of workspace", codec,
                decoded.sizes.workspace);
    FUZZ_DEMAND(decoded.status == ZF_OK, "%s on %s: %s %s (%s)", codec, device, decoded.error.code, decoded.error.message,
                decoded.error.place);
    const char *differs = fuzz_data_differs(data, 0, data->rows, &decoded.buffers);
    FUZZ_DEMAND(differs == NULL, "%s on %s: %s", codec, device, differs);
    fuzz_decoded_free(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3 || size > MOST_SIZE) return -1;
    const zf_table *table = tables[(data[0] + 256u * data[1]) % table_count];
    static const unsigned intervals[] = {0, 256, 256, 1024};
    zf_encode_options options = {.overwrite = true, .threads = 1, .rows_per_block = 4096};
    options.seek_interval = intervals[data[2] % 4];
    options.unfused = data[2] / 4 % 4 == 0 ? "all" : NULL;
    fuzz_data rows;
    fuzz_data_cut(&rows, zf_column_type_of(table->columns->type), data + 3, size - 3);
    zf_encode_column column = {.name = "c", .values = rows.values, .offsets = rows.offsets, .validity = rows.validity};
    zf_error error = {0};
    zf_status status = zf_encode(program, table->name, &column, 1, rows.rows, &options, fuzz_path(), NULL, &error);
    if (status != ZF_OK) {
        fuzz_check_error(&error);
        FUZZ_DEMAND(status == ZF_ERR_INPUT && strcmp(error.code, "ZF0601") != 0, "table %s: %s %s (%s)", table->name, error.code,
                    error.message, error.place);
    } else {
        zf_container *container = NULL;
        status = zf_container_open(machine.context, fuzz_path(), &container, &error);
        FUZZ_DEMAND(status == ZF_OK, "table %s: it does not open: %s", table->name, error.message);
        check_decode(container, "cpu", &rows, table->name);
        uint64_t hash = XXH3_64bits(data, size);
        if (hash % 4 == 0) check_decode(container, hash % 8 == 0 ? "emu" : "emu64", &rows, table->name);
        zf_container_close(container);
    }
    unlink(fuzz_path());
    fuzz_data_free(&rows);
    return 0;
}
