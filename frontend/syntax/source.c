// Lines and columns of a place. Computed only when a place is shown, from the last mark before it.
#include "frontend/syntax/source.h"

#include <string.h>

/// From a mark on, which lies at or before `end`.
static zf_line_mark advance(const zf_source *source, zf_line_mark mark, size_t from, size_t end) {
    while (from < end) {
        const char *newline = memchr(source->text + from, '\n', end - from);
        if (!newline) break;
        from = (size_t)(newline - source->text) + 1;
        mark = (zf_line_mark){mark.line + 1, (uint32_t)from};
    }
    return mark;
}

size_t zf_line_mark_count(size_t length) { return length / ZF_LINE_MARK_STEP + 1; }

void zf_line_marks_fill(const zf_source *source, zf_line_mark *marks) {
    marks[0] = (zf_line_mark){1, 0};
    for (size_t k = 1; k < zf_line_mark_count(source->length); k++) {
        marks[k] = advance(source, marks[k - 1], (k - 1) * ZF_LINE_MARK_STEP, k * ZF_LINE_MARK_STEP);
    }
}

zf_position zf_source_position(const zf_source *source, uint32_t offset) {
    if (!source || !source->text) return (zf_position){1, 1};
    size_t end = offset < source->length ? offset : source->length;
    size_t from = source->marks ? end / ZF_LINE_MARK_STEP * ZF_LINE_MARK_STEP : 0;
    zf_line_mark mark = source->marks ? source->marks[end / ZF_LINE_MARK_STEP] : (zf_line_mark){1, 0};
    mark = advance(source, mark, from, end);
    return (zf_position){mark.line, (uint32_t)(end - mark.begin) + 1};
}
