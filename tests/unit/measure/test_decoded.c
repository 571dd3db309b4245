// Links: zipflow-measure
// Memory for a decoded column: an error names the part for which there is none.
#include "measure/measure_decoded.h"

#include <stdint.h>
#include <string.h>

#include "tests/unit/check.h"

static const size_t far_too_much = SIZE_MAX / 4;

int main(void) {
    static const struct {
        zf_decode_sizes sizes;
        const char *says;
    } rows[] = {
        {{.values = far_too_much, .workspace = 64, .offsets = 16, .validity = 1}, "column `c`: values of "},
        {{.values = 16, .workspace = far_too_much, .offsets = 16, .validity = 1}, "column `c`: a workspace of "},
        {{.values = 16, .workspace = 64, .offsets = far_too_much, .validity = 1}, "column `c`: offsets of "},
        {{.values = 16, .workspace = 64, .offsets = 16, .validity = far_too_much}, "column `c`: validity of "},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        zf_decoded column = {.info = {.name = "c", .type = {.element = ZF_STRING, .nullable = true}}, .sizes = rows[k].sizes};
        zf_error error = {0};
        zf_status status = zf_decoded_allocate(&column, &error);
        CHECK(status == ZF_ERR_MEMORY && strstr(error.message, rows[k].says) != NULL, "%d: %s", status, error.message);
        CHECK(strstr(error.message, " of 4611686018427387903 bytes") != NULL, "%s", error.message);
        zf_decoded_free(&column);
    }
    return check_result();
}
