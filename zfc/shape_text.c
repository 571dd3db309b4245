#include "zfc/shape_text.h"

#include <string.h>

// "bitpack" of "bitpack<u32, u32>".
static void put_algorithm(const char *algorithm, zf_text *out) { zf_text_add(out, algorithm, strcspn(algorithm, "<")); }

// Levels below the column: "" is 0, "counts.packed" 2.
static uint32_t depth_of(const char *path) {
    uint32_t depth = *path != 0;
    for (; *path; path++) depth += *path == '.';
    return depth;
}

void zf_print_shape(const zf_shape *shape, zf_text *out) {
    uint32_t open = 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) { // in pre-order: a node's streams follow it
        const zf_shape_edge *edge = &shape->edges[e];
        if (edge->algorithm[0] == 0) {
            if (e == 0) zf_text_puts(out, "plain");
            continue;
        }
        uint32_t depth = depth_of(edge->path);
        if (depth > open) { // a file may say more than one level deeper, and is shown no less
            zf_text_puts(out, "(");
            open++;
        } else if (e > 0) {
            for (; open > depth; open--) zf_text_puts(out, ")");
            zf_text_puts(out, ", ");
        }
        const char *dot = strrchr(edge->path, '.');
        if (e > 0) zf_text_printf(out, "%s: ", dot ? dot + 1 : edge->path);
        put_algorithm(edge->algorithm, out);
    }
    for (; open > 0; open--) zf_text_puts(out, ")");
}
