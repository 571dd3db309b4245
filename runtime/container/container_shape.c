// Shapes: whether one is possible, and whether two are the same.
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"

/// The fault of the fields of an uneven directory, or NULL: the outputs' begins, and two fields for each stream.
static const char *uneven_fault(const zf_shape_tree *tree) {
    if (tree->directory != ZF_DIRECTORY_UNEVEN) return NULL;
    if (tree->field_count % 2 != 1 || tree->fields[0].edge != tree->edge) return "an uneven chunk directory without its outputs";
    for (uint32_t f = 1; f < tree->field_count; f += 2) {
        if (tree->fields[f].edge != tree->fields[f + 1].edge) return "an uneven chunk directory without a stream's lengths";
    }
    return NULL;
}

const char *zf_shape_fault(const zf_shape *shape) {
    if (shape->param_count > ZF_SHAPE_PARTS_MOST || shape->edge_count > ZF_SHAPE_PARTS_MOST ||
        shape->stored_count > ZF_SHAPE_PARTS_MOST || shape->tree_count > ZF_SHAPE_PARTS_MOST ||
        shape->branch_count > ZF_SHAPE_PARTS_MOST) {
        return "more parts than a shape may have";
    }
    if (shape->edge_count == 0) return "no edge";
    uint32_t stored = 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const zf_shape_edge *edge = &shape->edges[e];
        if ((unsigned)edge->type >= ZF_ELEMENT_COUNT) return "an edge of an unknown type";
        if (edge->stored == -1) continue;
        if (edge->stored < 0 || (uint32_t)edge->stored != stored) return "stored streams that are not numbered in order";
        if (zf_element_bits(edge->type) == 0 || edge->nullable) return "a stored stream without a fixed size of element";
        stored++;
    }
    if (stored != shape->stored_count) return "another number of stored streams than it says";
    for (uint32_t p = 0; p < shape->param_count; p++) {
        if (zf_element_bits(shape->params[p].type) == 0) return "a param of an unknown type";
    }
    uint64_t fields = 0;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        if (tree->edge >= shape->edge_count) return "a seek tree on an edge that does not exist";
        fields += tree->field_count;
        if (fields > ZF_SHAPE_PARTS_MOST) return "more seek fields than a shape may have";
        const char *fault = uneven_fault(tree);
        if (fault != NULL) return fault;
        for (uint32_t f = 0; f < tree->field_count; f++) {
            uint32_t bytes = tree->fields[f].bytes;
            if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return "a seek field of an impossible width";
            if (tree->directory && tree->fields[f].edge >= shape->edge_count) return "a chunk directory of no stream";
        }
    }
    return NULL;
}

static bool same_edge(const zf_shape_edge *a, const zf_shape_edge *b) {
    return a->type == b->type && a->nullable == b->nullable && a->stored == b->stored && strcmp(a->path, b->path) == 0;
}

static bool same_tree(const zf_shape_tree *a, const zf_shape_tree *b) {
    if (a->edge != b->edge || a->field_count != b->field_count || a->directory != b->directory) return false;
    if (a->directory && a->interval != b->interval && a->interval != 0 && b->interval != 0) return false; // 0: no block has it
    for (uint32_t f = 0; f < a->field_count; f++) {
        if (a->fields[f].bytes != b->fields[f].bytes) return false;
        if (a->directory && a->fields[f].edge != b->fields[f].edge) return false;
    }
    return true;
}

uint32_t zf_shape_interval(const zf_shape *shape) {
    for (uint32_t t = 0; t < shape->tree_count; t++)
        if (!shape->trees[t].directory) return shape->trees[t].interval;
    return 0;
}

bool zf_text_bytes_fit(const zf_shape *shape, const uint64_t *counts, uint64_t rows, uint64_t plain_bytes) {
    if (shape->edges[0].type != ZF_STRING) return true;
    uint64_t validity = shape->edges[0].nullable ? rows / 8 + (rows % 8 != 0) : 0, longest = ZF_CONSTANT_MOST, most;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (shape->edges[e].type == ZF_U8 && counts[e] > longest) longest = counts[e];
    }
    if (plain_bytes < validity) return false;
    plain_bytes -= validity;
    return plain_bytes <= ZF_TEXT_BYTES_MOST && (__builtin_mul_overflow(rows, longest, &most) || plain_bytes <= most);
}

bool zf_shape_has_branches(const zf_shape *shape, const uint8_t *branches, size_t count) {
    return shape->branch_count == count && (count == 0 || memcmp(shape->branches, branches, count) == 0);
}

bool zf_branches_exist(const uint8_t *branches, size_t count, const uint8_t *alternatives, size_t choice_count) {
    bool exist = count == choice_count;
    for (size_t c = 0; c < count && exist; c++) exist = branches[c] < alternatives[c];
    return exist;
}

/// The first chunk directory from tree `t` on, or the number of trees.
static uint32_t next_directory(const zf_shape *shape, uint32_t t) {
    while (t < shape->tree_count && !shape->trees[t].directory) t++;
    return t;
}

static bool same_directories(const zf_shape *a, const zf_shape *b) {
    uint32_t t = next_directory(a, 0), u = next_directory(b, 0);
    while (t < a->tree_count && u < b->tree_count) {
        if (!same_tree(&a->trees[t], &b->trees[u])) return false;
        t = next_directory(a, t + 1);
        u = next_directory(b, u + 1);
    }
    return t == a->tree_count && u == b->tree_count;
}

bool zf_shape_same_codec(const zf_shape *a, const zf_shape *b) {
    if (a->param_count != b->param_count || a->edge_count != b->edge_count || a->stored_count != b->stored_count) return false;
    if (!zf_shape_has_branches(a, b->branches, b->branch_count)) return false;
    for (uint32_t p = 0; p < a->param_count; p++) {
        if (a->params[p].type != b->params[p].type || strcmp(a->params[p].path, b->params[p].path) != 0) return false;
    }
    for (uint32_t e = 0; e < a->edge_count; e++) {
        if (!same_edge(&a->edges[e], &b->edges[e])) return false;
    }
    return same_directories(a, b);
}

bool zf_shape_matches(const zf_shape *a, const zf_shape *b) {
    if (a->tree_count != b->tree_count || !zf_shape_same_codec(a, b)) return false;
    for (uint32_t t = 0; t < a->tree_count; t++) {
        if (!same_tree(&a->trees[t], &b->trees[t])) return false;
    }
    return true;
}
