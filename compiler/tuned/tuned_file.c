// The table of tuned kernels as text, and where it is kept.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "compiler/tuned/tuned.h"
#include "runtime/base/cache.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/read_whole.h"
#include "runtime/context/context.h"

enum {
    FILE_MOST = 1 << 20,       ///< bytes: thousands of kernels
    LOCK_MILLISECONDS = 10000, ///< who keeps kernels waits so long for others
    ASIDE_MOST = 4,            ///< files that are no tables and lie beside the one that is
};

static const char head[] = "zipflow tuned kernels, format 1", part[] = "tuned";

// ---- Writing --------------------------------------------------------------------------------------------------

// Whole numbers, which look the same in every locale.
static unsigned long long nanoseconds(double seconds) { return (unsigned long long)(seconds * 1e9 + 0.5); }

static void print_kernel(const zf_tuned_kernel *kernel, zf_text *out) {
    zf_text_printf(out, "kernel %s\n  choice ", kernel->shape);
    if (kernel->unknown != NULL)
        zf_text_puts(out, kernel->unknown);
    else
        zf_choice_text(&kernel->choice, out);
    zf_text_printf(out, "\n  nanoseconds %llu default %llu probes %u\n", nanoseconds(kernel->seconds),
                   nanoseconds(kernel->default_seconds), kernel->probes);
}

void zf_tuned_print(const zf_tuned *tuned, zf_text *out) {
    zf_text_printf(out, "%s\n", head);
    for (size_t d = 0; d < tuned->count; d++) {
        const zf_tuned_device *device = &tuned->devices[d];
        zf_text_printf(out, "device %s\n", device->description);
        for (size_t k = 0; k < device->count; k++) print_kernel(&device->kernels[k], out);
        for (size_t k = 0; k < device->other_count; k++) print_kernel(&device->others[k], out);
    }
}

// ---- Reading --------------------------------------------------------------------------------------------------

typedef struct reading {
    zf_tuned *out;
    const char *device; ///< of the lines that are read; NULL: none was named
    zf_tuned_kernel kernel;
    bool open, chosen; ///< a kernel was begun; it has its choice
    bool no_memory;    ///< which says nothing of the text
    zf_text *message;
} reading;

static bool wrong(reading *r, const char *what) {
    zf_text_puts(r->message, what);
    return false;
}

static bool no_memory(reading *r) {
    r->no_memory = true;
    return wrong(r, "no memory");
}

static bool finish_kernel(reading *r) {
    if (!r->open) return true;
    if (!r->chosen) return wrong(r, "the kernel before has no `choice`");
    r->open = false;
    return zf_tuned_set(r->out, r->device, &r->kernel) || no_memory(r);
}

/// Whether a text is NAME=NUMBER,NAME=NUMBER with each name once: if this version has no such choice, another one may.
static bool is_of_form(const char *text) {
    for (const char *at = text;; at++) {
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (length == 0 || (*at >= '0' && *at <= '9') || at[length] != '=') return false;
        for (const char *before = text; before < at; before = strchr(before, ',') + 1) {
            if (strncasecmp(before, at, length + 1) == 0) return false;
        }
        at += length + 1;
        length = strspn(at, "0123456789");
        at += length;
        if (length == 0 || (*at != ',' && *at != 0)) return false;
        if (*at == 0) return true;
    }
}

/// `text` stays while the kernel is open.
static bool read_choice(reading *r, char *text) {
    zf_choices choices = {0};
    r->chosen = true;
    if (strcmp(text, "default") == 0) return true;
    char buffer[256];
    int length = snprintf(buffer, sizeof buffer, "0:%s", text);
    if (length < 0 || (size_t)length >= sizeof buffer) return wrong(r, "a choice is no longer than 250 bytes");
    zf_text ignored = {0}; // it names a kernel, which the line does not
    bool good = zf_choices_read(buffer, &choices, &ignored) && choices.count == 1;
    zf_text_free(&ignored);
    if (good)
        r->kernel.choice = choices.of[0];
    else if (is_of_form(text))
        r->kernel.unknown = text;
    else
        return wrong(r, "this is not a choice, NAME=VALUE,NAME=VALUE, as `zfc explain --choices` lists them");
    return true;
}

/// A word and a number behind it, of at most 18 digits.
static bool take_number(const char **at, const char *word, uint64_t *out) {
    size_t length = strlen(word), digits = 0;
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    *out = 0;
    for (; **at >= '0' && **at <= '9' && digits < 18; digits++) *out = *out * 10 + (uint64_t)(*(*at)++ - '0');
    return digits > 0;
}

static bool read_times(zf_tuned_kernel *kernel, const char *text) {
    uint64_t best, by_default, probes;
    bool good = take_number(&text, "nanoseconds ", &best) && take_number(&text, " default ", &by_default) &&
                take_number(&text, " probes ", &probes) && *text == 0 && probes <= UINT32_MAX;
    if (!good) return false;
    kernel->seconds = (double)best / 1e9;
    kernel->default_seconds = (double)by_default / 1e9;
    kernel->probes = (uint32_t)probes;
    return true;
}

/// A line without its leading blanks. `text` stays while the kernel is open.
static bool read_line(reading *r, char *text) {
    if (strncmp(text, "device ", 7) == 0) {
        if (!finish_kernel(r)) return false;
        r->device = text + 7;
        return *r->device != 0 || wrong(r, "no device is named");
    }
    if (r->device == NULL) return wrong(r, "`device` comes before its kernels");
    if (strncmp(text, "kernel ", 7) == 0) {
        if (!finish_kernel(r)) return false;
        r->kernel = (zf_tuned_kernel){.shape = text + 7};
        r->open = true;
        r->chosen = false;
        return *r->kernel.shape != 0 || wrong(r, "no kernel is named");
    }
    if (!r->open) return wrong(r, "a `kernel` line must come first");
    if (strncmp(text, "choice ", 7) == 0) return r->chosen ? wrong(r, "a second `choice` of a kernel") : read_choice(r, text + 7);
    if (strncmp(text, "nanoseconds ", 12) == 0)
        return read_times(&r->kernel, text) || wrong(r, "this is not `nanoseconds N default N probes N`");
    return wrong(r, "a line begins with `device`, `kernel`, `choice` or `nanoseconds`");
}

/// As zf_tuned_parse; ZF_ERR_INPUT: the text is wrong, ZF_ERR_MEMORY: it may be good.
static zf_status parse(const char *text, size_t length, zf_tuned *out, zf_text *message) {
    *out = (zf_tuned){0};
    zf_text why = {0};
    reading r = {.out = out, .message = &why};
    char *copy = malloc(length + 1), *next;
    bool good = copy != NULL || no_memory(&r);
    unsigned number = 0;
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = 0;
        size_t valid = strlen(copy);
        if (valid != length) {
            for (size_t k = 0; k <= valid; k++) number += k == 0 || copy[k - 1] == '\n';
            good = wrong(&r, "this is not text");
        }
    }
    for (char *line = copy; good && line != NULL; line = next) {
        number++;
        next = strchr(line, '\n');
        if (next != NULL) *next++ = 0;
        if (number == 1) {
            good = strcmp(line, head) == 0 || wrong(&r, "the first line is not `zipflow tuned kernels, format 1`");
            continue;
        }
        line += strspn(line, " \t");
        size_t end = strlen(line);
        while (end > 0 && strchr(" \t\r", line[end - 1]) != NULL) line[--end] = 0;
        if (end > 0 && *line != '#') good = read_line(&r, line);
    }
    good = good && finish_kernel(&r);
    if (!good) zf_text_printf(message, "line %u: %s", number, why.data != NULL ? why.data : "no memory");
    if (!good) zf_tuned_free(out);
    zf_text_free(&why);
    free(copy);
    return good ? ZF_OK : r.no_memory ? ZF_ERR_MEMORY : ZF_ERR_INPUT;
}

bool zf_tuned_parse(const char *text, size_t length, zf_tuned *out, zf_text *message) {
    return parse(text, length, out, message) == ZF_OK;
}

zf_status zf_tuned_read(const char *path, zf_tuned *out, zf_error *error) {
    *out = (zf_tuned){0};
    const char *reason;
    int file = zf_regular_open(path, &reason);
    if (file < 0) return zf_raise(error, ZF_E_OPEN_FAILED, "%.256s cannot be opened: %s", path, reason);
    zf_text text = {0}, message = {0};
    int failed = zf_read_whole(file, FILE_MOST, &text);
    close(file);
    zf_status status = failed == 0 ? parse(text.data, text.length, out, &message) : ZF_OK;
    if (failed == ENOMEM || status == ZF_ERR_MEMORY)
        status = zf_raise(error, ZF_E_NO_MEMORY, "no memory for %.256s", path);
    else if (failed == EFBIG)
        status = zf_raise(error, ZF_E_TUNED, "%.256s is larger than tuned kernels can be", path);
    else if (failed != 0)
        status = zf_raise(error, ZF_E_READ_FAILED, "%.256s cannot be read: %s", path, strerror(failed));
    else if (status != ZF_OK)
        status = zf_raise(error, ZF_E_TUNED, "%.256s, %s", path, message.data != NULL ? message.data : "");
    zf_text_free(&text);
    zf_text_free(&message);
    return status;
}

// ---- Keeping --------------------------------------------------------------------------------------------------

void zf_tuned_file_name(const char *description, char out[40]) {
    snprintf(out, 40, "%016llx.txt", (unsigned long long)XXH3_64bits(description, strlen(description)));
}

static int open_directory(const zf_context *context) {
    const char *cache = zf_context_cache_dir(context);
    return cache[0] != 0 ? zf_cache_open(cache, part) : -1;
}

/// Reads the kept table; `out` is empty if there is none. ZF_ERR_INPUT: the file is no table. Any other error: it could not be
/// read.
/// `message` names the file and the reason.
static zf_status read_kept(zf_context *context, int directory, const char *name, zf_tuned *out, zf_text *message) {
    void *text = NULL;
    size_t length = 0;
    zf_text why = {0};
    zf_status status = ZF_OK;
    *out = (zf_tuned){0};
    zf_cache_answer answer = zf_cache_read(directory, name, FILE_MOST, &text, &length);
    if (answer == ZF_CACHE_FOUND)
        status = parse(text, length, out, &why);
    else if (answer == ZF_CACHE_DAMAGED) {
        status = ZF_ERR_IO;
        zf_text_printf(&why, "it cannot be read: %s", strerror(errno));
    }
    if (status != ZF_OK)
        zf_text_printf(message, "%s/%s/%s cannot be used, %s", zf_context_cache_dir(context), part, name,
                       why.data != NULL ? why.data : "no memory");
    zf_text_free(&why);
    free(text);
    return status;
}

bool zf_tuned_kept(zf_context *context, const char *description, zf_tuned *out, zf_text *message) {
    char name[40];
    *out = (zf_tuned){0};
    int directory = open_directory(context);
    if (directory < 0) return true;
    zf_tuned_file_name(description, name);
    bool good = read_kept(context, directory, name, out, message) == ZF_OK;
    close(directory);
    return good;
}

/// Renames a file that is no table instead of overwriting it, because somebody may repair it. An earlier renamed file is kept,
/// too. If there are ASIDE_MOST of them already, the file stays and will be overwritten. `message` reports the new name. False:
/// it could not be renamed.
static bool put_aside(int directory, const char *name, zf_text *message) {
    char aside[56];
    struct stat facts;
    for (unsigned k = 1; k <= ASIDE_MOST; k++) {
        snprintf(aside, sizeof aside, k == 1 ? "%s.bad" : "%s.bad.%u", name, k);
        if (fstatat(directory, aside, &facts, AT_SYMLINK_NOFOLLOW) == 0) continue; // of two that keep, one has the lock
        bool good = errno == ENOENT && renameat(directory, name, directory, aside) == 0;
        if (good)
            zf_text_printf(message, ": it is %s now", aside);
        else
            zf_text_printf(message, ": no more is kept, it cannot be renamed: %s", strerror(errno));
        return good;
    }
    zf_text_printf(message, ": it is lost, since %s.bad and its like are %d already", name, ASIDE_MOST);
    return true;
}

/// Reads the kept table so that results can be added. False: the file could not be read, and must stay as it is.
static bool read_to_add(zf_context *context, int directory, const char *name, zf_tuned *out, zf_text *message) {
    zf_status status = read_kept(context, directory, name, out, message);
    if (status == ZF_OK) return true;
    if (status == ZF_ERR_INPUT) return put_aside(directory, name, message);
    zf_text_puts(message, ": no more is kept");
    return false;
}

bool zf_tuned_keep(zf_context *context, const zf_tuned_device *device) {
    char name[40];
    int directory = open_directory(context);
    if (directory < 0) return false;
    zf_tuned all = {0};
    zf_text text = {0}, message = {0};
    zf_tuned_file_name(device->description, name);
    bool locked = zf_cache_lock(directory, LOCK_MILLISECONDS); // of two that add kernels one reads what the other wrote
    if (!locked)
        zf_text_printf(&message, "%s/%s/%s is not written, its directory cannot be locked: %s", zf_context_cache_dir(context),
                       part, name, errno == EWOULDBLOCK ? "another process holds the lock" : strerror(errno));
    bool good = locked && read_to_add(context, directory, name, &all, &message);
    for (size_t k = 0; k < device->count && good; k++) good = zf_tuned_set(&all, device->description, &device->kernels[k]);
    if (good) zf_tuned_print(&all, &text);
    zf_cache_piece piece = {text.data, text.length};
    bool fits = text.length <= FILE_MOST; // what is larger would not be read
    bool written = good && fits && !text.failed && zf_cache_write(directory, name, &piece, 1);
    if (locked) zf_cache_unlock(directory);
    close(directory); // before anything is logged: who logs may keep kernels, too
    if (good && !fits) zf_context_log(context, ZF_LOG_WARNING, "%s has no room for more kernels: remove some of its lines", name);
    if (message.data != NULL) zf_context_log(context, ZF_LOG_WARNING, "%s", message.data);
    zf_text_free(&message);
    zf_text_free(&text);
    zf_tuned_free(&all);
    return written;
}
