#include "zfc/verbs/compile_tiles.h"

#include <jansson.h>
#include <stdlib.h>

#include "compiler/tile/tile_header.h"
#include "runtime/base/clock.h"
#include "tuner/tune_json.h"
#include "zfc/data/column_options.h"
#include "zfc/data/files_read.h"
#include "zfc/output.h"
#include "zfc/report.h"

// A header that is being made.
typedef struct making {
    const zf_session *session;
    const zf_arguments *arguments;
    const char *path;
    json_t *left_out;
    zf_text text;
    zf_tile_header_stats stats;
} making;

static void print_note(void *user, const char *line) {
    fprintf(stderr, "zfc compile: note: %s\n", line);
    json_array_append_new(user, zf_json_text(line));
}

static zf_status make_text(making *m, zf_container *container, zf_error *error) {
    const char *names = zf_argument(m->arguments, "columns");
    size_t count = 0;
    size_t *columns = zf_selected_columns(container, names, &count, error);
    if (!columns) return error->status;
    zf_tile_header_options options = {
        .columns = names ? columns : NULL, .column_count = count, .note = print_note, .note_user = m->left_out};
    zf_status status = zf_tile_header(m->session->compiler, container, &options, &m->text, &m->stats, error);
    free(columns);
    return status;
}

static zf_status write_text(const making *m, zf_error *error) {
    zf_sink sink = {0};
    zf_status status = zf_sink_open(m->path, zf_argument(m->arguments, "force") != NULL, &sink, error);
    if (status == ZF_OK) status = zf_sink_write(&sink, m->text.data, m->text.length, error);
    if (status == ZF_OK) status = zf_output_commit(sink.file, error);
    zf_output_free(sink.file);
    return status;
}

static zf_status make(making *m, zf_error *error) {
    const char *input = m->arguments->operands[0];
    zf_files_read read = {0};
    zf_container *container = NULL;
    zf_status status = zf_files_note(&read, input, error);
    if (status == ZF_OK) status = zf_files_guard(&read, m->path, error);
    if (status == ZF_OK) status = zf_open_container(m->arguments, m->session->context, input, &container, error);
    if (status == ZF_OK) status = make_text(m, container, error);
    if (status == ZF_OK) status = write_text(m, error);
    zf_container_close(container);
    zf_files_free(&read);
    return status;
}

static zf_status print_report(const making *m, double seconds, zf_error *error) {
    if (zf_argument(m->arguments, "json")) {
        json_t *object = json_pack("{s:o, s:I, s:I, s:I, s:f, s:O}", "file", zf_json_text(m->path), "columns",
                                   (json_int_t)m->stats.columns, "general", (json_int_t)m->stats.general, "bytes",
                                   (json_int_t)m->text.length, "seconds", seconds, "left_out", m->left_out);
        zf_status status = zf_json_print(object, error);
        json_decref(object);
        return status;
    }
    if (m->session->quiet) return ZF_OK;
    zf_print_path(stdout, m->path);
    printf(": functions for %zu column%s, of which %zu take any params\n", m->stats.columns, m->stats.columns == 1 ? "" : "s",
           m->stats.general);
    return ZF_OK;
}

int zf_compile_tiles(const zf_session *session, const zf_arguments *arguments, const char *path) {
    zf_error error = {0};
    making m = {.session = session, .arguments = arguments, .path = path, .left_out = json_array()};
    double begin = zf_clock_seconds();
    zf_status status = make(&m, &error);
    if (status == ZF_OK) status = print_report(&m, zf_clock_seconds() - begin, &error);
    zf_text_free(&m.text);
    json_decref(m.left_out);
    return status == ZF_OK ? EXIT_GOOD : zf_report("compile", &error);
}
