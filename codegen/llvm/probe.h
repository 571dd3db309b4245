// Whether LLVM still works after memory ended inside it.
#ifndef ZF_CODEGEN_PROBE_H
#define ZF_CODEGEN_PROBE_H

typedef enum zf_probe_answer {
    ZF_PROBE_GOOD,      ///< it compiled for every machine of this build, and linked
    ZF_PROBE_NO_MEMORY, ///< memory ended again
    ZF_PROBE_STUCK,     ///< it failed, or did not answer: it waits for a lock that nobody holds
} zf_probe_answer;

/// Has LLVM compile and link a small module, on a thread that is given up if it does not answer. The handlers are installed.
zf_probe_answer zf_cg_probe(void);

#endif
