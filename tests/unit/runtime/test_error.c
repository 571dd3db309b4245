// Links: zipflow-runtime
// Errors as values: what is cut, what is made printable, what stays.
#include <string.h>

#include "runtime/base/error.h"
#include "tests/unit/check.h"

int main(void) {
    zf_error error;
    memset(&error, 0xff, sizeof error);
    CHECK(zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "one %d", 2) == ZF_ERR_INPUT, "the status");
    CHECK(strcmp(error.message, "one 2") == 0 && error.place[0] == 0 && error.hint[0] == 0, "%s %s", error.message, error.place);
    CHECK(strcmp(error.code, "ZF1901") == 0, "%s", error.code);
    CHECK(zf_fail(NULL, ZF_ERR_IO, "ZF1901", "nobody asks") == ZF_ERR_IO, "without a place for it");

    // Bytes that drive a terminal, from a file: none gets through.
    zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "column `%s`",
            "a\x1b[31m\nb\x7f\xc2\x9b"
            "1m");
    CHECK(strcmp(error.message, "column `a?[31m?b???1m`") == 0, "%s", error.message);
    zf_fail_place(&error, ZF_ERR_INPUT, "%s:1", "\r.zf");
    zf_fail_hint(&error, ZF_ERR_INPUT, "%s", "\t");
    CHECK(strcmp(error.place, "?.zf:1") == 0 && strcmp(error.hint, "?") == 0, "%s %s", error.place, error.hint);
    zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "%s", "größer \xe2\x82\xac \xc2\xa0");
    CHECK(strcmp(error.message, "größer \xe2\x82\xac \xc2\xa0") == 0, "%s", error.message);

    // Marks that do not show, or turn around what stands beside them: each byte is a `?`. Their neighbours stay.
    static const char *const marks[] = {"\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae",
                                        "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf"},
                             *const others[] = {"\xe2\x80\x8a", "\xe2\x80\x90", "\xe2\x80\xaf", "\xe2\x81\xa5",
                                                "\xe2\x81\xaa", "\xef\xbb\xbe", "\xe2\x80",     "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "a%s%sz", marks[i], marks[i]);
        CHECK(strcmp(error.message, "a??????z") == 0, "mark %zu: %s", i, error.message);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "%s", others[i]);
        CHECK(strcmp(error.message, others[i]) == 0, "character %zu: %s", i, error.message);
    }

    // Cut where a character ends.
    char text[2 * sizeof error.message];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    memcpy(text + sizeof error.message - 3, "\xe2\x82\xac", 3);
    zf_fail(&error, ZF_ERR_INPUT, "ZF1901", "%s", text);
    CHECK(strlen(error.message) == sizeof error.message - 3, "%zu bytes are left", strlen(error.message));
    return check_result();
}
