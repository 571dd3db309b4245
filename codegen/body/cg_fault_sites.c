#include "codegen/body/cg_fault_sites.h"

#include <string.h>

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

LLVMValueRef zf_cg_holds(zf_cg *cg, zf_fault_site_kind kind, LLVMValueRef v_if, const char *what) {
    if (LLVMIsAConstantInt(v_if) && LLVMConstIntGetZExtValue(v_if) != 0) return v_if; // proved: nothing can be left out
    return zf_cg_site(cg, kind, what) ? zf_cg_i1(cg, true) : v_if;
}

LLVMValueRef zf_cg_apart(zf_cg *cg, zf_fault_site_kind kind, LLVMValueRef v_if, const char *what) {
    return zf_cg_site(cg, kind, what) ? zf_cg_i1(cg, false) : v_if;
}

LLVMValueRef zf_cg_clamp(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_most, const char *what) {
    return zf_cg_site(cg, ZF_SITE_GUARD, what) ? v : zf_cg_umin(cg, v, v_most);
}

LLVMValueRef zf_cg_mask(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_mask, const char *what) {
    return zf_cg_site(cg, ZF_SITE_MASK, what) ? v : zf_cg_and(cg, v, v_mask);
}
