#include "compiler/container_spec.h"

#include <stdio.h>
#include <string.h>

#include "compiler/program.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"

typedef struct reading {
    zf_spec *spec;
    const char *path;
    const zf_text *text;
    zf_declarations *declared;
} reading;

static zf_status read_and_check(void *user, zf_error *error) {
    const reading *r = user;
    bool good = zf_spec_add_text(r->spec, r->path, r->text->length > 0 ? r->text->data : "", r->text->length);
    good = zf_spec_check(r->spec) && good;
    if (good && zf_text_declarations(r->spec, false, r->declared)) return ZF_OK;
    if (good) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container's codecs");
    zf_diag_status(zf_diags_first_error(zf_spec_diags(r->spec)), ZF_ERR_INPUT, error);
    return zf_fail_hint(error, ZF_ERR_INPUT, "the codecs that the file carries are damaged");
}

zf_status zf_container_spec_read(const char *text, size_t length, const char *path, const char *table_name, zf_passes *passes,
                                 zf_spec **spec, const zf_table **table, zf_declarations *declared, zf_error *error) {
    zf_spec_options options = {.no_std = true, .passes = passes};
    zf_text lines = {0};
    *table = NULL;
    *spec = zf_spec_create(&options);
    if (*spec == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container's codecs");
    unsigned pass = zf_pass_begin(passes, ZF_PASS_PARSE);
    zf_lay_out_text(text, length, &lines);
    zf_pass_end(passes, pass);
    zf_status status = lines.failed ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for a container's codecs")
                                    : zf_run_deep(read_and_check, &(reading){*spec, path, &lines, declared}, error);
    zf_text_free(&lines);
    if (status != ZF_OK) return status;
    *table = zf_spec_find_table(*spec, table_name);
    if (*table != NULL) return ZF_OK;
    zf_raise(error, ZF_E_INDEX_CONTENT, "the file's text has no table `%s`", table_name);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
}

void zf_container_spec_place(const zf_container *container, const char *name, zf_error *error) {
    size_t length = strlen(name);
    if (error == NULL || strncmp(error->place, name, length) != 0) return;
    if (error->place[length] != ':' && error->place[length] != 0) return;
    char rest[sizeof error->place];
    snprintf(rest, sizeof rest, "%s", error->place + length);
    zf_fail_place(error, error->status, "%s%s", zf_container_path(container), rest);
}

zf_column_type zf_column_type_of(zf_type type) {
    return (zf_column_type){.element = (zf_element)type.kind,
                            .logical = type.logical,
                            .precision = type.precision,
                            .scale = type.scale,
                            .nullable = type.nullable};
}
