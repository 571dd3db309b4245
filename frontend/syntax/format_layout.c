#include "frontend/syntax/format_layout.h"

#include <string.h>

// ---- Documents ------------------------------------------------------------------------------------------------

zf_doc *zf_doc_new(zf_arena *arena, zf_doc_kind kind) {
    zf_doc *doc = ZF_NEW(arena, zf_doc);
    doc->kind = kind;
    return doc;
}

zf_doc *zf_doc_bytes(zf_arena *arena, const char *text, size_t length) {
    zf_doc *doc = zf_doc_new(arena, ZF_DOC_TEXT);
    doc->text = text;
    doc->length = length;
    return doc;
}

zf_doc *zf_doc_text(zf_arena *arena, const char *text) { return zf_doc_bytes(arena, text, strlen(text)); }

zf_doc *zf_doc_nest(zf_arena *arena, unsigned indent, zf_doc *child) {
    zf_doc *doc = zf_doc_new(arena, ZF_DOC_NEST);
    doc->indent = indent;
    doc->child = child;
    return doc;
}

zf_doc *zf_doc_group(zf_arena *arena, zf_doc *child) {
    zf_doc *doc = zf_doc_new(arena, ZF_DOC_GROUP);
    doc->child = child;
    return doc;
}

zf_doc *zf_doc_comment(zf_arena *arena, const char *text, size_t length, bool own_line) {
    zf_doc *doc = zf_doc_bytes(arena, text, length);
    doc->kind = ZF_DOC_COMMENT;
    doc->own_line = own_line;
    return doc;
}

void zf_doc_add(zf_doc *list, zf_doc *item) {
    if (!item) return;
    if (list->last)
        list->last->next = item;
    else
        list->child = item;
    list->last = item;
}

// Columns of a text: characters, not bytes.
static unsigned text_columns(const char *text, size_t length) {
    unsigned columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static void add_width(const zf_doc *doc, unsigned *width) {
    switch (doc->kind) {
    case ZF_DOC_TEXT: *width += text_columns(doc->text, doc->length); break;
    case ZF_DOC_LINE: *width += 1; break;
    case ZF_DOC_SOFT: break;
    case ZF_DOC_COMMENT: *width = ZF_FORMAT_COLUMNS + 1; break;
    case ZF_DOC_NEST:
    case ZF_DOC_GROUP: add_width(doc->child, width); break;
    case ZF_DOC_LIST:
        for (const zf_doc *item = doc->child; item && *width <= ZF_FORMAT_COLUMNS; item = item->next) add_width(item, width);
        break;
    }
}

unsigned zf_doc_width(const zf_doc *doc) {
    unsigned width = 0;
    add_width(doc, &width);
    return width;
}

// ---- Printing -------------------------------------------------------------------------------------------------

// A comment that follows code on its line.
typedef struct zf_line_comment {
    unsigned line, column; // of the code's end
    size_t at;             // offset of the space before the comment
    unsigned width;
    struct zf_line_comment *next;
} zf_line_comment;

void zf_layout_begin(zf_layout *layout, zf_arena *arena, zf_text *out) {
    *layout = (zf_layout){.arena = arena, .out = out, .empty = true};
    layout->last_comment = &layout->comments;
}

static void trim_spaces(zf_layout *layout) {
    zf_text *out = layout->out;
    while (out->length > 0 && out->data[out->length - 1] == ' ') {
        out->length--;
        layout->column--;
    }
    if (out->data) out->data[out->length] = 0;
}

static void new_line(zf_layout *layout) {
    if (layout->empty) return;
    trim_spaces(layout);
    zf_text_add(layout->out, "\n", 1);
    layout->column = 0;
    layout->line++;
    layout->line_ended = false;
}

void zf_layout_end_line(zf_layout *layout) {
    if (layout->column > 0 || layout->line_ended) new_line(layout);
}

void zf_layout_blank(zf_layout *layout) {
    if (layout->empty) return;
    zf_layout_end_line(layout);
    new_line(layout);
}

static void print_text(zf_layout *layout, unsigned indent, const char *text, size_t length) {
    if (layout->line_ended) new_line(layout);
    if (layout->column == 0) {
        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        if (length == 0) return;
        for (unsigned i = 0; i < indent; i++) zf_text_add(layout->out, " ", 1);
        layout->column = indent;
    }
    zf_text_add(layout->out, text, length);
    layout->column += text_columns(text, length);
    layout->empty = false;
}

static void print_comment(zf_layout *layout, unsigned indent, const zf_doc *doc) {
    if (layout->line_ended || (doc->own_line && layout->column > 0)) new_line(layout);
    if (layout->column > 0) {
        trim_spaces(layout);
        zf_line_comment *comment = ZF_NEW(layout->arena, zf_line_comment);
        *comment = (zf_line_comment){.line = layout->line,
                                     .column = layout->column,
                                     .at = layout->out->length,
                                     .width = text_columns(doc->text, doc->length)};
        *layout->last_comment = comment;
        layout->last_comment = &comment->next;
        zf_text_add(layout->out, " ", 1);
        zf_text_add(layout->out, doc->text, doc->length);
        layout->column = ZF_FORMAT_COLUMNS;
    } else {
        print_text(layout, indent, doc->text, doc->length);
    }
    layout->line_ended = true;
}

// The commands that are still to be printed: a stack, linked so that it needs no bound.
typedef struct command {
    const zf_doc *doc;
    unsigned indent;
    bool flat;
    struct command *below;
} command;

static command *push(zf_layout *layout, command *below, const zf_doc *doc, unsigned indent, bool flat) {
    command *top = ZF_NEW(layout->arena, command);
    *top = (command){.doc = doc, .indent = indent, .flat = flat, .below = below};
    return top;
}

// True when a document printed flat, and what follows it up to the next place where a line may end, fits in `left` columns.
// `following` is true once `doc` is passed and what stands below is looked at.
static bool fits(const zf_doc *doc, bool following, int *left, bool *ended) {
    switch (doc->kind) {
    case ZF_DOC_TEXT: *left -= (int)text_columns(doc->text, doc->length); break;
    case ZF_DOC_LINE:
    case ZF_DOC_SOFT:
        if (following)
            *ended = true;
        else
            *left -= doc->kind == ZF_DOC_LINE;
        break;
    case ZF_DOC_COMMENT:
        if (!following) return false;
        *ended = true;
        break;
    case ZF_DOC_NEST:
    case ZF_DOC_GROUP: return fits(doc->child, following, left, ended);
    case ZF_DOC_LIST:
        for (const zf_doc *item = doc->child; item && !*ended; item = item->next) {
            if (!fits(item, following, left, ended)) return false;
        }
        break;
    }
    return *left >= 0;
}

static bool group_fits(const zf_layout *layout, const zf_doc *group, unsigned indent, const command *below) {
    unsigned column = layout->line_ended || layout->column == 0 ? indent : layout->column;
    int left = ZF_FORMAT_COLUMNS - (int)column;
    bool ended = false;
    if (!fits(group->child, false, &left, &ended)) return false;
    for (; below && !ended; below = below->below) {
        if (!fits(below->doc, true, &left, &ended)) return false;
    }
    return true;
}

void zf_layout_print(zf_layout *layout, unsigned indent, zf_doc *doc) {
    if (!doc) return;
    command *top = push(layout, NULL, doc, indent, false);
    while (top) {
        command here = *top;
        top = here.below;
        switch (here.doc->kind) {
        case ZF_DOC_TEXT: print_text(layout, here.indent, here.doc->text, here.doc->length); break;
        case ZF_DOC_COMMENT: print_comment(layout, here.indent, here.doc); break;
        case ZF_DOC_LINE:
        case ZF_DOC_SOFT:
            if (!here.flat)
                zf_layout_end_line(layout);
            else if (here.doc->kind == ZF_DOC_LINE)
                print_text(layout, here.indent, " ", 1);
            break;
        case ZF_DOC_NEST: top = push(layout, top, here.doc->child, here.indent + here.doc->indent, here.flat); break;
        case ZF_DOC_GROUP:
            top = push(layout, top, here.doc->child, here.indent, here.flat || group_fits(layout, here.doc, here.indent, top));
            break;
        case ZF_DOC_LIST: {
            // Pushed in reverse so that the first is on top.
            command *bottom = top, **link = &top;
            for (const zf_doc *item = here.doc->child; item; item = item->next) {
                *link = push(layout, NULL, item, here.indent, here.flat);
                link = &(*link)->below;
            }
            *link = bottom;
            break;
        }
        }
    }
}

// ---- Comments at the ends of lines ----------------------------------------------------------------------------

void zf_layout_finish(zf_layout *layout, zf_text *out) {
    zf_layout_end_line(layout);
    size_t copied = 0;
    const zf_text *from = layout->out;
    for (zf_line_comment *run = layout->comments; run;) {
        unsigned column = 0, length = 0;
        zf_line_comment *end = run;
        for (unsigned line = run->line; end && end->line == line; line++) {
            bool opens = from->data[end->at - 1] == '{'; // the head of a block is no neighbour of what is in it
            if (opens && end != run) break;
            if (end->column > column) column = end->column;
            if (end->width > length) length = end->width;
            end = end->next;
            if (opens) break;
        }
        bool aligned = column + 1 + length <= ZF_FORMAT_COLUMNS;
        for (; run != end; run = run->next) {
            zf_text_add(out, from->data + copied, run->at - copied);
            copied = run->at;
            for (unsigned pad = run->column; aligned && pad < column; pad++) zf_text_add(out, " ", 1);
        }
    }
    if (from->data) zf_text_add(out, from->data + copied, from->length - copied);
    out->failed |= from->failed;
}
