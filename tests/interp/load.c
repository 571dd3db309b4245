#include "tests/interp/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static zf_spec *finish(zf_spec *spec, bool added) {
    if (spec && added && zf_spec_check(spec)) return spec;
    if (!spec) return NULL;
    zf_text text = {0};
    zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &text);
    printf("%s", text.data ? text.data : "");
    zf_text_free(&text);
    zf_spec_destroy(spec);
    return NULL;
}

static zf_spec *create(void) {
    zf_spec_options options = {0};
#ifdef ZF_SOURCE_DIR
    options.std_dir = ZF_SOURCE_DIR "/dsl/std";
#endif
    return zf_spec_create(&options);
}

zf_spec *load_file(const char *path) {
    zf_spec *spec = create();
    return finish(spec, spec && zf_spec_add_file(spec, path));
}

zf_spec *load_text(const char *name, const char *text) {
    zf_spec *spec = create();
    return finish(spec, spec && zf_spec_add_text(spec, name, text, strlen(text)));
}

void *load_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *bytes = NULL;
    size_t capacity = 0;
    *size = 0;
    for (size_t got = 1; got > 0; *size += got) {
        if (*size + 65536 > capacity) {
            capacity = 2 * capacity + 65536;
            char *more = realloc(bytes, capacity);
            if (!more) {
                free(bytes);
                fclose(file);
                return NULL;
            }
            bytes = more;
        }
        got = fread(bytes + *size, 1, 65536, file);
    }
    fclose(file);
    return bytes;
}
