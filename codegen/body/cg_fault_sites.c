#include "codegen/body/cg_fault_sites.h"

#include <string.h>

#ifndef NDEBUG
static void put(char *to, size_t room, const char *text, size_t length) {
    memcpy(to, text, length < room ? length : room - 1); // whose last stays 0
}

// How a statement begins, in one line.
static void put_line(char *to, size_t room, zf_span at) {
    if (at.source != NULL) put(to, room, at.source->text + at.begin, strcspn(at.source->text + at.begin, "\n"));
}

bool zf_cg_site_of(zf_cg *cg, zf_fault_site_kind kind, const char *what, const char *of, bool precedes) {
    if (cg->unchecked && kind == ZF_SITE_CHECK) return true;
    zf_fault_sites *sites = cg->sites;
    if (sites == NULL) return false;
    uint32_t number = ++sites->count;
    if (number <= sites->room) {
        zf_fault_site *site = &sites->noted[number - 1];
        size_t length;
        const char *name = LLVMGetValueName2(cg->function, &length);
        *site = (zf_fault_site){.kind = kind, .what = what, .in = cg->sites_in, .precedes = precedes};
        put(site->function, sizeof(site->function), name, length);
        put_line(site->line, sizeof(site->line), cg->sites_at);
        if (of != NULL) put(site->of, sizeof(site->of), of, strlen(of));
    }
    bool is_named = sites->all_of != NULL && strncmp(what, sites->all_of, strlen(sites->all_of)) == 0;
    sites->all_count += is_named;
    return is_named || number == sites->left_out;
}
#endif
