// From a function in PTX, as LLVM's back end prints it, to the text of an asm statement of CUDA C++. The function takes and gives
// nothing but what moves between its registers and the names `ZF_IN_k` and `ZF_OUT_k`.
//
// In the statement `%` begins an operand, so that of a register is doubled. Braces make registers and labels the statement's own:
// a kernel may have it many times. Registers get other names than compilers give theirs, which operands stand for within the
// braces: a register of the same name would hide them. A return becomes a branch to the end.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_tile.h"
#include "runtime/base/error_codes.h"

static const char input_name[] = "ZF_IN_", output_name[] = "ZF_OUT_", end_label[] = "ZF_END";

static const uint32_t NOT_READ = UINT32_MAX;

typedef struct rewriting {
    uint32_t outputs, inputs;
    uint32_t *operands; ///< of the inputs; NOT_READ: it is none
    bool leaves;        ///< a branch leads to the end
    zf_text *out;
} rewriting;

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// The length of the name at `at`; 0: none begins here.
static size_t name_at(const char *at) {
    size_t length = 0;
    while (is_name(at[length])) length++;
    return length;
}

static size_t line_at(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? (size_t)(end - at) : (size_t)(newline - at);
}

// ---- Finding the function -------------------------------------------------------------------------------------------

// The text between its braces, which stand at the beginning of lines.
static bool find_body(const char *ptx, const char *name, const char **begin, const char **end) {
    size_t length = strlen(name);
    for (const char *at = strstr(ptx, ".func"); at != NULL; at = strstr(at + 1, ".func")) {
        const char *word = at + strlen(".func");
        while (*word == ' ' || *word == '\t') word++;
        if (strncmp(word, name, length) != 0 || is_name(word[length])) continue;
        const char *open = strstr(word, "\n{\n"), *close = open != NULL ? strstr(open, "\n}") : NULL;
        const char *declared = strchr(word, ';'); // a declaration has no body
        if (close == NULL || (declared != NULL && declared < open)) continue;
        *begin = open + 3;
        *end = close + 1;
        return true;
    }
    return false;
}

// The reason why a line cannot stand in a statement: a call, or memory of its own or of the module. NULL: it can.
static const char *obstacle_in(const char *line, size_t length) {
    static const struct {
        const char *text, *why;
    } obstacles[] = {{"call", "it calls a function"},
                     {".local", "it keeps an array in memory"},
                     {".param", "it passes values through memory"},
                     {"brx.idx", "it has a table of branches"}};
    for (size_t k = 0; k < sizeof obstacles / sizeof *obstacles; k++) {
        size_t size = strlen(obstacles[k].text);
        for (size_t at = 0; at + size <= length; at++)
            if (memcmp(line + at, obstacles[k].text, size) == 0 &&
                (at == 0 || *obstacles[k].text == '.' || !is_name(line[at - 1])))
                return obstacles[k].why;
    }
    return NULL;
}

// ---- Operands -------------------------------------------------------------------------------------------------------

// The number behind `prefix` in a name, if the name is of this kind.
static bool number_of(const char *at, size_t length, const char *prefix, uint32_t *out) {
    size_t size = strlen(prefix);
    if (length <= size || memcmp(at, prefix, size) != 0) return false;
    *out = 0;
    for (size_t k = size; k < length; k++) *out = *out * 10 + (uint32_t)(at[k] - '0');
    return true;
}

static size_t count_name(const char *begin, const char *end, const char *name, size_t length) {
    size_t count = 0;
    for (const char *at = begin; at + length <= end; at++)
        if (memcmp(at, name, length) == 0 && !is_name(at[length])) count++;
    return count;
}

// Whether anything reads the register that a move of an input writes.
static bool is_read(const char *begin, const char *end, const char *line, size_t length) {
    const char *name = memchr(line, '%', length);
    return name == NULL || count_name(begin, end, name, 1 + name_at(name + 1)) > 1;
}

static bool number_inputs(rewriting *r, const char *begin, const char *end) {
    for (const char *line = begin, *next; line < end; line = next) {
        size_t length = line_at(line, end);
        next = line + length + 1;
        for (size_t at = 0; at < length; at++) {
            uint32_t input;
            size_t name = at == 0 || !is_name(line[at - 1]) ? name_at(line + at) : 0;
            if (!number_of(line + at, name, input_name, &input)) continue;
            if (input >= r->inputs) return false;
            if (is_read(begin, end, line, length)) r->operands[input] = 0;
        }
    }
    uint32_t operand = r->outputs;
    for (uint32_t k = 0; k < r->inputs; k++)
        if (r->operands[k] != NOT_READ) r->operands[k] = operand++;
    return true;
}

// ---- Lines ----------------------------------------------------------------------------------------------------------

static bool add_name(rewriting *r, const char *at, size_t length) {
    uint32_t number;
    if (number_of(at, length, input_name, &number)) {
        zf_text_printf(r->out, "%%%u", r->operands[number]);
    } else if (number_of(at, length, output_name, &number)) {
        if (number >= r->outputs) return false;
        zf_text_printf(r->out, "%%%u", number);
    } else {
        for (size_t k = 0; k < length; k++)
            if (at[k] != '$') zf_text_add(r->out, at + k, 1); // of labels
    }
    return true;
}

// Whether a line moves an input that nothing reads.
static bool is_dropped(const rewriting *r, const char *line, size_t length) {
    for (size_t at = 0; at < length; at++) {
        uint32_t input;
        size_t name = at == 0 || !is_name(line[at - 1]) ? name_at(line + at) : 0;
        if (number_of(line + at, name, input_name, &input) && r->operands[input] == NOT_READ) return true;
    }
    return false;
}

// Whether a name behind `%` is of a register: `r12`, or `r<13>` where it is declared. Others are the machine's: `tid.x`.
static bool is_register(const char *at) {
    size_t letters = 0;
    while (at[letters] >= 'a' && at[letters] <= 'z') letters++;
    return letters > 0 && ((at[letters] >= '0' && at[letters] <= '9') || at[letters] == '<');
}

static bool add_words(rewriting *r, const char *line, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t name = name_at(line + at);
        if (name > length - at) name = length - at;
        if (name > 0 && !add_name(r, line + at, name)) return false;
        if (name == 0 && line[at] == '%')
            zf_text_puts(r->out, is_register(line + at + 1) ? "%%zf_" : "%%");
        else if (name == 0)
            zf_text_add(r->out, line[at] == '\t' ? " " : line + at, 1);
        at += name > 0 ? name : 1;
    }
    return true;
}

// Tables of constants, which the module declares before its functions, each in a line. Those that the function names become its
// own.
static bool add_tables(rewriting *r, const char *ptx, const char *begin, const char *end) {
    static const char declares[] = ".global";
    for (const char *line = ptx; line < begin; line += line_at(line, begin) + 1) {
        size_t length = line_at(line, begin);
        if (length < sizeof declares || memcmp(line, declares, sizeof declares - 1) != 0) continue;
        const char *bracket = memchr(line, '[', length), *name = bracket;
        while (name != NULL && name > line && is_name(name[-1])) name--;
        if (name == NULL || count_name(begin, end, name, (size_t)(bracket - name)) == 0) continue;
        if (!add_words(r, line, length)) return false;
        zf_text_puts(r->out, "\n");
    }
    return true;
}

static bool add_line(rewriting *r, const char *line, size_t length) {
    static const char leave[] = "ret;";
    size_t size = sizeof leave - 1;
    if (is_dropped(r, line, length)) return true;
    bool leaves =
        length >= size && memcmp(line + length - size, leave, size) == 0 && (length == size || !is_name(line[length - size - 1]));
    if (!add_words(r, line, leaves ? length - size : length)) return false;
    if (leaves) zf_text_printf(r->out, "bra %s;", end_label);
    zf_text_puts(r->out, "\n");
    r->leaves = r->leaves || leaves;
    return true;
}

// A line without its comment and the space around.
static size_t trim(const char **line, size_t length) {
    for (size_t at = 0; at + 1 < length; at++)
        if ((*line)[at] == '/' && (*line)[at + 1] == '/') length = at;
    while (length > 0 && ((*line)[length - 1] == ' ' || (*line)[length - 1] == '\t')) length--;
    while (length > 0 && (**line == ' ' || **line == '\t')) (*line)++, length--;
    return length;
}

static zf_status rewrite(rewriting *r, const char *ptx, const char *name, const char *begin, const char *end, zf_error *error) {
    zf_text_puts(r->out, "{\n");
    if (!add_tables(r, ptx, begin, end)) return zf_raise(error, ZF_E_INTERNAL, "`%s` has a table that cannot be read", name);
    for (const char *at = begin; at < end;) {
        const char *line = at;
        size_t length = line_at(at, end);
        at += length + 1;
        length = trim(&line, length);
        if (length == 0 || (length > 4 && memcmp(line, ".loc", 4) == 0 && line[4] != 'a')) continue;
        const char *why = obstacle_in(line, length);
        if (why != NULL) return zf_raise(error, ZF_E_NO_TILES, "its code cannot be inline assembly: %s", why);
        if (!add_line(r, line, length))
            return zf_raise(error, ZF_E_INTERNAL, "`%s` names an operand that it does not have", name);
    }
    if (r->leaves) zf_text_printf(r->out, "%s:\n", end_label);
    zf_text_puts(r->out, "}");
    return ZF_OK;
}

zf_status zf_tile_asm(const char *ptx, const char *name, uint32_t outputs, uint32_t inputs, bool *used, zf_text *out,
                      zf_error *error) {
    const char *begin, *end;
    rewriting r = {.outputs = outputs, .inputs = inputs, .out = out};
    if (!find_body(ptx, name, &begin, &end)) return zf_raise(error, ZF_E_INTERNAL, "the code has no function `%s`", name);
    r.operands = malloc((inputs + 1) * sizeof *r.operands);
    if (r.operands == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the code of `%s`", name);
    for (uint32_t k = 0; k < inputs; k++) r.operands[k] = NOT_READ;
    zf_status status = number_inputs(&r, begin, end)
                           ? rewrite(&r, ptx, name, begin, end, error)
                           : zf_raise(error, ZF_E_INTERNAL, "`%s` names an operand that it does not have", name);
    for (uint32_t k = 0; k < inputs && used != NULL; k++) used[k] = r.operands[k] != NOT_READ;
    free(r.operands);
    if (status == ZF_OK && out->failed) status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for the code of `%s`", name);
    return status;
}
