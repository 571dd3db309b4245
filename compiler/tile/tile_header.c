// Headers of tile loaders: which columns of a container are in one.
#include "compiler/tile/tile_header.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/decoder/decoder.h"
#include "compiler/tile/tile_column.h"
#include "runtime/base/error_codes.h"

typedef struct writing {
    zf_container *container;
    const zf_tile_header_options *options;
    zf_abi_provider provider;
    zf_text *out;
    zf_text names; ///< of the columns so far, each in spaces
    zf_tile_header_stats stats;
} writing;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The column's name with `_` in place of what names of C++ cannot have.
static zf_status make_name(writing *w, const char *column, zf_text *name, zf_error *error) {
    zf_text_puts(name, " ");
    for (const char *at = column; *at != 0; at++) zf_text_add(name, is_letter(*at) ? at : "_", 1);
    zf_text_puts(name, " ");
    if (name->failed) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a header");
    if (w->names.length > 0 && strstr(w->names.data, name->data) != NULL)
        return zf_raise(error, ZF_E_NO_TILES, "its functions would have the name of another column's");
    zf_text_puts(&w->names, name->data);
    name->data[name->length - 1] = 0;
    return ZF_OK;
}

static zf_status write_column(writing *w, size_t column, const zf_column_info *info, zf_error *error) {
    zf_tile_column_codes found;
    zf_tile_loader loader = {0};
    zf_text key = {0}, name = {0};
    zf_status status = zf_tile_column_find(w->container, column, &w->provider, &found, error);
    zf_tile_codes codes = {.plan = found.plan, .shape = found.shape, .shaping = found.shaping};
    if (status == ZF_OK) status = zf_decoder_tile_loader(found.plan->provider_data, found.shaping, &loader, error);
    if (status == ZF_OK) status = zf_tile_key(w->container, column, &codes, &key, error);
    if (status == ZF_OK) status = make_name(w, info->name, &name, error);
    if (status == ZF_OK) {
        zf_tile_column_text text = {
            .name = name.data + 1, .key = key.data, .type_name = info->type_name, .codec = info->codec, .loader = &loader};
        zf_tile_text_column(w->out, &text);
        w->stats.columns++;
        w->stats.general += found.general;
    }
    zf_codegen_tile_free(&loader);
    zf_text_free(&key);
    zf_text_free(&name);
    zf_tile_column_free(&found);
    return status;
}

// A column that is left out: a comment, and a note. Other errors than those of the column are errors of the header.
static zf_status leave_out(writing *w, const zf_column_info *info, const zf_error *why) {
    zf_text line = {0};
    zf_text_printf(&line, "column %s has no tile loader: %s", info->name, why->message);
    if (!line.failed) {
        zf_text_puts(w->out, "\n// ");
        zf_tile_text_words(w->out, line.data);
        zf_text_puts(w->out, "\n");
    }
    if (!line.failed && w->options->note != NULL) w->options->note(w->options->note_user, line.data);
    zf_text_free(&line);
    return ZF_OK;
}

static bool is_named(const zf_tile_header_options *options, size_t column) {
    for (size_t k = 0; k < options->column_count; k++)
        if (options->columns[k] == column) return true;
    return false;
}

static zf_status write_columns(writing *w, zf_error *error) {
    for (size_t c = 0; c < zf_container_columns(w->container); c++) {
        zf_column_info info = {ZF_INIT(zf_column_info)};
        zf_error why = {0};
        ZF_TRY(zf_container_column(w->container, c, &info, error));
        if (w->options->columns != NULL && !is_named(w->options, c)) continue;
        zf_status status = write_column(w, c, &info, &why);
        if (status == ZF_ERR_UNSUPPORTED && w->options->columns == NULL) status = leave_out(w, &info, &why);
        if (status == ZF_OK) continue;
        if (why.place[0] == 0) zf_fail_place(&why, status, "%s: column %s", zf_container_path(w->container), info.name);
        if (error != NULL) *error = why;
        return status;
    }
    return ZF_OK;
}

zf_status zf_tile_header(zf_compiler *compiler, zf_container *container, const zf_tile_header_options *options, zf_text *out,
                         zf_tile_header_stats *stats, zf_error *error) {
    zf_provider *provider;
    writing w = {.container = container, .options = options, .out = out};
    ZF_TRY(zf_provider_create(compiler, zf_compiler_request(compiler), &provider, error));
    w.provider = zf_provider_abi(provider);
    zf_tile_text_begin(out, zf_container_table(container));
    zf_status status = write_columns(&w, error);
    if (status == ZF_OK && w.stats.columns == 0) {
        zf_raise(error, ZF_E_NO_TILES, "no column of the file has tiles that another kernel can load");
        status = zf_fail_place(error, ZF_ERR_UNSUPPORTED, "%s", zf_container_path(container));
    }
    if (status == ZF_OK && out->failed) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for a header");
    zf_text_free(&w.names);
    zf_provider_free(provider);
    *stats = w.stats;
    return status;
}
