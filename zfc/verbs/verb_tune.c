// zfc tune: kernels measured on a device under the choices that a search asks for; what was fastest is kept, shipped, shown.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/program.h"
#include "measure/measure_codes.h"
#include "runtime/base/clock.h"
#include "runtime/context/context.h"
#include "runtime/decode/kernel_clock.h"
#include "tuner/tune.h"
#include "zfc/commit.h"
#include "zfc/data/column_options.h"
#include "zfc/data/files_read.h"
#include "zfc/driver_codes.h"
#include "zfc/output.h"
#include "zfc/program.h"
#include "zfc/scratch.h"
#include "zfc/watch.h"

enum {
    WARM = 4, // untimed runs: a GPU that waited takes a while to reach its clock
    RUNS = 7,
    COPY_LEAST = 16 << 20,
    COPY_MOST = 1 << 30,
    EMULATED_ROWS = 8192,
    MADE_ROWS = 1 << 21, // of programs without data: a block of 16 MiB where an element has 8 bytes
};

static const double NEARLY_NONE = 1e-6; // seconds, where 0 are as many as wanted

typedef struct tune_session {
    zf_session session;
    zf_device device;
    zf_tune_options options;
    zf_tuned known; ///< kept, and shipped ones over that
    zf_tune_record record;
    zf_outputs outputs; ///< the file that --output names
    zf_sink output;
    json_t *left_out; ///< names of columns for which, or for some of whose alternatives, no time was left
    json_t *empty;    ///< containers without rows
    bool has_bytes;   ///< --bytes says how many are measured
    double budget;    ///< seconds for all; 0: no bound
    double begun;
} tune_session;

static int usage(const char *message) {
    fprintf(stderr, "zfc tune: %s\n  see: zfc tune --help\n", message);
    return EXIT_BAD_USAGE;
}

/// "5s", "500ms", "2m", or seconds: digits, perhaps with a point among them, and a unit, and none of what else strtod takes.
static bool read_seconds(const char *text, double *out) {
    static const char digits[] = "0123456789";
    const char *end = text + strspn(text, digits);
    if (end > text && end[0] == '.' && end[1] >= '0' && end[1] <= '9') end += 1 + strspn(end + 1, digits);
    double value = end > text ? strtod(text, NULL) : 0;
    if (!isfinite(value) || value <= 0) return false;
    double unit = strcmp(end, "") == 0 || strcmp(end, "s") == 0 ? 1
                  : strcmp(end, "ms") == 0                      ? 1e-3
                  : strcmp(end, "m") == 0                       ? 60
                                                                : 0;
    *out = value * unit;
    return unit > 0;
}

// ---- Opening --------------------------------------------------------------------------------------------------

static zf_status add_all(zf_tuned *to, const zf_tuned_device *from, const char *description, zf_error *error) {
    for (size_t k = 0; from != NULL && k < from->count; k++) {
        if (!zf_tuned_set(to, description, &from->kernels[k]))
            return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for tuned kernels");
    }
    return ZF_OK;
}

/// What was found before: in the cache, and in the file that --tuned names. What is kept and damaged is an error where it is to
/// be shown; a search does without.
static zf_status read_known(tune_session *t, const char *path, bool shows, zf_error *error) {
    zf_text message = {0};
    zf_status status = ZF_OK;
    if (!zf_tuned_kept(t->session.context, t->options.info.description, &t->known, &message)) {
        const char *why = message.data != NULL ? message.data : "no memory";
        zf_context_log(t->session.context, ZF_LOG_WARNING, "%s", why);
        if (shows) status = zf_fail(error, ZF_ERR_INPUT, ZFC_CANNOT_READ, "%.900s", why);
    }
    zf_text_free(&message);
    if (path == NULL || status != ZF_OK) return status;
    zf_tuned shipped;
    ZF_TRY(zf_tuned_read(path, &shipped, error));
    status = add_all(&t->known, zf_tuned_find(&shipped, t->options.info.description), t->options.info.description, error);
    zf_tuned_free(&shipped);
    return status;
}

static zf_status open_device(tune_session *t, const char *name, zf_error *error) {
    zf_tune_options *o = &t->options;
    o->context = t->session.context;
    o->compiler = t->session.compiler;
    ZF_TRY(zf_device_find(o->context, name != NULL ? name : "auto", &t->device, error));
    if (t->device.ops->start == NULL) {
        zf_fail(error, ZF_ERR_USAGE, ZFM_NOT_MEASURED, "kernels of device `%s` have no choices: GPUs' have", t->device.ops->name);
        return zf_fail_hint(error, ZF_ERR_USAGE, "name a GPU by --device; `zfc devices` lists them");
    }
    ZF_TRY(zf_device_get(o->context, t->device.entry, &o->info, error));
    ZF_TRY(zf_device_accelerator(o->context, &t->device, &o->accelerator, error));
    const zf_accelerator_ops *ops = o->accelerator->ops;
    if (ops->multiprocessor_facts != NULL) ZF_TRY(ops->multiprocessor_facts(o->accelerator, &o->processor, error));
    ZF_TRY(ops->stream_open(o->accelerator, &o->stream, error));
    bool emulated = o->info.emulated;
    o->warm = emulated ? 0 : WARM;
    o->runs = emulated ? 1 : RUNS;
    o->rows = emulated ? EMULATED_ROWS : UINT64_MAX;
    if (emulated && !t->has_bytes) o->bytes = 1;
    return ZF_OK;
}

/// Before all is measured: where nothing can be written, that is said at once.
static zf_status open_output(tune_session *t, const char *path, bool overwrite, zf_error *error) {
    if (path == NULL) return ZF_OK;
    t->outputs.overwrite = overwrite;
    zf_watch_outputs(&t->outputs);
    return zf_outputs_open(&t->outputs, path, &t->output, error);
}

static void close_all(tune_session *t) {
    zf_outputs_free(&t->outputs);
    zf_watch_outputs(NULL);
    if (t->options.stream != NULL) t->options.accelerator->ops->stream_close(t->options.accelerator, t->options.stream);
    zf_tuned_free(&t->known);
    zf_tune_record_free(&t->record);
    json_decref(t->left_out);
    json_decref(t->empty);
    zf_session_close(&t->session);
}

// ---- What is found --------------------------------------------------------------------------------------------

static zf_tuned_kernel as_tuned(const zf_tune_kernel *kernel) {
    return (zf_tuned_kernel){.shape = kernel->shape,
                             .choice = zf_tune_choice_kept(&kernel->space, &kernel->result.best),
                             .seconds = kernel->result.seconds,
                             .otherwise = kernel->result.default_seconds,
                             .probes = kernel->result.probes};
}

/// Keeps what was found, and writes it to a file that can be shipped, unless that is nothing; times of an emulator are kept
/// nowhere.
static zf_status keep(tune_session *t, zf_error *error) {
    zf_tuned found = {0};
    zf_status status = ZF_OK;
    for (size_t k = 0; k < t->record.count && status == ZF_OK; k++) {
        if (!t->record.kernels[k].result.found) continue;
        zf_tuned_kernel kernel = as_tuned(&t->record.kernels[k]);
        if (!zf_tuned_set(&found, t->options.info.description, &kernel))
            status = zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for tuned kernels");
    }
    if (status == ZF_OK && !t->options.info.emulated && found.count > 0 &&
        !zf_tuned_keep(t->session.context, &found.devices[0]) && t->output.file == NULL)
        fprintf(stderr,
                "zfc tune: what was found is not kept: there is no cache, or it cannot be read or written (-v says why; -o FILE "
                "writes a file)\n");
    zf_text text = {0};
    if (status == ZF_OK && t->output.file != NULL && found.count == 0)
        fprintf(stderr, "zfc tune: nothing was found, so no file is written\n");
    if (status == ZF_OK && t->output.file != NULL && found.count > 0) {
        zf_tuned_print(&found, &text);
        status = text.failed ? zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for tuned kernels")
                             : zf_sink_write(&t->output, text.data, text.length, error);
        if (status == ZF_OK) status = zf_outputs_commit(&t->outputs, error);
    }
    zf_text_free(&text);
    zf_tuned_free(&found);
    return status;
}

static void print_table(const tune_session *t) {
    printf("%s: %s\n", t->options.info.name, t->options.info.description);
    printf("%-20s %-34s %12s %12s %7s %7s %9s  %s\n", "column, kernel", "choice", "default us", "tuned us", "faster", "probes",
           "of copy", "ended because");
    for (size_t k = 0; k < t->record.count; k++) {
        const zf_tune_kernel *kernel = &t->record.kernels[k];
        const zf_search_result *r = &kernel->result;
        zf_text choice = {0};
        char name[64], of_copy[16] = "-";
        snprintf(name, sizeof name, "%.40s %u", kernel->column, kernel->number);
        zf_tune_point_text(&kernel->space, &r->best, &choice);
        if (r->found && kernel->space.least_seconds > 0)
            snprintf(of_copy, sizeof of_copy, "%.0f%%", 100 * kernel->space.least_seconds / r->seconds);
        if (r->found)
            printf("%-20s %-34s %12.2f %12.2f %6.2fx %7u %9s  %s\n", name, choice.data, r->default_seconds * 1e6,
                   r->seconds * 1e6, r->default_seconds / r->seconds, r->probes, of_copy, r->ended);
        else if (r->probes == 0)
            printf("%-20s nothing was found: %s\n", name, r->ended);
        else
            printf("%-20s nothing was measured: code has no such kernel, or it cannot run\n", name);
        zf_text_free(&choice);
    }
    for (size_t k = 0; k < json_array_size(t->left_out); k++)
        printf("%s%s", k == 0 ? "left out, no more time: " : ", ", json_string_value(json_array_get(t->left_out, k)));
    if (json_array_size(t->left_out) > 0) printf("\n");
    for (size_t k = 0; k < json_array_size(t->empty); k++) {
        zf_print_path(stdout, json_string_value(json_array_get(t->empty, k)));
        printf(" has no rows: there is nothing to measure\n");
    }
    if (t->options.info.emulated && t->record.count > 0)
        printf("these are times of an emulator: they say nothing of a GPU, and are not kept\n");
}

static zf_status print_json(const tune_session *t, zf_error *error) {
    char date[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    const zf_device_info *info = &t->options.info;
    json_t *report = json_pack(
        "{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:b, s:i, s:I}, s:b, s:f, s:I, s:i, s:f, s:s, s:o, s:O, s:O}", "tune", "kernels",
        "date", date, "version", zf_version(), "commit", ZF_COMMIT, "device", "name", info->name, "description",
        info->description, "emulated", (int)info->emulated, "cores", (int)info->cores, "memory", (json_int_t)info->memory,
        "exhaustive", (int)t->options.exhaustive, "copy_bytes_per_second", t->record.copy_rate, "bytes",
        (json_int_t)t->options.bytes, "runs", (int)t->options.runs, "total_seconds", zf_clock_seconds() - t->begun, "counted",
        "`seconds`: of one launch of the kernel alone, a median of `runs`, over copies of a block's rows; `least_seconds`: its "
        "bytes, "
        "each once, at the speed of a copy; `total_seconds`: all that the command took, compiling included",
        "kernels", zf_tune_record_json(&t->record), "left_out", t->left_out, "without_rows", t->empty);
    zf_status status = zf_json_print(report, error);
    json_decref(report);
    return status;
}

// ---- Tuning ---------------------------------------------------------------------------------------------------

/// `vectors`: of alternatives, of a column of which others were measured; 0: none was.
static zf_status leave_out(tune_session *t, const zf_container *container, size_t column, size_t vectors, zf_error *error) {
    zf_column_info info;
    ZF_TRY(zf_container_column(container, column, &info, error));
    zf_text text = {0};
    zf_text_printf(&text, "%s", info.name);
    if (vectors > 0) zf_text_printf(&text, " (%zu of its vectors of alternatives)", vectors);
    zf_status status = zf_json_append(t->left_out, text.data != NULL ? zf_json_text(text.data) : NULL, error);
    zf_text_free(&text);
    return status;
}

static zf_status tune_container(tune_session *t, const char *path, const char *names, size_t later, zf_error *error) {
    zf_container *container = NULL;
    size_t count = 0;
    ZF_TRY(zf_container_open(t->session.context, path, &container, error));
    size_t *selected = zf_selected_columns(container, names, &count, error);
    zf_status status = selected != NULL ? ZF_OK : error->status;
    if (status == ZF_OK && zf_container_rows(container) == 0) status = zf_json_append(t->empty, zf_json_text(path), error);
    zf_watch_container(container);
    for (size_t k = 0; k < count && status == ZF_OK; k++) {
        double left = t->begun + t->budget - zf_clock_seconds();
        size_t vectors = 0;
        if (t->budget > 0 && left <= 0 && t->record.count > 0) { // however little there is, something is measured
            status = leave_out(t, container, selected[k], 0, error);
            continue;
        }
        if (t->budget > 0 && left < NEARLY_NONE) left = NEARLY_NONE;
        t->options.seconds = t->budget > 0 ? left / (double)(count - k + later) : 0; // shared by the columns to come
        status = zf_tune_column(&t->options, path, selected[k], &t->record, &vectors, error);
        if (vectors > 0) status = leave_out(t, container, selected[k], vectors, error);
    }
    zf_watch_container(NULL);
    free(selected);
    zf_container_close(container);
    return status;
}

/// Whether an operand is a program: FILE.zf or FILE.zf:TABLE.
static bool is_program(const char *operand) {
    const char *slash = strrchr(operand, '/'), *at = slash != NULL ? slash : operand;
    while ((at = strstr(at, ".zf")) != NULL) {
        at += strlen(".zf");
        if (*at == 0 || *at == ':') return true;
    }
    return false;
}

/// A program is tuned by columns that are made up, in a file that goes again.
static zf_status tune_program(tune_session *t, const char *name, const char *columns, size_t later, zf_error *error) {
    zf_scratch scratch;
    ZF_TRY(zf_scratch_make(&scratch, "tune", error));
    uint64_t rows = t->options.rows < MADE_ROWS ? t->options.rows : MADE_ROWS;
    zf_status status = zf_tune_make(t->session.compiler, name, rows, scratch.container, error);
    if (status == ZF_OK) status = tune_container(t, scratch.container, columns, later, error);
    zf_scratch_remove(&scratch);
    return status;
}

static zf_status show_json(const tune_session *t, const zf_tuned_device *device, const char *name, zf_error *error) {
    const zf_device_info *info = &t->options.info;
    json_t *kernels = json_array();
    for (size_t k = 0; device != NULL && k < device->count; k++) {
        const zf_tuned_kernel *kernel = &device->kernels[k];
        json_array_append_new(kernels, json_pack("{s:o, s:o, s:f, s:f, s:i}", "shape", zf_json_text(kernel->shape), "choice",
                                                 zf_tune_choice_json(&kernel->choice), "seconds", kernel->seconds,
                                                 "default_seconds", kernel->otherwise, "probes", (int)kernel->probes));
    }
    json_t *report =
        json_pack("{s:s, s:{s:s, s:o, s:b}, s:s, s:o}", "tune", "known", "device", "name", info->name, "description",
                  zf_json_text(info->description), "emulated", (int)info->emulated, "file", name, "kernels", kernels);
    zf_status status = zf_json_print(report, error);
    json_decref(report);
    return status;
}

/// What is known of the device, or of its model behind another driver.
static zf_status show(const tune_session *t, bool as_json, zf_error *error) {
    char name[40];
    const char *description = t->options.info.description;
    zf_tuned_file_name(description, name);
    if (as_json) return show_json(t, zf_tuned_find(&t->known, description), name, error);
    printf("%s: %s\n", t->options.info.name, description);
    const zf_tuned_device *device = zf_tuned_find(&t->known, description);
    if (device == NULL) {
        if (t->options.info.emulated)
            printf(
                "nothing is known of its kernels: what is found on an emulator is kept nowhere (-o FILE writes it to a file)\n");
        else
            printf("nothing is known of its kernels: `zfc tune FILE.zfd` finds it, in tuned/%s of the cache\n", name);
        return ZF_OK;
    }
    zf_text text = {0};
    zf_tuned only = {.devices = (zf_tuned_device *)(uintptr_t)device, .count = 1};
    zf_tuned_print(&only, &text);
    bool good = !text.failed && fwrite(text.data, 1, text.length, stdout) == text.length;
    zf_text_free(&text);
    return good ? ZF_OK : zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "the table cannot be written");
}

/// Columns of an operand, among which time is shared. Of what cannot be read it is told when it is tuned: until then it counts as
/// one.
static zf_status count_columns(tune_session *t, const char *operand, size_t *out, zf_error *error) {
    zf_error later;
    *out = 1;
    if (!is_program(operand)) {
        zf_container *container = NULL;
        if (zf_container_open(t->session.context, operand, &container, &later) != ZF_OK) return ZF_OK;
        *out = zf_container_columns(container);
        zf_container_close(container);
        return ZF_OK;
    }
    zf_program_name name;
    if (!zf_program_name_read("tune", operand, &name))
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "%.256s is no program", operand);
    zf_program *program = NULL;
    if (zf_program_load(t->session.compiler, name.path, &program, &later) == ZF_OK) {
        const zf_table *table = zf_spec_find_table(zf_program_spec(program), name.name);
        if (table != NULL) *out = table->column_count;
    }
    zf_program_free(program);
    return ZF_OK;
}

/// `later`: of each operand, the columns of those behind it.
static zf_status count_later(tune_session *t, const zf_arguments *arguments, size_t *later, zf_error *error) {
    if (t->budget <= 0) return ZF_OK;
    for (int k = 1; k < arguments->operand_count; k++) ZF_TRY(count_columns(t, arguments->operands[k], &later[k - 1], error));
    for (int k = arguments->operand_count - 1; k > 0; k--) later[k - 1] += later[k];
    return ZF_OK;
}

/// Of as many bytes as a measurement makes: both begin and end with a GPU that is not full, a copy of 256 MiB for 2% of its time
/// (on an H200).
static uint64_t copied_bytes(uint64_t bytes) { return bytes < COPY_LEAST ? COPY_LEAST : bytes < COPY_MOST ? bytes : COPY_MOST; }

static zf_status tune_operands(tune_session *t, const zf_arguments *arguments, zf_error *error) {
    zf_tune_options *o = &t->options;
    size_t *later = calloc((size_t)arguments->operand_count + 1, sizeof *later);
    zf_status status = later != NULL ? count_later(t, arguments, later, error)
                                     : zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for the operands");
    if (status == ZF_OK && !o->info.emulated) // whose copies say nothing of its kernels
        status = zf_accelerator_copy_rate(o->accelerator, o->stream, copied_bytes(o->bytes), &t->record.copy_rate, error);
    for (int k = 0; k < arguments->operand_count && status == ZF_OK; k++) {
        const char *operand = arguments->operands[k], *columns = zf_argument(arguments, "columns");
        status = is_program(operand) ? tune_program(t, operand, columns, later[k], error)
                                     : tune_container(t, operand, columns, later[k], error);
    }
    free(later);
    return status;
}

/// What took minutes to measure is kept, and shown, also where something fails later.
static zf_status tune_all(tune_session *t, const zf_arguments *arguments, zf_error *error) {
    zf_error later = {0};
    ZF_TRY(open_output(t, zf_argument(arguments, "output"), zf_argument(arguments, "force") != NULL, error));
    zf_status status = tune_operands(t, arguments, error);
    bool measured = status == ZF_OK;
    zf_status kept = keep(t, measured ? error : &later);
    if (measured) status = kept;
    if (!measured && t->record.count == 0) return status;
    if (zf_argument(arguments, "json") == NULL) {
        print_table(t);
        return status;
    }
    zf_status printed = print_json(t, status == ZF_OK ? error : &later);
    return status == ZF_OK ? printed : status;
}

// ---- The output ---------------------------------------------------------------------------------------------------

/// ZF2014 where the output is what a program imports. What is wrong with the program is told when it is tuned.
static zf_status guard_imports(zf_compiler *compiler, const char *path, const char *output, zf_error *error) {
    zf_program *program = NULL;
    zf_error wrong;
    zf_program_load(compiler, path, &program, &wrong);
    zf_status status = program != NULL ? zf_guard_output(zf_program_spec(program), NULL, output, error) : ZF_OK;
    zf_program_free(program);
    return status;
}

/// ZF2014 where --output is a container, a program, what that imports, or a table that is to be read.
static zf_status guard_inputs(const tune_session *t, const zf_arguments *arguments, zf_error *error) {
    const char *output = zf_argument(arguments, "output"), *shipped = zf_argument(arguments, "tuned");
    if (output == NULL) return ZF_OK;
    zf_files_read read = {0};
    zf_program_name *names = calloc((size_t)arguments->operand_count + 1, sizeof *names); // which `read` refers to
    if (names == NULL) return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for names of files");
    zf_status status = shipped != NULL ? zf_files_note(&read, shipped, error) : ZF_OK;
    for (int k = 0; k < arguments->operand_count && status == ZF_OK; k++) {
        const char *operand = arguments->operands[k];
        if (is_program(operand) && !zf_program_name_read("tune", operand, &names[k]))
            status = zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "%.256s is no program", operand);
        else
            status = zf_files_note(&read, is_program(operand) ? names[k].path : operand, error);
    }
    if (status == ZF_OK) status = zf_files_guard(&read, output, error);
    for (int k = 0; k < arguments->operand_count && status == ZF_OK; k++) {
        if (is_program(arguments->operands[k])) status = guard_imports(t->session.compiler, names[k].path, output, error);
    }
    zf_files_free(&read);
    free(names);
    return status;
}

// ---- The verb -------------------------------------------------------------------------------------------------

static bool is_among(const char *name, const char *const *names) {
    while (*names != NULL && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/// Whether all options are of those that say something beside --`name`.
static bool goes_with(const char *name, const char *const *others, const zf_arguments *arguments) {
    for (int k = 0; k < arguments->given_count; k++) {
        const char *given = arguments->given[k].option->name;
        if (strcmp(given, name) == 0 || is_among(given, others)) continue;
        fprintf(stderr, "zfc tune: --%s measures nothing: --%s does not go with it\n  see: zfc tune --help\n", name, given);
        return false;
    }
    return true;
}

int zf_run_tune(zf_arguments *arguments) {
    static const char *const shown[] = {"device", "tuned", "json", "threads", "verbose", "time-passes", "no-cache", NULL};
    static const char *const replayed[] = {"probes", "json", "verbose", "time-passes", "threads", "no-cache", NULL};
    tune_session t = {.begun = zf_clock_seconds()};
    uint64_t probes;
    int status;
    const char *budget = zf_argument(arguments, "budget"), *record = zf_argument(arguments, "replay");
    bool shows = zf_argument(arguments, "show") != NULL, as_json = zf_argument(arguments, "json") != NULL;
    if (budget != NULL && !read_seconds(budget, &t.budget)) return usage("--budget wants a time, such as 5s, 500ms or 2m");
    if (!zf_argument_number(arguments, "probes", 1, ZF_SEARCH_PROBES_MOST, 0, &probes)) return EXIT_BAD_USAGE;
    if (!zf_argument_number(arguments, "bytes", 1, UINT64_C(1) << 40, 512 << 20, &t.options.bytes)) return EXIT_BAD_USAGE;
    t.has_bytes = zf_argument(arguments, "bytes") != NULL;
    bool measures = !shows && record == NULL;
    if (measures && arguments->operand_count == 0)
        return usage("nothing to measure: give containers or programs, or --show or --replay");
    if (!measures && arguments->operand_count > 0) return usage("--show and --replay measure nothing: give no containers");
    if (shows && !goes_with("show", shown, arguments)) return EXIT_BAD_USAGE;
    if (record != NULL && !goes_with("replay", replayed, arguments)) return EXIT_BAD_USAGE;
    if (zf_argument(arguments, "columns") && arguments->operand_count != 1)
        return usage("--columns goes with one container or program");
    if (zf_argument(arguments, "exhaustive") && zf_argument(arguments, "probes"))
        return usage("--exhaustive measures every combination: --probes does not go with it");
    if (record != NULL) return zf_tune_replay_record(record, (uint32_t)probes, as_json);
    t.options.probes = (uint32_t)probes;
    t.options.exhaustive = zf_argument(arguments, "exhaustive") != NULL;
    t.options.known = &t.known;
    zf_plan_request request = {.unfused = zf_argument(arguments, "unfused") != NULL};
    if (!zf_session_open_with(arguments, &request, &t.session, &status)) return status;
    t.left_out = json_array();
    t.empty = json_array();
    if (t.session.verbose) t.options.told = stderr;
    zf_error error = {0};
    zf_status done = guard_inputs(&t, arguments, &error);
    if (done == ZF_OK) done = open_device(&t, zf_argument(arguments, "device"), &error);
    if (done == ZF_OK) done = read_known(&t, zf_argument(arguments, "tuned"), shows, &error);
    if (done == ZF_OK) done = shows ? show(&t, as_json, &error) : tune_all(&t, arguments, &error);
    status = done == ZF_OK ? EXIT_GOOD : zf_report("tune", &error);
    close_all(&t);
    return status;
}
