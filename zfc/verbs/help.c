// Help, manual and completion, all from the table of verbs.
#include <string.h>

#include "runtime/base/cache_limit.h"
#include "zfc/report.h"

void zf_print_help(FILE *out) {
    fprintf(out, "zfc: compile, encode, decode and tune column codecs written in .zf\n\nusage: zfc VERB [OPTIONS] ...\n\n");
    for (size_t i = 0; i < zf_verb_count; i++) fprintf(out, "  %-11s %s\n", zf_verbs[i].name, zf_verbs[i].summary);
    fprintf(out, "\n  zfc VERB --help   the verb's options\n  zfc --version     versions of zfc, LLVM, language and files\n\n"
                 "Exit status: 0; 1 bad input; 2 bad usage; 3 no such device, or it failed.\n");
}

static void option_head(const zf_option *option, char out[64]) {
    char letter[5] = "    ";
    if (option->letter) {
        letter[0] = '-';
        letter[1] = option->letter;
        letter[2] = ',';
    }
    snprintf(out, 64, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? (option->choices ? option->choices : option->argument) : "");
}

// Prints words from column `indent` on, broken at `width`.
static void print_wrapped(FILE *out, const char *text, int indent, int width) {
    int at = indent;
    fprintf(out, "%*s", indent, "");
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > indent && at + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", length, text);
        at += length;
        text += length;
        while (*text == ' ') text++;
    }
    fputc('\n', out);
}

void zf_print_verb_help(const zf_verb *verb, FILE *out) {
    fprintf(out, "usage: zfc %s [OPTIONS]%s%s\n\n", verb->name, *verb->operands ? " " : "", verb->operands);
    print_wrapped(out, verb->text, 0, 100);
    fputc('\n', out);
    for (int i = 0; verb->options[i]; i++) {
        char head[64];
        option_head(verb->options[i], head);
        if (strlen(head) > 30)
            fprintf(out, "  %s\n%*s%s\n", head, 34, "", verb->options[i]->help);
        else
            fprintf(out, "  %-31s %s\n", head, verb->options[i]->help);
    }
    fprintf(out, "  %-31s %s\n", "    --help", "print this");
}

static const struct {
    const char *name, *meaning;
} variables[] = {
    {"ZIPFLOW_STD", "directory of the library `std.zf` (default: beside the program)"},
    {"ZIPFLOW_CACHE_DIR",
     "cache of compiled kernels and measured rates: an absolute path, or empty for none; ignored in setuid programs"},
    {"ZIPFLOW_CACHE_SIZE",
     "largest size of compiled kernels in the cache, such as `512M` (K, M and G are powers of 1024; default: `" ZF_CACHE_SIZE
     "`); the least "
     "recently used are evicted; ignored in setuid programs"},
    {"XDG_CACHE_HOME`, `HOME", "place of the cache without `ZIPFLOW_CACHE_DIR`, as above"},
    {"ZIPFLOW_OPTIMISE", "LLVM's optimisation level for kernels, 0 to 3 (default: 3), to look for faults of code generation"},
    {"ZIPFLOW_EMU_SEED", "order of threads on the emulated GPU: 0 (default) by number, other numbers shuffle"},
    {"ZIPFLOW_CUDA_LIBRARY", "library of the NVIDIA driver (default: `libcuda.so.1`); ignored in setuid programs"},
    {"CUDA_CACHE_PATH`, `CUDA_CACHE_DISABLE",
     "NVIDIA's: where the driver caches code compiled from PTX (default: `~/.nv/ComputeCache`); "
     "1 disables that cache, so every process waits for the driver's compiler"},
    {"TMPDIR", "directory for temporary files of `zfc bench --generate` and `zfc tune` (default: `/tmp`)"},
    {"NO_COLOR", "if not empty, errors on a terminal have no colours"},
};

void zf_print_manual(FILE *out) {
    fprintf(out, "# zfc\n\nFor users of the command line. After this page you know every verb, option and variable of `zfc`.\n"
                 "`zfc manual` prints this page; a test compares them.\n\n"
                 "Exit status: 0; 1 bad input; 2 bad usage; 3 no such device, or it failed. Errors go to standard error, "
                 "results to standard output.\n\n"
                 "The cache of compiled kernels and measured device rates is in `$ZIPFLOW_CACHE_DIR`, else "
                 "`$XDG_CACHE_HOME/zipflow`, else `~/.cache/zipflow`. Variables that are not absolute paths are ignored, and an "
                 "empty `$ZIPFLOW_CACHE_DIR` disables the cache.\nCode that a GPU's driver compiles from PTX is not in it: "
                 "the driver has its own cache, `$CUDA_CACHE_PATH`.\n");
    fprintf(out, "\nWith `--json` the report is one JSON text on standard output. After an error there is no report, except from "
                 "two verbs that go on.\n`verify` reports every column: a bad one has `\"good\": false` and its error; one that "
                 "could not be checked (a module without its code, no memory, a failed device) has `\"good\": null` and its "
                 "error.\n`bench` reports every column: one that failed has `\"verified\": false` and its error. It also reports "
                 "a file that is refused.\nBoth have no report when a name in `--columns` or the device is refused at the start; "
                 "`verify` has none when the file is refused.\nIn names of files, bytes that are not UTF-8 become U+FFFD.\n");
    fputs("\n## Environment\n\n| variable | meaning |\n|---|---|\n", out);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        fprintf(out, "| `%s` | %s |\n", variables[i].name, variables[i].meaning);
    for (size_t i = 0; i < zf_verb_count; i++) {
        const zf_verb *verb = &zf_verbs[i];
        fprintf(out, "\n## zfc %s%s%s\n\n%s\n", verb->name, *verb->operands ? " " : "", verb->operands, verb->text);
        if (!verb->options[0]) continue;
        fprintf(out, "\n| option | meaning |\n|---|---|\n");
        for (int k = 0; verb->options[k]; k++) {
            const zf_option *option = verb->options[k];
            fprintf(out, "| `");
            if (option->letter) fprintf(out, "-%c`, `", option->letter);
            fprintf(out, "--%s", option->name);
            const char *values = option->choices ? option->choices : option->argument;
            if (values) fputc(' ', out);
            for (const char *c = values ? values : ""; *c; c++) {
                if (*c == '|') fputc('\\', out); // a bar would end the table's cell
                fputc(*c, out);
            }
            fprintf(out, "` | %s |\n", option->help);
        }
    }
}

static void completion_words(FILE *out, const zf_verb *verb) {
    for (int k = 0; verb->options[k]; k++) fprintf(out, " --%s", verb->options[k]->name);
    fprintf(out, " --help");
}

bool zf_print_completion(const char *shell, FILE *out) {
    bool zsh = strcmp(shell, "zsh") == 0;
    if (!zsh && strcmp(shell, "bash") != 0) return false;
    if (zsh) fprintf(out, "autoload -U +X bashcompinit && bashcompinit\n");
    fprintf(out, "_zfc() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < zf_verb_count; i++) fprintf(out, "%s ", zf_verbs[i].name);
    fprintf(out, "--help --version\" -- \"$word\"))\n        return\n    fi\n    case \"${COMP_WORDS[1]} $before\" in\n");
    for (size_t i = 0; i < zf_verb_count; i++) {
        for (int k = 0; zf_verbs[i].options[k]; k++) {
            const zf_option *option = zf_verbs[i].options[k];
            if (!option->choices) continue;
            fprintf(out, "    '%s --%s') COMPREPLY=($(compgen -W \"", zf_verbs[i].name, option->name);
            for (const char *c = option->choices; *c; c++) fputc(*c == '|' ? ' ' : *c, out);
            fprintf(out, "\" -- \"$word\")); return ;;\n");
        }
    }
    fprintf(out, "    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < zf_verb_count; i++) {
        fprintf(out, "    %s) [[ $word = -* ]] && COMPREPLY=($(compgen -W \"", zf_verbs[i].name);
        completion_words(out, &zf_verbs[i]);
        fprintf(out, "\" -- \"$word\")) ;;\n");
    }
    fprintf(out, "    esac\n    [ ${#COMPREPLY[@]} = 0 ] && COMPREPLY=($(compgen -f -- \"$word\"))\n}\ncomplete -F _zfc zfc\n");
    return true;
}

int zf_run_manual(zf_arguments *arguments) {
    (void)arguments;
    zf_print_manual(stdout);
    return EXIT_GOOD;
}

int zf_run_completion(zf_arguments *arguments) {
    if (zf_print_completion(arguments->operands[0], stdout)) return EXIT_GOOD;
    return zf_report_usage("completion", "no completion for `%s`; there is bash and zsh", arguments->operands[0]);
}
