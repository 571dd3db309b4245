#include "zfc/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "zfc/driver_codes.h"
#include "zfc/signals.h"

zf_status zf_scratch_make(zf_scratch *s, const char *verb, zf_error *error) {
    const char *set = getenv("TMPDIR"), *parent = set != NULL && *set != 0 ? set : "/tmp";
    int length = snprintf(s->directory, sizeof s->directory, "%s/zfc-%s-XXXXXX", parent, verb);
    sigset_t before;
    zf_signals_pause(&before); // an end must find the directory, or none
    bool made = length >= 0 && (size_t)length < sizeof s->directory && mkdtemp(s->directory) != NULL;
    if (made) {
        snprintf(s->program, sizeof s->program, "%s/made.zf", s->directory);
        snprintf(s->container, sizeof s->container, "%s/made.zfd", s->directory);
        zf_signals_remove_directory(s->directory);
        zf_signals_remove_files(s->program, s->container);
    }
    zf_signals_resume(&before);
    return made ? ZF_OK : zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "no directory can be made in %.200s", parent);
}

void zf_scratch_remove(zf_scratch *s) {
    unlink(s->program);
    unlink(s->container);
    rmdir(s->directory);
    zf_signals_remove_files(NULL, NULL);
    zf_signals_remove_directory(NULL);
}
