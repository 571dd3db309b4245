#include "zfc/verbs/inspect_programs.h"

#include <stdio.h>
#include <string.h>

#include "compiler/container_spec.h"
#include "compiler/known/known.h"
#include "runtime/base/error.h"

zf_status zf_file_programs_read(const zf_container *container, zf_file_programs *out, zf_error *error) {
    *out = (zf_file_programs){0};
    size_t length;
    const zf_table *table;
    const char *text = zf_container_unit(container, &length);
    zf_status status = zf_container_spec_read(text, length, zf_container_path(container), zf_container_table(container), NULL,
                                              &out->spec, &table, &out->declared, error);
    if (status == ZF_OK) return zf_known_check(container, &out->declared, error);
    zf_file_programs_free(out);
    return status;
}

void zf_file_programs_free(zf_file_programs *programs) {
    if (programs->spec != NULL) zf_spec_destroy(programs->spec);
    *programs = (zf_file_programs){0};
}

static const char *identity_text(const zf_declaration *of, char *out) {
    for (size_t k = 0; k < sizeof of->identity; k++) snprintf(out + 2 * k, 3, "%02x", of->identity[k]);
    return out;
}

void zf_print_programs(const zf_file_programs *programs, bool all) {
    if (programs->spec == NULL) return;
    const zf_declarations *list = &programs->declared;
    uint32_t known = 0;
    for (uint32_t k = 0; k < list->count; k++) known += zf_known_find(list->items[k].identity) != NULL;
    printf("programs: %u, of which %u are the library's\n", list->count, known);
    for (uint32_t k = 0; k < list->count; k++) {
        const zf_declaration *item = &list->items[k];
        const zf_known_program *found = zf_known_find(item->identity);
        char text[2 * sizeof item->identity + 1];
        if (found == NULL)
            printf("  %s %s is not the library's\n", item->kind, item->name);
        else if (all && strcmp(found->name, item->name) != 0)
            printf("  %s %s is the library's %s%s\n", item->kind, item->name, found->earlier ? "earlier " : "", found->name);
        else if (all)
            printf("  %s %s is the library's%s\n", item->kind, item->name, found->earlier ? ", of an earlier release" : "");
        if (all) printf("    %s\n", identity_text(item, text));
    }
}

json_t *zf_programs_json(const zf_file_programs *programs) {
    if (programs->spec == NULL) return json_null();
    json_t *list = json_array();
    for (uint32_t k = 0; k < programs->declared.count; k++) {
        const zf_declaration *item = &programs->declared.items[k];
        const zf_known_program *found = zf_known_find(item->identity);
        char text[2 * sizeof item->identity + 1];
        json_t *entry =
            json_pack("{s:s, s:s, s:s, s:s?, s:b}", "name", item->name, "kind", item->kind, "identity", identity_text(item, text),
                      "library", found != NULL ? found->name : NULL, "earlier", (int)(found != NULL && found->earlier));
        if (json_array_append_new(list, entry) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}
