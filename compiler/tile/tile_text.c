// The text of a header of tile loaders: CUDA C++ around the inline assembly.
#include <string.h>

#include "compiler/tile/tile_column.h"

// ---- The head -------------------------------------------------------------------------------------------------

static const char head[] =
    "// `zf_tile_open_COLUMN` and `zf_tile_load_COLUMN` decode columns of the table `%s` within a kernel of yours, a tile at a "
    "time,\n"
    "// from the blocks of a file as they are stored. Made by `zfc compile --device-functions`; needs no other header, and "
    "compute\n"
    "// capability 8.0 or later.\n"
    "//\n"
    "// On the host, for each column (zipflow.h): zf_tiles_prepare(container, ZF_TILE_KEY_COLUMN, ...) copies its blocks to the "
    "GPU,\n"
    "// and fails where the file has other codes than this header is for. zf_tiles_column gives the zf_tile_column that the "
    "kernel\n"
    "// takes by value.\n"
    "//\n"
    "// In the kernel: tile t has rows ZF_TILE_ROWS * t on, up to the end of the column; t is below column.tiles. Each thread "
    "opens the\n"
    "// tile, which keeps a few registers, and then loads groups of ZF_TILE_GROUP consecutive rows of it: those from `row` on, "
    "a\n"
    "// multiple of ZF_TILE_GROUP below ZF_TILE_ROWS, counted from the tile's first row (it is rounded down). Which thread "
    "takes\n"
    "// which group is free; memory is read best where neighbours take neighbouring groups:\n"
    "//\n"
    "//     auto opened = zf_tile_open_price(column, tile);       // a warp has the tile\n"
    "//     for (unsigned row = threadIdx.x %% 32 * ZF_TILE_GROUP; row < opened.rows; row += 32 * ZF_TILE_GROUP) {\n"
    "//         int price[ZF_TILE_GROUP];\n"
    "//         bool good = zf_tile_load_price(opened, row, price);\n"
    "//         ...\n"
    "//     }\n"
    "//\n"
    "// zf_tile_load_whole_COLUMN is for groups whose rows all exist (opened.rows is ZF_TILE_ROWS in all tiles but the last): it "
    "has no\n"
    "// branches, so that loads of several columns are under way together. zf_tile_get_COLUMN makes one row, for those that "
    "other\n"
    "// columns have left.\n"
    "//\n"
    "// Rows behind the end of the column give 0; `opened.rows` is how many the tile has. Nulls give 0, and bit k of `valid` is "
    "1\n"
    "// where element k has a value. False: a check failed, so the file is damaged, and the values mean nothing. The functions "
    "may\n"
    "// stand under any condition; threads do not wait for each other. Index `values` by constants, else it is in memory.\n"
    "#pragma once\n\n"
    "#ifndef ZF_TILE_ROWS\n"
    "#define ZF_TILE_ROWS %d\n"
    "#endif\n"
    "#ifndef ZF_TILE_GROUP\n"
    "#define ZF_TILE_GROUP %d\n"
    "#endif\n"
    "static_assert(ZF_TILE_ROWS == %d && ZF_TILE_GROUP == %d, \"the header and zipflow.h are of different versions\");\n\n"
    "#ifndef ZF_TILE_COLUMN\n"
    "#define ZF_TILE_COLUMN\n"
    "/// A column in the GPU's memory, as zf_tiles_column gives it.\n"
    "typedef struct zf_tile_column {\n"
    "    unsigned long long blocks, table, work, rows;\n"
    "    unsigned int tiles, block_tiles;\n"
    "} zf_tile_column;\n"
    "#endif\n"
    "static_assert(sizeof(zf_tile_column) == 40, \"the header and zipflow.h are of different versions\");\n";

void zf_tile_text_words(zf_text *out, const char *words) {
    for (; *words != 0; words++) zf_text_add(out, (unsigned char)*words < ' ' || *words == '\\' ? "?" : words, 1);
}

void zf_tile_text_begin(zf_text *out, const char *table) {
    zf_text name = {0};
    zf_tile_text_words(&name, table);
    zf_text_printf(out, head, name.failed ? "" : name.data, ZF_TILE_ROWS, ZF_TILE_TOGETHER, ZF_TILE_ROWS, ZF_TILE_TOGETHER);
    out->failed = out->failed || name.failed;
    zf_text_free(&name);
}

// ---- Assembly -------------------------------------------------------------------------------------------------

typedef struct operand {
    const char *constraint;
    char name[64];
} operand;

// A line of the text for each line of assembly.
static void add_assembly(zf_text *out, const char *text) {
    zf_text_puts(out, "    asm(");
    for (const char *line = text; *line != 0;) {
        size_t length = strcspn(line, "\n");
        if (line != text) zf_text_puts(out, "        ");
        zf_text_puts(out, "\"");
        for (size_t k = 0; k < length; k++) {
            if (line[k] == '"' || line[k] == '\\') zf_text_puts(out, "\\");
            zf_text_add(out, line + k, 1);
        }
        line += length + (line[length] == '\n');
        zf_text_puts(out, *line != 0 ? "\\n\"\n" : "\"\n");
    }
}

static void add_operands(zf_text *out, const operand *operands, size_t count) {
    zf_text_puts(out, "        :");
    for (size_t k = 0; k < count; k++)
        zf_text_printf(out, "%s\"%s\"(%s)", k == 0 ? " " : ", ", operands[k].constraint, operands[k].name);
    zf_text_puts(out, "\n");
}

static void set(operand *to, const char *constraint, const char *format, unsigned k) {
    to->constraint = constraint;
    zf_text name = {0};
    zf_text_printf(&name, format, k);
    if (!name.failed && name.length < sizeof to->name) memcpy(to->name, name.data, name.length + 1);
    zf_text_free(&name);
}

// ---- Open -----------------------------------------------------------------------------------------------------

static const char *word_type(unsigned bits) { return bits == 64 ? "unsigned long long" : "unsigned int"; }

static bool reads_word(const zf_tile_loader *loader, uint32_t k) {
    return loader->used[ZF_TILE_LOAD][k] || loader->used[ZF_TILE_WHOLE][k] || loader->used[ZF_TILE_GET][k];
}

static void add_struct(zf_text *out, const zf_tile_column_text *column) {
    const zf_tile_loader *loader = column->loader;
    zf_text_printf(out,
                   "/// An open tile: keep it in registers.\nstruct zf_opened_%s {\n    unsigned int rows;   ///< of the tile\n"
                   "    unsigned int failed; ///< 1: a check failed, and every load of the tile will\n",
                   column->name);
    for (uint32_t k = 0; k < loader->word_count; k++)
        if (reads_word(loader, k)) zf_text_printf(out, "    %s word%u;\n", word_type(loader->word_bits[k]), k);
    zf_text_puts(out, "};\n\n");
}

static void add_open(zf_text *out, const zf_tile_column_text *column) {
    static const struct {
        const char *constraint, *name;
    } inputs[ZF_TILE_OPEN_INPUTS] = {
        {"l", "column.blocks"}, {"l", "column.table"}, {"l", "column.work"}, {"r", "tile"}, {"r", "column.block_tiles"}};
    const zf_tile_loader *loader = column->loader;
    operand operands[ZF_TILE_WORDS + 1];
    zf_text_printf(out,
                   "/// Opens tile `tile`, below column.tiles.\n[[maybe_unused]] static __device__ __forceinline__ zf_opened_%s "
                   "zf_tile_open_%s(const "
                   "zf_tile_column &column, unsigned int tile) {\n    zf_opened_%s opened;\n"
                   "    const unsigned long long begin = (unsigned long long)tile * ZF_TILE_ROWS;\n"
                   "    const unsigned long long left = begin < column.rows ? column.rows - begin : 0;\n"
                   "    opened.rows = left < ZF_TILE_ROWS ? (unsigned int)left : ZF_TILE_ROWS;\n",
                   column->name, column->name, column->name);
    for (uint32_t k = 0; k < loader->word_count; k++)
        if (!reads_word(loader, k))
            zf_text_printf(out, "    [[maybe_unused]] %s unused%u;\n", word_type(loader->word_bits[k]), k);
    add_assembly(out, loader->texts[ZF_TILE_OPEN].data);
    for (uint32_t k = 0; k < loader->word_count; k++)
        set(&operands[k], loader->word_bits[k] == 64 ? "=&l" : "=&r", reads_word(loader, k) ? "opened.word%u" : "unused%u", k);
    set(&operands[loader->word_count], "=&r", "opened.failed", 0);
    add_operands(out, operands, loader->word_count + 1);
    size_t count = 0;
    for (uint32_t k = 0; k < ZF_TILE_OPEN_INPUTS; k++)
        if (loader->used[ZF_TILE_OPEN][k]) set(&operands[count++], inputs[k].constraint, inputs[k].name, 0);
    add_operands(out, operands, count);
    zf_text_puts(out, "    );\n    return opened;\n}\n\n");
}

// ---- Load -----------------------------------------------------------------------------------------------------

static const char *type_of(zf_kind kind) {
    switch (kind) {
    case ZF_K_U8: return "unsigned char";
    case ZF_K_I8: return "signed char";
    case ZF_K_U16: return "unsigned short";
    case ZF_K_I16: return "short";
    case ZF_K_U32: return "unsigned int";
    case ZF_K_I32: return "int";
    case ZF_K_U64: return "unsigned long long";
    case ZF_K_I64: return "long long";
    case ZF_K_F32: return "float";
    case ZF_K_F64: return "double";
    default: return "bool";
    }
}

static bool is_float(zf_kind kind) { return kind == ZF_K_F32 || kind == ZF_K_F64; }

// The type and constraint of an element as an operand.
static const char *operand_type(zf_kind kind) {
    if (is_float(kind)) return type_of(kind);
    return word_type(kind == ZF_K_U64 || kind == ZF_K_I64 ? 64 : 32);
}

static const char *operand_constraint(zf_kind kind) {
    if (is_float(kind)) return kind == ZF_K_F32 ? "=&f" : "=&d";
    return kind == ZF_K_U64 || kind == ZF_K_I64 ? "=&l" : "=&r";
}

static const struct {
    const char *name, *comment;
    unsigned elements;
} functions[ZF_TILE_FUNCTIONS] = {
    [ZF_TILE_LOAD] = {"load", "Loads the rows from `row` of the tile on. Returns whether all of them could be decoded.",
                      ZF_TILE_TOGETHER},
    [ZF_TILE_WHOLE] = {"load_whole", "The same where row + ZF_TILE_GROUP is at most opened.rows: without branches.",
                       ZF_TILE_TOGETHER},
    [ZF_TILE_GET] = {"get", "Gets row `row` of the tile, below opened.rows. Returns whether it could be decoded.", 1}};

static size_t element_outputs(const zf_tile_loader *loader, zf_tile_function function, operand *out) {
    size_t count = 0;
    for (unsigned k = 0; k < functions[function].elements; k++)
        set(&out[count++], operand_constraint(loader->type.kind), "element%u", k);
    if (loader->type.nullable) set(&out[count++], "=&r", "valid", 0);
    set(&out[count++], "=&r", "failed", 0);
    return count;
}

static size_t element_inputs(const zf_tile_loader *loader, zf_tile_function function, operand *out) {
    const bool *used = loader->used[function];
    size_t count = 0;
    for (uint32_t k = 0; k < loader->word_count; k++)
        if (used[k]) set(&out[count++], loader->word_bits[k] == 64 ? "l" : "r", "opened.word%u", k);
    if (used[ZF_TILE_ROW]) set(&out[count++], "r", "row", 0);
    if (used[ZF_TILE_ROW + 1]) set(&out[count++], "r", "opened.rows", 0);
    return count;
}

static void give_values(zf_text *out, zf_kind kind, unsigned count) {
    for (unsigned k = 0; k < count; k++) {
        if (count == 1)
            zf_text_puts(out, "    value = ");
        else
            zf_text_printf(out, "    values[%u] = ", k);
        if (kind == ZF_K_BOOL)
            zf_text_printf(out, "element%u != 0;\n", k);
        else
            zf_text_printf(out, "(%s)element%u;\n", type_of(kind), k);
    }
}

static void add_elements(zf_text *out, const zf_tile_column_text *column, zf_tile_function function) {
    const zf_tile_loader *loader = column->loader;
    zf_kind kind = loader->type.kind;
    unsigned count = functions[function].elements;
    operand operands[ZF_TILE_WORDS + ZF_TILE_TOGETHER];
    zf_text_printf(
        out,
        "/// %s\n[[maybe_unused]] static __device__ __forceinline__ bool zf_tile_%s_%s(const zf_opened_%s &opened, unsigned "
        "int row, %s %s%s) {\n    %s ",
        functions[function].comment, functions[function].name, column->name, column->name, type_of(kind),
        count == 1 ? "&value" : "(&values)[ZF_TILE_GROUP]", loader->type.nullable ? ", unsigned int &valid" : "",
        operand_type(kind));
    for (unsigned k = 0; k < count; k++) zf_text_printf(out, "%selement%u", k > 0 ? ", " : "", k);
    zf_text_puts(out, ";\n    unsigned int failed;\n");
    add_assembly(out, loader->texts[function].data);
    add_operands(out, operands, element_outputs(loader, function, operands));
    add_operands(out, operands, element_inputs(loader, function, operands));
    zf_text_puts(out, "    );\n");
    give_values(out, kind, count);
    zf_text_puts(out, "    return (failed | opened.failed) == 0;\n}\n");
}

void zf_tile_text_column(zf_text *out, const zf_tile_column_text *column) {
    zf_text_printf(out, "\n// ---- %s: %s = ", column->name, column->type_name);
    zf_tile_text_words(out, column->codec);
    zf_text_printf(out, "\n#define ZF_TILE_KEY_%s \"", column->name);
    for (const char *at = column->key; *at != 0; at++) {
        if (*at == '"' || *at == '\\') zf_text_puts(out, "\\");
        zf_text_add(out, at, 1);
    }
    zf_text_puts(out, "\"\n\n");
    add_struct(out, column);
    add_open(out, column);
    add_elements(out, column, ZF_TILE_LOAD);
    zf_text_puts(out, "\n");
    add_elements(out, column, ZF_TILE_WHOLE);
    zf_text_puts(out, "\n");
    add_elements(out, column, ZF_TILE_GET);
}
