// A module's manifest: one description that is walked for writing and for reading, so the two cannot differ.
#include <string.h>

#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_check.h"
#include "runtime/decode/block_run.h"
#include "runtime/module/module_format.h"

/// Walks a manifest. Reading sticks at its first fault, after which numbers are 0 and lists empty.
typedef struct coder {
    zf_text *out; ///< writing; NULL: reading
    zf_arena *arena;
    const uint8_t *at, *end;
    const char *fault;
} coder;

// ---- Numbers, names and lists ---------------------------------------------------------------------------------

static uint64_t word(coder *c, uint64_t value, size_t bytes) {
    if (c->out != NULL) {
        zf_text_add(c->out, (const char *)&value, bytes); // little-endian
        return value;
    }
    uint64_t read = 0;
    if (c->fault == NULL && (size_t)(c->end - c->at) < bytes) c->fault = "the manifest ends too early";
    if (c->fault != NULL) return 0;
    memcpy(&read, c->at, bytes);
    c->at += bytes;
    return read;
}

static void u64(coder *c, uint64_t *value) { *value = word(c, *value, 8); }
static void u32(coder *c, uint32_t *value) { *value = (uint32_t)word(c, *value, 4); }
static void i32(coder *c, int32_t *value) { *value = (int32_t)(uint32_t)word(c, (uint32_t)*value, 4); }
static void u8(coder *c, uint8_t *value) { *value = (uint8_t)word(c, *value, 1); }
static void flag(coder *c, bool *value) {
    uint64_t read = word(c, *value, 1);
    if (read > 1 && c->fault == NULL) c->fault = "a flag that is neither 0 nor 1";
    *value = read == 1;
}

/// A value of an enumeration, 0 .. most.
static uint32_t choice(coder *c, uint32_t value, uint32_t most) {
    u32(c, &value);
    if (value <= most) return value;
    if (c->fault == NULL) c->fault = "a kind that does not exist";
    return 0;
}

/// A text of several lines. It ends up on terminals and in JSON, as a container's do.
static void lines(coder *c, const char **text) {
    uint32_t length = c->out != NULL ? (uint32_t)strlen(*text) : 0;
    u32(c, &length);
    if (c->out != NULL) {
        zf_text_add(c->out, *text, length);
        return;
    }
    *text = "";
    if (c->fault == NULL && length > (size_t)(c->end - c->at)) c->fault = "a name that is longer than the manifest";
    if (c->fault == NULL) c->fault = zf_text_fault((const char *)c->at, length);
    if (c->fault != NULL) return;
    const char *copy = zf_arena_copy(c->arena, (const char *)c->at, length);
    c->at += length;
    if (copy == NULL)
        c->fault = zf_module_no_memory;
    else
        *text = copy;
}

static void name(coder *c, const char **text) {
    lines(c, text);
    if (c->out == NULL && c->fault == NULL && !zf_name_valid(*text, strlen(*text))) c->fault = "an invalid name";
}

/// The memory of a list of `count` items, each of which takes `least` bytes of the manifest or more. NULL after a fault.
static void *list(coder *c, const void *items, uint32_t count, size_t size, size_t least) {
    if (c->out != NULL) return (void *)(uintptr_t)items;
    if (c->fault == NULL && count > (size_t)(c->end - c->at) / least) c->fault = "a list that is longer than the manifest";
    void *made = c->fault == NULL ? zf_arena_alloc(c->arena, ((size_t)count + 1) * size) : NULL;
    if (c->fault == NULL && made == NULL) c->fault = zf_module_no_memory;
    return made;
}

/// Reads or writes how many items a list has, and declares `item`, through which they can be changed.
#define LIST(c, type, item, items, count, least)                                                                                 \
    u32((c), &(count));                                                                                                          \
    type *item = list((c), (items), (count), sizeof(type), (least));                                                             \
    if (item == NULL) (count) = 0;                                                                                               \
    (items) = item

// ---- Shapes and plans -----------------------------------------------------------------------------------------

/// As two flags: of chunks, and of uneven ones.
static void code_directory(coder *c, zf_abi_directory *directory) {
    bool chunks = *directory != ZF_DIRECTORY_NONE, uneven = *directory == ZF_DIRECTORY_UNEVEN;
    flag(c, &chunks);
    flag(c, &uneven);
    if (uneven && !chunks && c->fault == NULL) c->fault = "uneven chunks of a tree without chunks";
    *directory = !chunks ? ZF_DIRECTORY_NONE : uneven ? ZF_DIRECTORY_UNEVEN : ZF_DIRECTORY_EVEN;
}

static void code_shape(coder *c, zf_shape *s) {
    LIST(c, uint8_t, branch, s->branches, s->branch_count, 1);
    for (uint32_t i = 0; i < s->branch_count; i++) u8(c, &branch[i]);
    LIST(c, zf_shape_param, param, s->params, s->param_count, 8);
    for (uint32_t i = 0; i < s->param_count; i++) {
        name(c, &param[i].path);
        param[i].type = (zf_element)choice(c, param[i].type, ZF_STRING);
    }
    LIST(c, zf_shape_edge, edge, s->edges, s->edge_count, 17);
    for (uint32_t i = 0; i < s->edge_count; i++) {
        name(c, &edge[i].path);
        name(c, &edge[i].algorithm);
        edge[i].type = (zf_element)choice(c, edge[i].type, ZF_STRING);
        flag(c, &edge[i].nullable);
        i32(c, &edge[i].stored);
    }
    u32(c, &s->stored_count);
    LIST(c, zf_shape_tree, tree, s->trees, s->tree_count, 14);
    for (uint32_t i = 0; i < s->tree_count; i++) {
        u32(c, &tree[i].edge);
        u32(c, &tree[i].interval);
        code_directory(c, &tree[i].directory);
        LIST(c, zf_shape_field, field, tree[i].fields, tree[i].field_count, 12);
        for (uint32_t f = 0; f < tree[i].field_count; f++) {
            name(c, &field[f].name);
            u32(c, &field[f].bytes);
            u32(c, &field[f].edge);
        }
    }
}

static void code_check(coder *c, zf_abi_check *check) {
    u32(c, &check->violation);
    name(c, &check->path);
    name(c, &check->algorithm);
    name(c, &check->text);
    name(c, &check->file);
    u32(c, &check->line);
    u32(c, &check->column);
}

static void code_tree(coder *c, zf_abi_tree *tree) {
    u32(c, &tree->edge);
    u32(c, &tree->interval);
    tree->directory = choice(c, tree->directory, ZF_DIRECTORY_UNEVEN);
    LIST(c, zf_abi_field, field, tree->fields, tree->field_count, 12);
    for (uint32_t f = 0; f < tree->field_count; f++) {
        u32(c, &field[f].bytes);
        name(c, &field[f].name);
        field[f].kind = (zf_abi_field_kind)choice(c, field[f].kind, ZF_FIELD_LENGTH);
    }
}

static void code_block_checks(coder *c, zf_abi_check_program *program) {
    LIST(c, zf_abi_check_step, step, program->steps, program->step_count, 12);
    for (uint32_t i = 0; i < program->step_count; i++) {
        step[i].op = choice(c, step[i].op, ZF_CHECK_OPS - 1);
        u32(c, &step[i].a);
        u32(c, &step[i].b);
    }
    LIST(c, uint64_t, constant, program->constants, program->constant_count, 8);
    for (uint32_t i = 0; i < program->constant_count; i++) u64(c, &constant[i]);
    u32(c, &program->local_count);
}

static void code_plan(coder *c, zf_abi_plan *p) {
    p->version = ZF_ABI_VERSION; // the header's
    p->target.family = (zf_abi_target_family)choice(c, p->target.family, ZF_TARGET_NVPTX);
    u32(c, &p->target.arch);
    LIST(c, zf_abi_slot, slot, p->slots, p->slot_count, 12);
    for (uint32_t i = 0; i < p->slot_count; i++) {
        slot[i].kind = (zf_abi_slot_kind)choice(c, slot[i].kind, ZF_SLOT_CHUNKS);
        u32(c, &slot[i].a);
        u32(c, &slot[i].b);
    }
    LIST(c, zf_abi_kernel, kernel, p->kernels, p->kernel_count, 21);
    for (uint32_t i = 0; i < p->kernel_count; i++) {
        name(c, &kernel[i].name);
        u32(c, &kernel[i].edge);
        u32(c, &kernel[i].tile);
        i32(c, &kernel[i].sink);
        i32(c, &kernel[i].tree);
        kernel[i].rereads = choice(c, kernel[i].rereads, 1);
    }
    LIST(c, zf_abi_work, work, p->works, p->work_count, 20);
    for (uint32_t i = 0; i < p->work_count; i++) {
        u32(c, &work[i].edge);
        u32(c, &work[i].element);
        u32(c, &work[i].extra);
        work[i].nullable = choice(c, work[i].nullable, 1);
        work[i].characters = choice(c, work[i].characters, 1);
    }
    LIST(c, zf_abi_tree, tree, p->trees, p->tree_count, 16);
    for (uint32_t i = 0; i < p->tree_count; i++) code_tree(c, &tree[i]);
    LIST(c, uint32_t, shaping, p->shaping, p->shaping_count, 4);
    for (uint32_t i = 0; i < p->shaping_count; i++) u32(c, &shaping[i]);
    LIST(c, zf_abi_check, check, p->checks, p->check_count, 28);
    for (uint32_t i = 0; i < p->check_count; i++) code_check(c, &check[i]);
    code_block_checks(c, &p->block_checks);
}

/// Its lists have the lengths that the plan says.
static void code_code(coder *c, const zf_abi_plan *plan, zf_module_code *code) {
    code->is_general = choice(c, code->is_general, 1);
    if (!code->is_general) {
        uint64_t *value = list(c, code->shaping, plan->shaping_count, sizeof *value, 8);
        for (uint32_t i = 0; i < plan->shaping_count && value != NULL; i++) u64(c, &value[i]);
        code->shaping = value;
    }
    if (plan->target.family == ZF_TARGET_HOST) {
        uint64_t *place = list(c, code->kernels, plan->kernel_count, sizeof *place, 8);
        for (uint32_t k = 0; k < plan->kernel_count && place != NULL; k++) u64(c, &place[k]);
        code->kernels = place;
        u32(c, &code->stack_bytes);
        return;
    }
    zf_abi_simt_kernel *kernel = list(c, code->simt, plan->kernel_count, sizeof *kernel, 24);
    for (uint32_t k = 0; k < plan->kernel_count && kernel != NULL; k++) {
        name(c, &kernel[k].name);
        u32(c, &kernel[k].threads);
        u32(c, &kernel[k].tiles);
        u32(c, &kernel[k].shared_bytes);
        u32(c, &kernel[k].span);
        kernel[k].to_column = choice(c, kernel[k].to_column, 1);
    }
    code->simt = kernel;
    u64(c, &code->image);
    u64(c, &code->image_bytes);
}

// ---- The whole ------------------------------------------------------------------------------------------------

static void code_column(coder *c, zf_module_column *column) {
    name(c, &column->name);
    name(c, &column->type_name);
    lines(c, &column->codec);
    column->type.element = (zf_element)choice(c, column->type.element, ZF_STRING);
    column->type.logical = (zf_logical)choice(c, column->type.logical, ZF_LOGICAL_DECIMAL);
    u8(c, &column->type.precision);
    u8(c, &column->type.scale);
    flag(c, &column->type.nullable);
    if (c->fault == NULL) c->fault = zf_column_type_fault(column->type);
    LIST(c, uint8_t, alternatives, column->alternatives, column->choice_count, 1);
    for (uint32_t k = 0; k < column->choice_count; k++) u8(c, &alternatives[k]);
    LIST(c, zf_module_plan, plan, column->plans, column->plan_count, 68);
    for (uint32_t p = 0; p < column->plan_count; p++) {
        code_plan(c, &plan[p].abi);
        code_shape(c, &plan[p].shape);
        LIST(c, zf_module_code, code, plan[p].codes, plan[p].code_count, 4);
        for (uint32_t k = 0; k < plan[p].code_count; k++) code_code(c, &plan[p].abi, &code[k]);
    }
}

static void code_manifest(coder *c, zf_module_content *content) {
    LIST(c, const char *, import, content->imports, content->import_count, 4);
    for (uint32_t i = 0; i < content->import_count; i++) name(c, &import[i]);
    LIST(c, zf_module_table, table, content->tables, content->table_count, 32);
    for (uint32_t t = 0; t < content->table_count; t++) {
        name(c, &table[t].name);
        u64(c, &table[t].text.bytes);
        u64(c, &table[t].text.hash[0]);
        u64(c, &table[t].text.hash[1]);
        LIST(c, zf_module_column, column, table[t].columns, table[t].column_count, 30);
        for (uint32_t k = 0; k < table[t].column_count; k++) code_column(c, &column[k]);
    }
}

void zf_module_manifest_write(zf_module_content *content, zf_text *out) {
    coder c = {.out = out};
    code_manifest(&c, content);
}

const char zf_module_no_memory[] = "no memory";

const char *zf_module_manifest_read(zf_arena *arena, const uint8_t *bytes, size_t size, zf_module_content *out) {
    coder c = {.arena = arena, .at = bytes, .end = bytes + size};
    code_manifest(&c, out);
    if (c.fault == NULL && c.at != c.end) c.fault = "bytes behind the manifest's end";
    return c.fault;
}

// ---- Contradictions -------------------------------------------------------------------------------------------

static const char *code_fault(const zf_module_content *content, const zf_abi_plan *plan, const zf_module_code *code) {
    uint64_t native = content->native_bytes;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (plan->target.family == ZF_TARGET_HOST) {
            if (code->kernels[k] >= native) return "a kernel outside the native code";
            continue;
        }
        const zf_abi_simt_kernel *kernel = &code->simt[k];
        if (plan->kernels[k].sink < 0 && kernel->threads == 0) continue; // another one stores the column
        if (kernel->name[0] == 0 || kernel->threads == 0 || kernel->threads % 32 != 0 || kernel->threads > 1024 ||
            kernel->tiles == 0) {
            return "a kernel that cannot be launched";
        }
    }
    if (plan->target.family == ZF_TARGET_HOST)
        return code->stack_bytes <= ZF_ABI_STACK_MOST ? NULL : "kernels that need more stack than a thread has";
    if (zf_characters_reread(plan)) return "code that reads characters which may have no place";
    if (!zf_one_stores_column(plan, code->simt)) return "code in which not just one kernel stores the column";
    if (code->image_bytes == 0 || code->image > content->image_bytes || code->image_bytes > content->image_bytes - code->image)
        return "PTX outside the images";
    return content->images[code->image + code->image_bytes - 1] == 0 ? NULL : "PTX that does not end in a zero byte";
}

static const char *plan_fault(const zf_module_content *content, const zf_module_column *column, const zf_module_plan *plan) {
    const char *fault = zf_shape_fault(&plan->shape);
    if (fault != NULL) return fault;
    if (plan->abi.target.family == ZF_TARGET_EMU) return "code for the emulator";
    if (plan->shape.edges[0].type != column->type.element) return "a plan that makes another type than its column's";
    if (zf_plan_fits(&plan->abi, &plan->shape, NULL) != ZF_OK) return "a plan that does not fit its shape";
    fault = zf_block_check_fault(&plan->abi.block_checks, plan->abi.slot_count, plan->abi.check_count);
    if (fault != NULL) return fault;
    if (plan->abi.kernel_count == 0) return "a plan without kernels";
    const zf_shape *shape = &plan->shape;
    if (!zf_branches_exist(shape->branches, shape->branch_count, column->alternatives, column->choice_count))
        return "a plan for alternatives that its column does not have";
    for (uint32_t t = 0; t < plan->shape.tree_count; t++) {
        if (plan->shape.trees[t].interval != plan->abi.trees[t].interval) return "a seek tree with two intervals";
        for (uint32_t f = 0; f < plan->shape.trees[t].field_count; f++) {
            if (plan->shape.trees[t].fields[f].bytes != plan->abi.trees[t].fields[f].bytes) return "a seek field of two widths";
        }
    }
    if (plan->code_count == 0 || !plan->codes[0].is_general) return "a plan without a general form";
    for (uint32_t k = 0; k < plan->code_count && fault == NULL; k++) fault = code_fault(content, &plan->abi, &plan->codes[k]);
    return fault;
}

const char *zf_module_fault(const zf_module_content *content) {
    bool any = content->native_bytes > 0;
    if (content->machine > ZF_MACHINE_X86_64 || (content->machine == ZF_MACHINE_NONE) == any) return "native code for no machine";
    bool level = content->cpu_level >= ZF_MODULE_LEAST_CPU && zf_cpu_level_name(content->cpu_level) != NULL;
    if (any ? !level : content->cpu_level != 0) return "native code for no level of CPUs";
    if (content->import_count > ZF_MODULE_IMPORTS_MOST) return "more imports than fit their page";
    for (uint32_t t = 0; t < content->table_count; t++) {
        const zf_module_table *table = &content->tables[t];
        for (uint32_t k = 0; k < table->column_count; k++) {
            for (uint32_t p = 0; p < table->columns[k].plan_count; p++) {
                const char *fault = plan_fault(content, &table->columns[k], &table->columns[k].plans[p]);
                if (fault != NULL) return fault;
            }
        }
    }
    return NULL;
}
