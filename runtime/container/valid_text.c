// Which texts can stand in a container. They come from files, and end up on terminals, in JSON and, names, in paths.
#include "runtime/base/text.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"

bool zf_identifier_valid(const char *name, size_t length) {
    if (length == 0 || length > ZF_IDENTIFIER_MOST || (name[0] >= '0' && name[0] <= '9')) return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

const char *zf_text_fault(const char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        size_t step = zf_utf8_length(text + i, length - i);
        unsigned char first = (unsigned char)text[i];
        if (step == 0) return "a text that is not UTF-8";
        if (first == 0) return "a text with a zero byte";
        // U+0080 to U+009F are controls, too: some terminals take U+009B for the start of a sequence.
        bool control = first < 0x20 ? first != '\n' && first != '\t' : first == 0x7f;
        if (control || (first == 0xc2 && (unsigned char)text[i + 1] < 0xa0)) return "a text with control characters";
        i += step;
    }
    return NULL;
}

bool zf_name_valid(const char *name, size_t length) {
    return length <= ZF_NAME_MOST && memchr(name, '\n', length) == NULL && memchr(name, '\t', length) == NULL &&
           zf_text_fault(name, length) == NULL;
}
