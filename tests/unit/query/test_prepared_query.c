// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Queries that are prepared once and run with several params and inputs, on the CPU and the emulated GPU: results on the host and
// in the device's memory, one query after another, errors and runs behind them.
// ZF_TEST_DEVICE names another device in place of the emulated GPU.
#include <stdlib.h>
#include <string.h>

#include "runtime/device/accelerator.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 9001, KEYS = 50, GROUPS = 60, MOST = ROWS * 8 };

static const char *const text =
    "table t { k: u16 = bitpack; v: i64 = bitpack; x: f64 = plain; n: i32? = nullable(values: plain); }\n"
    "query all_kinds(t) {\n"
    "    param groups: u32; param scale: f64 = 0.5; param wanted: bool = true; param low: i16 = -3;\n"
    "    input by: i32[]; input open: bool[];\n"
    "    result total: i64[groups] = sum; result money: f64 = sum; result least: i64[groups] = min; result first: f64 = max;\n"
    "    result mixed: u64 = xor; result some: bool = any; result every: bool[groups] = all; result code: u8[groups] = set;\n"
    "    result hit: bool = mask; result id: i64 = select; result small: f32 = select;\n"
    "    result wide: f64[groups] = set; result narrow: f32[groups] = set; result negative: i16[groups] = set;\n"
    "    result marks: bool[groups] = set; result lowest: f64[groups] = min;\n"
    "    each {\n"
    "        total[k % groups] += v * by[k]; money += x * scale; mixed ^= v as u64; some = some || (v == 7 && wanted);\n"
    "        least[k % groups] = min(least[k % groups], n.value); if n == null { first = max(first, x); }\n"
    "        every[k % groups] = every[k % groups] && k < 40;\n"
    "        if row < 20 { code[row % groups] = (row + 1) as u8; marks[row] = row % 3 == 0; negative[row] = (0 - row) as i16;\n"
    "            wide[row] = row == 3 ? (x - x) / (x - x) : -x; narrow[row] = (row == 3 ? (x - x) / (x - x) : -x) as f32; }\n"
    "        lowest[k % groups] = min(lowest[k % groups], x);\n"
    "        hit = open[k]; if open[k] && v > low { select id = row, small = x as f32; }\n"
    "    }\n"
    "}\n"
    "query chosen(t) { input code: u8[]; input ids: i64[]; input hit: bool[]; result sum_of: i64 = sum; result rows_of: i64 = "
    "sum;\n"
    "    each { if hit[row] { sum_of += code[k % 20] + ids[0]; rows_of += 1; } } }\n";

static uint16_t k[ROWS];
static int64_t v[ROWS];
static double x[ROWS];
static int32_t n[ROWS];
static uint8_t valid[ROWS / 8 + 1];
static int32_t by[KEYS];
static uint8_t open_bits[KEYS / 8 + 1];

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static zf_container *container;
static zf_accelerator *device;
static const char *device_name = "emu";

static bool bit(const uint8_t *bits, uint64_t at) { return bits[at / 8] >> at % 8 & 1; }

static void make_rows(void) {
    for (unsigned r = 0; r < ROWS; r++) {
        k[r] = (uint16_t)(r * 2654435761u >> 20) % KEYS;
        v[r] = (int64_t)(r * 40503u % 1000) - 500;
        x[r] = (double)(r % 977) / 8 - 40;
        n[r] = (int32_t)(r % 311) - 150;
        if (r % 5 != 0) valid[r / 8] |= (uint8_t)(1 << r % 8);
    }
    for (int i = 0; i < KEYS; i++) by[i] = i - 20;
    for (int i = 0; i < KEYS; i += 3) open_bits[i / 8] |= (uint8_t)(1 << i % 8);
}

static void begin(void) {
    zf_error error = {0};
    zf_device found;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    demand(zf_device_find(context, device_name, &found, &error), &error);
    demand(zf_device_accelerator(context, &found, &device, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, strlen(text), &program, &error), &error);
    zf_encode_column columns[] = {{.name = "k", .values = k},
                                  {.name = "v", .values = v},
                                  {.name = "x", .values = x},
                                  {.name = "n", .values = n, .validity = valid}};
    zf_encode_options encode = {ZF_INIT(zf_encode_options), .rows_per_block = 1024, .overwrite = true};
    demand(zf_encode(program, "t", columns, 4, ROWS, &encode, place("t.zfd"), NULL, &error), &error);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
}

static void end(void) {
    zf_program_free(program);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

// How columns come to a device: they stay, as they are stored or decoded, or units of a block of each come with every run.
enum { STAY = 0, DECODED = 1, FROM_HOST = 2 };

static zf_prepared_query *prepare(const char *name, const char *where, unsigned how) {
    zf_error error = {0};
    zf_prepared_query *query = NULL;
    zf_query_options options = {
        ZF_INIT(zf_query_options),           .device = where, .threads = 1, .decode_first = (how & DECODED) != 0,
        .from_host = (how & FROM_HOST) != 0, .unit_bytes = 1};
    demand(zf_query_prepare(program, name, container, &options, &query, &error), &error);
    return query;
}

// ---- Members --------------------------------------------------------------------------------------------------

static size_t number_of(const zf_prepared_query *query, zf_query_role role, const char *name) {
    for (size_t at = 0; at < zf_query_members(query, role); at++) {
        zf_query_member member = {ZF_INIT(zf_query_member)};
        zf_error error = {0};
        demand(zf_query_describe(query, role, at, &member, &error), &error);
        if (strcmp(member.name, name) == 0) return at;
    }
    CHECK(false, "no member %s", name);
    return 0;
}

static zf_query_member member_of(const zf_prepared_query *query, zf_query_role role, const char *name) {
    zf_query_member member = {ZF_INIT(zf_query_member)};
    zf_error error = {0};
    demand(zf_query_describe(query, role, number_of(query, role, name), &member, &error), &error);
    return member;
}

static void describe(void) {
    zf_prepared_query *query = prepare("all_kinds", NULL, STAY);
    zf_error error = {0};
    zf_query_member low = member_of(query, ZF_QUERY_PARAM, "low"), groups = member_of(query, ZF_QUERY_PARAM, "groups");
    CHECK(low.has_default && (int64_t)low.bits == -3 && low.type.element == ZF_I16, "low: %llx", (ull)low.bits);
    CHECK(!groups.has_default && groups.type.element == ZF_U32, "groups");
    CHECK(member_of(query, ZF_QUERY_INPUT, "open").type.element == ZF_BOOL, "open");
    zf_query_member code = member_of(query, ZF_QUERY_RESULT, "code"), hit = member_of(query, ZF_QUERY_RESULT, "hit");
    CHECK(code.kind == ZF_QUERY_SET && code.type.element == ZF_U8 && code.dimensions == 1, "code");
    CHECK(hit.kind == ZF_QUERY_MASK && hit.dimensions == 1, "hit");
    CHECK(member_of(query, ZF_QUERY_RESULT, "money").dimensions == 0, "money");
    CHECK(zf_query_members(query, ZF_QUERY_PARAM) == 4 && zf_query_members(query, ZF_QUERY_INPUT) == 2 &&
              zf_query_members(query, ZF_QUERY_RESULT) == 16 && zf_query_members(NULL, ZF_QUERY_PARAM) == 0,
          "members");
    zf_query_member none = {ZF_INIT(zf_query_member)};
    CHECK(zf_query_describe(query, ZF_QUERY_INPUT, 2, &none, &error) == ZF_ERR_USAGE, "a third input");
    CHECK(strcmp(zf_program_query_table(program, "chosen"), "t") == 0, "the table of a query");
    CHECK(zf_program_query_table(program, NULL) == NULL && zf_program_query_table(program, "none") == NULL, "no query");
    zf_query_free(query);
}

// ---- Results --------------------------------------------------------------------------------------------------

static _Alignas(8) uint8_t values[MOST], validity[MOST / 8];

static zf_query_sizes size_of(const zf_prepared_query *query, const char *name) {
    zf_error error = {0};
    zf_query_sizes sizes = {ZF_INIT(zf_query_sizes)};
    demand(zf_query_result_size(query, number_of(query, ZF_QUERY_RESULT, name), &sizes, &error), &error);
    return sizes;
}

static zf_status take(zf_prepared_query *query, const char *name, const zf_query_buffers *buffers, zf_error *error) {
    return zf_query_take(query, number_of(query, ZF_QUERY_RESULT, name), buffers, NULL, error);
}

// Takes a result to `values` and `validity`.
static zf_query_sizes take_here(zf_prepared_query *query, const char *name) {
    zf_error error = {0};
    zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .values = values, .validity = validity, .values_bytes = sizeof values,
                                .validity_bytes = sizeof validity};
    memset(values, 0x5a, sizeof values);
    memset(validity, 0x5a, sizeof validity);
    demand(take(query, name, &buffers, &error), &error);
    return size_of(query, name);
}

static uint64_t allocate(uint64_t bytes) {
    zf_error error = {0};
    uint64_t address = 0;
    demand(device->ops->allocate(device, bytes + 1, &address, &error), &error);
    return address;
}

static void fetch(void *to, uint64_t from, uint64_t bytes) {
    zf_error error = {0};
    if (bytes > 0) demand(device->ops->copy_out(device, NULL, to, from, bytes, &error), &error);
    demand(device->ops->wait(device, NULL, &error), &error);
}

// Takes a result to new memory of the device, from which it is copied to `values`.
static uint64_t take_there(zf_prepared_query *query, const char *name, zf_query_sizes *sizes) {
    zf_error error = {0};
    *sizes = size_of(query, name);
    uint64_t address = allocate(sizes->values);
    zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .address = address, .values_bytes = sizes->values};
    demand(take(query, name, &buffers, &error), &error);
    memset(values, 0x5a, sizeof values);
    fetch(values, address, sizes->values);
    return address;
}

// ---- Expected results -----------------------------------------------------------------------------------------

typedef struct wanted {
    unsigned groups;
    double scale;
    int64_t low, total[GROUPS], least[GROUPS], ids[ROWS];
    double money, first;
    uint64_t mixed, selected;
    float small[ROWS];
    bool every[GROUPS], touched[GROUPS];
} wanted;

static void expect(wanted *w, unsigned groups, double scale, int64_t low) {
    *w = (wanted){.groups = groups, .scale = scale, .low = low, .first = -1e300};
    double sum = 0;
    for (unsigned g = 0; g < groups; g++) w->every[g] = true;
    for (unsigned tile = 0; tile * 1024 < ROWS; tile++) {
        double lanes[32] = {0};
        for (unsigned r = tile * 1024; r < ROWS && r < tile * 1024 + 1024; r++) lanes[r % 32] += x[r] * scale;
        for (unsigned d = 16; d > 0; d /= 2)
            for (unsigned l = 0; l < d; l++) lanes[l] += lanes[l + d];
        sum += lanes[0];
    }
    w->money = sum;
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned g = k[r] % groups;
        bool there = bit(valid, r);
        int64_t least = there ? n[r] : 0;
        w->total[g] += v[r] * by[k[r]];
        w->mixed ^= (uint64_t)v[r];
        if (!w->touched[g] || least < w->least[g]) w->least[g] = least;
        w->touched[g] = true;
        if (!there && x[r] > w->first) w->first = x[r];
        w->every[g] = w->every[g] && k[r] < 40;
        if (!bit(open_bits, k[r]) || v[r] <= low) continue;
        w->ids[w->selected] = r;
        w->small[w->selected++] = (float)x[r];
    }
}

static void check_groups(zf_prepared_query *query, const wanted *w, const char *where) {
    zf_query_sizes sizes = take_here(query, "total");
    CHECK(sizes.dimensions == 1 && sizes.lengths[0] == w->groups && sizes.values == 8 * w->groups && sizes.validity == 0, "%s",
          where);
    CHECK(memcmp(values, w->total, 8 * w->groups) == 0, "%s: total", where);
    sizes = take_here(query, "least");
    CHECK(sizes.validity == (w->groups + 7) / 8 && memcmp(values, w->least, 8 * w->groups) == 0, "%s: least", where);
    for (unsigned g = 0; g < 8 * sizes.validity; g++)
        CHECK(bit(validity, g) == (g < w->groups && w->touched[g]), "%s: validity of group %u", where, g);
    sizes = take_here(query, "every");
    CHECK(sizes.count == w->groups && sizes.values == (w->groups + 7) / 8, "%s: every", where);
    for (unsigned g = 0; g < 8 * sizes.values; g++)
        CHECK(bit(values, g) == (g < w->groups && w->every[g]), "%s: every %u", where, g);
    sizes = take_here(query, "code");
    for (unsigned g = 0; g < w->groups; g++) CHECK(values[g] == (g < 20 ? g + 1 : 0), "%s: code %u is %u", where, g, values[g]);
    CHECK(sizes.values == w->groups && values[w->groups] == 0x5a, "%s: code", where);
}

static void check_rest(zf_prepared_query *query, const wanted *w, const char *where) {
    take_here(query, "money");
    CHECK(memcmp(values, &w->money, 8) == 0, "%s: money", where);
    take_here(query, "first");
    CHECK(memcmp(values, &w->first, 8) == 0 && validity[0] == 1, "%s: first", where);
    take_here(query, "mixed");
    CHECK(memcmp(values, &w->mixed, 8) == 0, "%s: mixed", where);
    take_here(query, "some");
    CHECK(values[0] == 1, "%s: some", where);
    zf_query_sizes sizes = take_here(query, "hit");
    CHECK(sizes.count == ROWS && sizes.values == (ROWS + 7) / 8 && sizes.lengths[0] == ROWS, "%s: hit", where);
    for (unsigned r = 0; r < 8 * sizes.values; r++)
        if (bit(values, r) != (r < ROWS && bit(open_bits, k[r]))) CHECK(false, "%s: hit %u", where, r);
    sizes = take_here(query, "id");
    CHECK(sizes.count == w->selected && memcmp(values, w->ids, 8 * w->selected) == 0, "%s: id, %llu", where, (ull)sizes.count);
    sizes = take_here(query, "small");
    CHECK(sizes.values == 4 * w->selected && memcmp(values, w->small, 4 * w->selected) == 0, "%s: small", where);
}

// Elements that an accelerator makes in its memory are those that come to the host.
static void check_there(zf_prepared_query *query, const char *where) {
    static uint8_t kept[MOST], kept_bits[MOST / 8], bits[MOST / 8];
    for (size_t at = 0; at < zf_query_members(query, ZF_QUERY_RESULT); at++) {
        zf_query_member member = {ZF_INIT(zf_query_member)};
        zf_error error = {0};
        demand(zf_query_describe(query, ZF_QUERY_RESULT, at, &member, &error), &error);
        zf_query_sizes sizes = take_here(query, member.name);
        memcpy(kept, values, sizes.values);
        memcpy(kept_bits, validity, sizes.validity);
        uint64_t to = allocate(sizes.values), bits_to = allocate(sizes.validity);
        zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .address = to, .validity_address = bits_to,
                                    .values_bytes = sizes.values, .validity_bytes = sizes.validity};
        demand(take(query, member.name, &buffers, &error), &error);
        fetch(values, to, sizes.values);
        fetch(bits, bits_to, sizes.validity);
        CHECK(memcmp(values, kept, sizes.values) == 0, "%s: %s on the device", where, member.name);
        CHECK(memcmp(bits, kept_bits, sizes.validity) == 0, "%s: validity of %s on the device", where, member.name);
        device->ops->release(device, to);
        device->ops->release(device, bits_to);
    }
}

static void check_sets(zf_prepared_query *query, const wanted *w, const char *where) {
    take_here(query, "negative");
    for (unsigned g = 0; g < w->groups; g++) CHECK(((int16_t *)values)[g] == (g < 20 ? -(int)g : 0), "%s: negative %u", where, g);
    take_here(query, "wide");
    const uint64_t nan = UINT64_C(0x7ff8000000000000);
    CHECK(memcmp(values + 24, &nan, 8) == 0 && ((double *)values)[4] == -x[4], "%s: wide", where);
    take_here(query, "narrow");
    CHECK(((uint32_t *)values)[3] == 0x7fc00000 && ((float *)values)[4] == (float)-x[4], "%s: narrow", where);
}

// ---- Runs -----------------------------------------------------------------------------------------------------

static zf_status run(zf_prepared_query *query, const wanted *w, const zf_query_array *arrays, zf_error *error) {
    uint64_t scale;
    memcpy(&scale, &w->scale, sizeof scale);
    zf_query_param params[] = {
        {.name = "low", .bits = (uint64_t)w->low}, {.name = "groups", .bits = w->groups}, {.name = "scale", .bits = scale}};
    return zf_query_run(query, params, 3, arrays, 2, NULL, error);
}

static const zf_query_array here[] = {{.name = "open", .values = open_bits, .bytes = sizeof open_bits},
                                      {.name = "by", .values = by, .bytes = sizeof by}};

static void run_often(const char *on, unsigned how) {
    static const struct {
        unsigned groups;
        double scale;
        int64_t low;
    } runs[] = {{50, 0.5, -3}, {50, 2, 400}, {21, 1, 1000}, {60, 1, 0}, {50, 0.5, -3}};
    zf_prepared_query *query = prepare("all_kinds", on, how);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        static wanted w;
        char where[64];
        zf_error error = {0};
        snprintf(where, sizeof where, "%s, columns %u, run %zu", on, how, i);
        expect(&w, runs[i].groups, runs[i].scale, runs[i].low);
        demand(run(query, &w, here, &error), &error);
        check_groups(query, &w, where);
        check_rest(query, &w, where);
        check_sets(query, &w, where);
        if (strcmp(on, device_name) == 0) check_there(query, where);
    }
    zf_query_free(query);
}

static uint64_t upload(const void *from, uint64_t bytes) {
    zf_error error = {0};
    uint64_t address = allocate(bytes);
    demand(device->ops->copy_in(device, NULL, address, from, bytes, &error), &error);
    demand(device->ops->wait(device, NULL, &error), &error);
    return address;
}

// Inputs and results in the device's memory, which are the inputs of a second query.
static void chain(void) {
    static wanted w;
    zf_error error = {0};
    zf_query_sizes code, id, hit, least;
    zf_prepared_query *query = prepare("all_kinds", device_name, STAY), *second = prepare("chosen", device_name, STAY);
    uint64_t there[] = {upload(open_bits, sizeof open_bits), upload(by, sizeof by)};
    const zf_query_array arrays[] = {{.name = "open", .address = there[0], .bytes = sizeof open_bits},
                                     {.name = "by", .address = there[1], .bytes = sizeof by}};
    expect(&w, 60, 1, 100);
    demand(run(query, &w, arrays, &error), &error);
    uint64_t id_at = take_there(query, "id", &id);
    CHECK(memcmp(values, w.ids, 8 * w.selected) == 0, "id on the device");
    uint64_t least_at = take_there(query, "least", &least);
    CHECK(memcmp(values, w.least, least.values) == 0, "least on the device");
    uint64_t code_at = take_there(query, "code", &code), hit_at = take_there(query, "hit", &hit);
    check_rest(query, &w, "inputs on the device");
    const zf_query_array found[] = {{.name = "code", .address = code_at, .bytes = code.values},
                                    {.name = "ids", .address = id_at, .bytes = id.values},
                                    {.name = "hit", .address = hit_at, .bytes = hit.values}};
    demand(zf_query_run(second, NULL, 0, found, 3, NULL, &error), &error);
    int64_t sum = 0, rows = 0;
    for (unsigned r = 0; r < ROWS; r++) {
        if (!bit(open_bits, k[r])) continue;
        sum += k[r] % 20 + 1 + w.ids[0];
        rows++;
    }
    take_here(second, "sum_of");
    CHECK(memcmp(values, &sum, 8) == 0, "the sum of the second query");
    take_here(second, "rows_of");
    CHECK(memcmp(values, &rows, 8) == 0, "the rows of the second query");
    uint64_t all[] = {there[0], there[1], id_at, code_at, hit_at, least_at};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device->ops->release(device, all[i]);
    zf_query_free(second);
    zf_query_free(query);
}

// ---- Errors ---------------------------------------------------------------------------------------------------

static void refused(zf_prepared_query *query, const zf_query_param *params, size_t count, const zf_query_array *arrays,
                    size_t inputs, const char *says) {
    zf_error error = {0};
    zf_status status = zf_query_run(query, params, count, arrays, inputs, NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strstr(error.message, says) != NULL, "%s: %d %s", says, status, error.message);
    zf_query_sizes sizes = {ZF_INIT(zf_query_sizes)};
    CHECK(zf_query_result_size(query, 0, &sizes, &error) == ZF_ERR_USAGE, "%s: results of a run that failed", says);
}

static void refuse(const char *on) {
    zf_prepared_query *query = prepare("all_kinds", on, STAY);
    const zf_query_param groups = {.name = "groups", .text = "10"};
    const zf_query_array other[] = {here[0], {.name = "by", .values = (uint8_t *)by + 1, .bytes = 4}, {.name = "by"}};
    const zf_query_array none[] = {here[0], {.name = "by", .bytes = 4}},
                         odd[] = {here[0], {.name = "by", .values = by, .bytes = 5}};
    refused(query, NULL, 0, here, 2, "`groups` of `all_kinds` has no value");
    refused(query, (zf_query_param[]){groups, groups}, 2, here, 2, "given twice");
    refused(query, (zf_query_param[]){groups, {.name = "nothing"}}, 2, here, 2, "no param `nothing`");
    refused(query, (zf_query_param[]){groups, {.text = "1"}}, 2, here, 2, "without a name");
    refused(query, &(zf_query_param){.name = "groups", .bits = UINT64_C(1) << 32}, 1, here, 2, "are no u32");
    refused(query, (zf_query_param[]){groups, {.name = "low", .bits = 40000}}, 2, here, 2, "are no i16");
    refused(query, (zf_query_param[]){groups, {.name = "wanted", .bits = 2}}, 2, here, 2, "are no bool");
    refused(query, &(zf_query_param){.name = "groups", .text = "x"}, 1, here, 2, "is no value");
    refused(query, &(zf_query_param){.name = "groups", .bits = 0}, 1, here, 2, "all results together");
    refused(query, &groups, 1, here, 1, "`by` of `all_kinds` is not given");
    refused(query, &groups, 1, other, 2, "not aligned");
    refused(query, &groups, 1, (zf_query_array[]){here[0], here[1], here[1]}, 3, "given twice");
    refused(query, &groups, 1, (zf_query_array[]){here[0], here[1], {.name = "nothing"}}, 3, "no input `nothing`");
    refused(query, &groups, 1, none, 2, "no memory");
    refused(query, &groups, 1, odd, 2, "no whole number");
    const zf_query_array far[] = {here[0], {.name = "by", .address = 4096, .bytes = 4}};
    if (strcmp(on, "cpu") == 0) refused(query, &groups, 1, far, 2, "runs on a CPU");
    zf_query_free(query);
}

static void refuse_buffers(const char *on) {
    static wanted w;
    zf_error error = {0};
    zf_prepared_query *query = prepare("all_kinds", on, STAY);
    expect(&w, 50, 1, 0);
    demand(run(query, &w, here, &error), &error);
    zf_query_buffers small = {ZF_INIT(zf_query_buffers), .values = values, .values_bytes = 399};
    CHECK(take(query, "total", &small, &error) == ZF_ERR_USAGE && error.number == ZF_ERROR_BUFFER_SIZE, "%s", error.message);
    zf_query_buffers odd = {ZF_INIT(zf_query_buffers), .values = values + 4, .values_bytes = 400};
    CHECK(take(query, "total", &odd, &error) == ZF_ERR_USAGE && error.number == ZF_ERROR_BUFFER, "%s", error.message);
    zf_query_buffers none = {ZF_INIT(zf_query_buffers), .values_bytes = 400};
    CHECK(take(query, "total", &none, &error) == ZF_ERR_USAGE && error.number == ZF_ERROR_BUFFER, "%s", error.message);
    zf_query_buffers far = {ZF_INIT(zf_query_buffers), .address = 4096, .values_bytes = 400};
    if (strcmp(on, "cpu") == 0)
        CHECK(take(query, "total", &far, &error) == ZF_ERR_USAGE && strstr(error.message, "CPU") != NULL, "%s", error.message);
    zf_query_buffers good = {ZF_INIT(zf_query_buffers), .values = values, .values_bytes = sizeof values};
    CHECK(zf_query_take(query, 16, &good, NULL, &error) == ZF_ERR_USAGE, "result 16");
    CHECK(take(query, "least", &good, &error) == ZF_OK, "without the validity: %s", error.message);
    good.size = 8; // no version had so few
    CHECK(take(query, "total", &good, &error) == ZF_ERR_USAGE && error.number == ZF_ERROR_STRUCT_SIZE, "%s", error.message);
    zf_query_free(query);
}

// An index beyond an input: the row is the CPU's. The next run is good.
static void fail(const char *on, bool inputs_there) {
    static wanted w;
    zf_error error = {0};
    zf_prepared_query *query = prepare("all_kinds", on, STAY);
    uint64_t address = inputs_there ? upload(by, 49 * sizeof *by) : 0;
    const zf_query_array arrays[] = {
        here[0], {.name = "by", .values = inputs_there ? NULL : by, .bytes = 49 * sizeof *by, .address = address}};
    unsigned row = 0;
    while (k[row] != 49) row++;
    char says[32];
    snprintf(says, sizeof says, "row %u,", row);
    expect(&w, 50, 1, 0);
    for (unsigned i = 0; i < 2; i++) {
        zf_status status = run(query, &w, arrays, &error);
        CHECK(status == ZF_ERR_INPUT && strcmp(error.code, "ZF1301") == 0 && strncmp(error.place, says, strlen(says)) == 0,
              "%s: %s %s (%s)", on, error.code, error.message, error.place);
        demand(run(query, &w, here, &error), &error);
        check_groups(query, &w, on);
        check_rest(query, &w, on);
    }
    if (inputs_there) device->ops->release(device, address);
    zf_query_free(query);
}

static void refuse_preparation(void) {
    zf_error error = {0};
    zf_prepared_query *query = NULL;
    CHECK(zf_query_prepare(program, NULL, container, NULL, &query, &error) == ZF_ERR_USAGE && query == NULL, "one of two");
    CHECK(zf_query_prepare(program, "none", container, NULL, &query, &error) == ZF_ERR_USAGE, "none");
    zf_query_options rows = {ZF_INIT(zf_query_options), .some_rows = true, .row_begin = ROWS + 1};
    CHECK(zf_query_prepare(program, "chosen", container, &rows, &query, &error) == ZF_ERR_USAGE &&
              error.number == ZF_ERROR_ROW_RANGE,
          "%s", error.message);
    zf_query_options far = {ZF_INIT(zf_query_options), .device = "nothing"};
    CHECK(zf_query_prepare(program, "chosen", container, &far, &query, &error) == ZF_ERR_DEVICE, "%s", error.message);
    zf_query_free(NULL);
}

int main(void) {
    if (getenv("ZF_TEST_DEVICE") != NULL) device_name = getenv("ZF_TEST_DEVICE");
    if (!scratch_begin("prepared-query")) return 1;
    make_rows();
    begin();
    describe();
    refuse_preparation();
    const char *const devices[] = {"cpu", device_name, "emu64"};
    for (unsigned d = 0; d < 3; d++) {
        run_often(devices[d], STAY);
        fail(devices[d], false);
    }
    for (unsigned how = DECODED; how <= (DECODED | FROM_HOST); how++) run_often(device_name, how);
    chain();
    fail(device_name, true);
    for (unsigned d = 0; d < 2; d++) {
        refuse(devices[d]);
        refuse_buffers(devices[d]);
    }
    end();
    scratch_remove(scratch);
    return check_result();
}
