// Links: zipflow-frontend
// Whatever nests too deep is told once: what stands in its place in the tree means nothing, so nothing is said about it. Each
// shape is tried with as many levels as reach the limit, a few fewer and a few more, since it is the node at the limit that is
// cut.
#include <string.h>

#include "frontend/spec/spec.h"
#include "frontend/syntax/ast.h"
#include "tests/unit/check.h"

/// `open` and `close` are repeated around `core`; each pair may add more than one level.
static const struct {
    const char *head, *open, *core, *close, *tail;
} shapes[] = {
    // expressions: a value, an operand, an index, a condition, an argument, a place, an array, a sequence
    {"decode(i) = ", "(", "s[i]", ")", ";"},
    {"decode(i) = 1 + ", "(", "s[i]", ")", ";"},
    {"decode(i) = s[i] + ", "-", "s[i]", "", " + 1;"},
    {"decode(i) = ", "s[", "i", "]", ";"},
    {"decode(i) = ", "(1 + ", "s[i]", ")", " * 2;"},
    {"decode(i) { let a = ", "(", "s[i]", ")", "; return a + 1; }"},
    {"decode(i) { let a = ", "(1 + ", "s[i]", ")", "; return s[a]; }"},
    {"decode(i) { let a: u32 = ", "(1 + ", "s[i]", ")", "; return a; }"},
    {"decode(i) { if ", "!", "(s[i] > 1)", "", " { return 1; } return 2; }"},
    {"decode(i) { require ", "!", "(s[i] > 1)", "", "; return 2; }"},
    {"fn f(v: u32) -> u32 = v; decode(i) = f(", "(", "s[i]", ")", ");"},
    {"fn f(v: u32) -> u32 = ", "(", "v", ")", "; decode(i) = f(s[i]) + 1;"},
    {"fn f(v: u32) = ", "(", "v", ")", "; decode(i) = f(s[i]) + 1;"},
    {"decode(i) = (", "(", "s", ")", ")[i];"},
    {"decode(i) = (", "(", "s", ")", ").len as u32;"},
    {"decode(i) = sum(k in 0..", "(", "3", ")", ": s[k]);"},
    {"decode(i) = sum(k in 0..3: ", "(", "s[k]", ")", ");"},
    {"decode(i) = ", "min(1, ", "s[i]", ")", ";"},
    {"decode(i) = s[i] > 0 ? ", "(", "s[i]", ")", " : 2;"},
    {"decode(i) = s[i] as ", "unsigned(", "u32", ")", ";"},
    // statements
    {"decode(i) { ", "if s[i] > 0 { ", "return 1;", " }", " return 2; }"},
    {"decode(i) { ", "if s[i] > 0 { ", "return 1;", " } else { return 3; }", " }"},
    {"decode(i) { var t: u32 = 0; ", "for k in 0..1 { ", "t += 1;", " }", " return t; }"},
    {"decode(i) { var a: u32[4]; ", "for k in 0..1 { ", "a[k] = 1;", " }", " return a[0]; }"},
    {"decode(i) { var t: u32 = 0; ", "for k in 0..1 { ", "break;", " }", " return t; }"},
    {"decode(i) { var a: u32[4]; a[", "(", "0", ")", "] = 1; return a[0]; }"},
    {"decode(i) { var t: u32 = 0; t += ", "(", "1", ")", "; return t; }"},
};

static void check_shape(size_t shape, unsigned levels, bool *deep) {
    zf_text text = {0}, out = {0};
    zf_text_printf(&text, "algorithm a(s: u32[]) -> u32[] fully_parallel { %s", shapes[shape].head);
    for (unsigned k = 0; k < levels; k++) zf_text_puts(&text, shapes[shape].open);
    zf_text_puts(&text, shapes[shape].core);
    for (unsigned k = 0; k < levels; k++) zf_text_puts(&text, shapes[shape].close);
    zf_text_printf(&text, "%s encode(x) { s.append(x); } }\ntable t { c: u32 = a; }\n", shapes[shape].tail);
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    zf_spec_add_text(spec, "t.zf", text.data, text.length);
    zf_spec_check(spec);
    const zf_diags *diags = zf_spec_diags(spec);
    const zf_diag *first = zf_diags_first_error(diags);
    if (first != NULL && first->code == ZF_D_TOO_DEEP) {
        *deep = true;
        zf_diags_render(diags, ZF_DIAG_LINE, false, &out);
        CHECK(diags->errors == 1, "shape %zu, %u levels:\n%s", shape, levels, out.data == NULL ? "" : out.data);
    }
    zf_spec_destroy(spec);
    zf_text_free(&text);
    zf_text_free(&out);
}

int main(void) {
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        bool deep = false;
        for (unsigned part = 1; part <= 3; part++) { // a pair adds one, two or three levels
            unsigned middle = (unsigned)ZF_AST_DEPTH_LIMIT / part;
            for (unsigned levels = middle - 8; levels <= middle + 3; levels++) check_shape(shape, levels, &deep);
        }
        CHECK(deep, "shape %zu never is too deep", shape);
    }
    return check_result();
}
