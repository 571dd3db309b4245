// Help, manual and completion, all from the table of verbs.
#include <string.h>

#include "zfc/verbs/verbs.h"

void zf_print_help(FILE *out) {
    fprintf(out, "zfc: codecs for columns, as a small language says them\n\nusage: zfc VERB [OPTIONS] ...\n\n");
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
    {"ZIPFLOW_STD", "where the library `std.zf` lies (else beside the program)"},
    {"ZIPFLOW_CACHE_DIR",
     "the cache of compiled kernels and measured rates: an absolute path, or empty for none; ignored in setuid programs"},
    {"ZIPFLOW_CACHE_SIZE",
     "the most bytes of compiled kernels in it, such as `512M` (K, M and G are powers of 1024; else `1G`): the least recently "
     "used ones go first; ignored in setuid programs"},
    {"XDG_CACHE_HOME`, `HOME", "where that cache is without `ZIPFLOW_CACHE_DIR`, as said above"},
    {"ZIPFLOW_OPTIMISE", "LLVM's level for kernels, 0 to 3 (else 3): for those who look for faults of code generation"},
    {"ZIPFLOW_EMU_SEED", "the order of threads on the emulated GPU: 0 (as without it) by number, other numbers shuffle"},
    {"ZIPFLOW_CUDA_LIBRARY", "the NVIDIA driver's library (else `libcuda.so.1`); ignored in setuid programs"},
    {"CUDA_CACHE_PATH`, `CUDA_CACHE_DISABLE",
     "NVIDIA's: where the driver keeps what it makes of PTX (else `~/.nv/ComputeCache`); "
     "1 keeps nothing, so every process waits for the driver's compiler anew"},
    {"TMPDIR", "where `zfc bench --generate` writes its files (else `/tmp`)"},
    {"NO_COLOR", "not empty: errors on a terminal have no colours"},
};

void zf_print_manual(FILE *out) {
    fprintf(out, "# zfc\n\nThis page is what `zfc manual` prints; a test compares them.\n\n"
                 "Exit status: 0; 1 bad input; 2 bad usage; 3 no such device, or it failed. Errors go to standard error, "
                 "results to standard output.\nThe cache of compiled kernels, and of how fast devices were seen to be, is in "
                 "`$ZIPFLOW_CACHE_DIR`, else "
                 "`$XDG_CACHE_HOME/zipflow`, else `~/.cache/zipflow`; a variable that is no absolute path is ignored, and an "
                 "empty `$ZIPFLOW_CACHE_DIR` means no cache. What a GPU's driver makes of PTX is not in it: "
                 "the driver has a cache of its own, `$CUDA_CACHE_PATH`.\n");
    fprintf(out,
            "\nWith `--json` the report is one JSON text on standard output. After an error there is none, the error being on "
            "standard error, but of two verbs that go on after one: `verify` reports every column that it looked at, "
            "`\"good\": false` and the error of those that are bad, `\"good\": null` and the error of those that could not be "
            "checked (a module without code for them, no memory, a device that failed), and `bench` every column, `\"verified\": "
            "false` and the "
            "error of those that failed. Neither has a report when the file, a name in `--columns` or the device is refused "
            "at the start, but `bench`, which reports a file that is refused as a result. In names of files, what is not UTF-8 "
            "is U+FFFD.\n");
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
    fprintf(stderr, "zfc completion: no completion for `%s`; there is bash and zsh\n", arguments->operands[0]);
    return EXIT_BAD_USAGE;
}
