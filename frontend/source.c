// Lines and columns of a place. Computed only when a place is shown: a scan from the start is fast enough.
#include "frontend/source.h"

#include <string.h>

zf_position zf_source_position(const zf_source *source, uint32_t offset) {
    zf_position position = {1, 1};
    if (!source || !source->text) return position;
    size_t end = offset < source->length ? offset : source->length;
    size_t line_start = 0;
    while (line_start < end) {
        const char *newline = memchr(source->text + line_start, '\n', end - line_start);
        if (!newline) break;
        line_start = (size_t)(newline - source->text) + 1;
        position.line++;
    }
    position.column = (uint32_t)(end - line_start) + 1;
    return position;
}
