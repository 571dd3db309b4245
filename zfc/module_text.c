#include "zfc/module_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patterns/plan/plan_target.h"
#include "runtime/base/error.h"
#include "runtime/container/container_format.h"
#include "runtime/module/module_open.h"
#include "tuner/tune_json.h"
#include "zfc/driver_codes.h"
#include "zfc/shape_text.h"

typedef unsigned long long ull;

/// A file that cannot be read does not: whoever opens it next reports why.
static bool begins_with(const char *path, const char *magic) {
    char bytes[8];
    size_t have = 0;
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not hang here
    if (file < 0) return false;
    bool more = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    while (more && have < sizeof bytes) {
        ssize_t got = read(file, bytes + have, sizeof bytes - have);
        more = got > 0 || (got < 0 && errno == EINTR);
        have += got > 0 ? (size_t)got : 0;
    }
    close(file);
    return have == sizeof bytes && memcmp(bytes, magic, sizeof bytes) == 0;
}

bool zf_is_module(const char *path) { return begins_with(path, ZF_MODULE_MAGIC); }
bool zf_is_container(const char *path) { return begins_with(path, ZF_FORMAT_MAGIC); }

static const char *target_text(zf_abi_target target, char out[32]) {
    const zf_target *of = zf_target_for(target);
    if (of->image == ZF_IMAGE_PTX)
        snprintf(out, 32, "sm_%u", target.arch);
    else
        snprintf(out, 32, "%s", of->name);
    return out;
}

static uint64_t ptx_bytes(const zf_module_plan *plan) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < plan->code_count; k++) sum += plan->codes[k].image_bytes;
    return sum;
}

// ---- JSON ----

/// Appends what may be NULL, a text that is not UTF-8 or no memory: then there is no list.
static json_t *with(json_t *list, json_t *item) {
    if (list != NULL && item != NULL && json_array_append_new(list, item) == 0) return list;
    if (list == NULL) json_decref(item);
    json_decref(list);
    return NULL;
}

static json_t *plan_json(const zf_module_plan *plan) {
    char target[32];
    json_t *branches = json_array(), *tuples = json_array();
    for (uint32_t b = 0; b < plan->shape.branch_count; b++) branches = with(branches, json_integer(plan->shape.branches[b]));
    for (uint32_t k = 0; k < plan->code_count; k++) {
        if (plan->codes[k].is_general) continue;
        json_t *tuple = json_array();
        for (uint32_t i = 0; i < plan->abi.shaping_count; i++)
            tuple = with(tuple, json_integer((json_int_t)plan->codes[k].shaping[i]));
        tuples = with(tuples, tuple);
    }
    return json_pack("{s:s, s:o, s:i, s:I, s:o}", "target", target_text(plan->abi.target, target), "branches", branches,
                     "kernels", (int)plan->abi.kernel_count, "ptx_bytes", (json_int_t)ptx_bytes(plan), "tuples", tuples);
}

static json_t *table_json(const zf_module_table *table) {
    json_t *columns = json_array();
    for (uint32_t c = 0; c < table->column_count; c++) {
        const zf_module_column *column = &table->columns[c];
        json_t *plans = json_array();
        for (uint32_t p = 0; p < column->plan_count; p++) plans = with(plans, plan_json(&column->plans[p]));
        columns = with(columns, json_pack("{s:s, s:s, s:s, s:o}", "column", column->name, "type", column->type_name, "codec",
                                          column->codec, "plans", plans));
    }
    char hash[33];
    snprintf(hash, sizeof hash, "%016llx%016llx", (ull)table->text.hash[1], (ull)table->text.hash[0]);
    return json_pack("{s:s, s:I, s:s, s:o}", "table", table->name, "text_bytes", (json_int_t)table->text.bytes, "text_hash", hash,
                     "columns", columns);
}

static zf_status print_json(const char *path, const zf_module_content *m, zf_error *error) {
    json_t *tables = json_array();
    for (uint32_t t = 0; t < m->table_count; t++) tables = with(tables, table_json(&m->tables[t]));
    const char *level = zf_cpu_level_name(m->cpu_level);
    json_t *object =
        json_pack("{s:o, s:i, s:i, s:s, s:I, s:I, s:o}", "file", zf_json_text(path), "module_version", (int)ZF_MODULE_VERSION,
                  "abi_version", ZF_ABI_VERSION, "cpu", level ? level : "none", "native_bytes", (json_int_t)m->native_bytes,
                  "ptx_bytes", (json_int_t)m->image_bytes, "tables", tables);
    zf_status status = zf_json_print(object, error);
    json_decref(object);
    return status;
}

// ---- Text ----

static zf_status print_plan(const zf_module_plan *plan, bool verbose, zf_error *error) {
    char target[32], bytes[32];
    printf("    %-6s %u kernel%s, general and %u tuple%s of params", target_text(plan->abi.target, target),
           plan->abi.kernel_count, plan->abi.kernel_count == 1 ? "" : "s", plan->code_count - 1,
           plan->code_count == 2 ? "" : "s");
    if (ptx_bytes(plan) > 0) printf(", %s of PTX", zf_bytes_text(ptx_bytes(plan), bytes));
    putchar('\n');
    if (!verbose) return ZF_OK;
    if (plan->shape.branch_count > 0) {
        zf_text shape = {0};
        zf_print_shape(&plan->shape, &shape);
        bool failed = shape.failed;
        if (!failed) printf("      as %s\n", shape.data);
        zf_text_free(&shape);
        if (failed) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
    }
    for (uint32_t k = 0; k < plan->code_count; k++) {
        if (plan->codes[k].is_general) continue;
        printf("     ");
        for (uint32_t i = 0; i < plan->abi.shaping_count; i++)
            printf(" %s = %lld", plan->shape.params[plan->abi.shaping[i]].path, (long long)plan->codes[k].shaping[i]);
        putchar('\n');
    }
    return ZF_OK;
}

static zf_status print_text(const char *path, const zf_module_content *m, bool verbose, zf_error *error) {
    char native[32], ptx[32];
    const char *level = zf_cpu_level_name(m->cpu_level);
    zf_print_path(stdout, path);
    printf(": a module of version %u, interface to kernels %d\n", ZF_MODULE_VERSION, ZF_ABI_VERSION);
    if (level == NULL)
        printf("  native code  %10s\n", "none");
    else
        printf("  native code  %10s, for CPUs of level %s\n", zf_bytes_text(m->native_bytes, native), level);
    printf("  PTX          %10s\n", zf_bytes_text(m->image_bytes, ptx));
    for (uint32_t t = 0; t < m->table_count; t++) {
        printf("table %s\n", m->tables[t].name);
        for (uint32_t c = 0; c < m->tables[t].column_count; c++) {
            const zf_module_column *column = &m->tables[t].columns[c];
            printf("  %-18s %-14s %s\n", column->name, column->type_name, column->codec);
            for (uint32_t p = 0; p < column->plan_count; p++) ZF_TRY(print_plan(&column->plans[p], verbose, error));
        }
    }
    return ZF_OK;
}

zf_status zf_show_module(const char *path, const zf_arguments *arguments, zf_error *error) {
    zf_module *module;
    if (zf_argument(arguments, "columns") || zf_argument(arguments, "program") || zf_argument(arguments, "html"))
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns, --program and --html go with containers");
    ZF_TRY(zf_module_look(path, &module, error));
    const zf_module_content *content = zf_module_content_of(module);
    zf_status status = zf_argument(arguments, "json")
                           ? print_json(path, content, error)
                           : print_text(path, content, zf_argument(arguments, "verbose") != NULL, error);
    zf_module_close(module);
    return status;
}
