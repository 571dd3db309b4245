#include "codegen/body/cg_fault_sites.h"

#include <string.h>

#ifndef NDEBUG
bool zf_cg_site(zf_cg *cg, zf_fault_site_kind kind, const char *what) {
    if (cg->unchecked && kind == ZF_SITE_CHECK) return true;
    zf_fault_sites *sites = cg->sites;
    if (sites == NULL) return false;
    uint32_t number = ++sites->count;
    if (number <= sites->room) {
        zf_fault_site *site = &sites->noted[number - 1];
        size_t length;
        const char *name = LLVMGetValueName2(cg->function, &length);
        *site = (zf_fault_site){.kind = kind, .what = what};
        memcpy(site->function, name, length < sizeof(site->function) ? length : sizeof(site->function) - 1);
    }
    return number == sites->left_out;
}
#endif
