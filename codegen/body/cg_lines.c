#include "codegen/body/cg_lines.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "runtime/base/abi.h"

enum {
    DIRECTIVES_ONLY =
        3, // LLVM's DebugDirectivesOnly, which its C header does not name: `.file` and `.loc`, no section, no `debug`
    METADATA_VERSION = 3,
};

typedef struct file {
    const zf_source *source;
    LLVMMetadataRef node;
    LLVMMetadataRef scope; // within the function, NULL: not made yet
} file;

struct zf_cg_lines {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef unit, function;
    const char *nameless;
    file files[ZF_ABI_FILES_MOST + 1]; // from 1
    uint32_t count;
};

// The file of a source, or NULL: there are too many.
static file *file_of(zf_cg *cg, const zf_source *source) {
    struct zf_cg_lines *lines = cg->lines;
    for (uint32_t k = 1; k <= lines->count; k++) {
        if (lines->files[k].source == source) return &lines->files[k];
    }
    if (lines->count == ZF_ABI_FILES_MOST) return NULL;
    file *f = &lines->files[++lines->count];
    const char *name = source->in_file || lines->nameless == NULL ? source->path : lines->nameless;
    f->source = source;
    f->node = LLVMDIBuilderCreateFile(lines->builder, name, strlen(name), "", 0);
    return f;
}

void zf_cg_lines_begin(zf_cg *cg, const char *nameless) {
    cg->lines = ZF_NEW(cg->arena, struct zf_cg_lines);
    *cg->lines = (struct zf_cg_lines){.nameless = nameless, .builder = LLVMCreateDIBuilder(cg->module)};
}

// A unit has one file of its own, whatever files its functions name.
static LLVMMetadataRef unit_of(zf_cg *cg, LLVMMetadataRef node) {
    struct zf_cg_lines *lines = cg->lines;
    if (lines->unit != NULL) return lines->unit;
    static const char version[] = "Debug Info Version", producer[] = "zipflow";
    LLVMAddModuleFlag(cg->module, LLVMModuleFlagBehaviorWarning, version, sizeof version - 1,
                      LLVMValueAsMetadata(LLVMConstInt(cg->ty_i32, METADATA_VERSION, 0)));
    lines->unit =
        LLVMDIBuilderCreateCompileUnit(lines->builder, LLVMDWARFSourceLanguageC99, node, producer, sizeof producer - 1, 1, "", 0,
                                       0, "", 0, (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, 0, 0, "", 0, "", 0);
    return lines->unit;
}

void zf_cg_lines_function(zf_cg *cg, LLVMValueRef v_function, const char *name, zf_span span) {
    struct zf_cg_lines *lines = cg->lines;
    if (lines == NULL) return;
    lines->function = NULL;
    LLVMSetCurrentDebugLocation2(cg->builder, NULL);
    file *at = span.source == NULL ? NULL : file_of(cg, span.source);
    if (at == NULL) return; // a kernel without places
    unsigned line = zf_source_position(span.source, span.begin).line;
    unit_of(cg, at->node);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(lines->builder, at->node, NULL, 0, LLVMDIFlagZero);
    lines->function = LLVMDIBuilderCreateFunction(lines->builder, at->node, name, strlen(name), name, strlen(name), at->node,
                                                  line, type, 0, 1, line, LLVMDIFlagZero, 1);
    LLVMSetSubprogram(v_function, lines->function);
    for (uint32_t k = 1; k <= lines->count; k++) lines->files[k].scope = NULL;
    at->scope = lines->function;
    zf_cg_lines_enter(cg, span);
}

void zf_cg_lines_end(zf_cg *cg, bool kept) {
    if (cg->lines == NULL) return;
    LLVMDIBuilderFinalize(cg->lines->builder);
    LLVMDisposeDIBuilder(cg->lines->builder);
    cg->lines = NULL;
    if (!kept) LLVMStripModuleDebugInfo(cg->module);
}

LLVMMetadataRef zf_cg_lines_enter(zf_cg *cg, zf_span span) {
    struct zf_cg_lines *lines = cg->lines;
    if (lines == NULL) return NULL;
    LLVMMetadataRef before = LLVMGetCurrentDebugLocation2(cg->builder);
    if (lines->function == NULL || span.source == NULL) return before;
    file *f = file_of(cg, span.source);
    if (f == NULL) return before;
    if (f->scope == NULL) f->scope = LLVMDIBuilderCreateLexicalBlockFile(lines->builder, lines->function, f->node, 0);
    zf_position at = zf_source_position(span.source, span.begin);
    LLVMSetCurrentDebugLocation2(cg->builder, LLVMDIBuilderCreateDebugLocation(cg->context, at.line, at.column, f->scope, NULL));
    return before;
}

void zf_cg_lines_leave(zf_cg *cg, LLVMMetadataRef before) {
    if (cg->lines != NULL) LLVMSetCurrentDebugLocation2(cg->builder, before);
}

static uint32_t number_of(zf_cg *cg, LLVMMetadataRef location) {
    if (cg->lines == NULL || location == NULL) return 0;
    LLVMMetadataRef node = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
    uint32_t number = cg->lines->count;
    while (number > 0 && cg->lines->files[number].node != node) number--;
    return ZF_ABI_PLACE(number, LLVMDILocationGetLine(location));
}

uint32_t zf_cg_lines_here(zf_cg *cg) { return number_of(cg, LLVMGetCurrentDebugLocation2(cg->builder)); }

uint32_t zf_cg_lines_of(zf_cg *cg, LLVMValueRef v_instruction) {
    return number_of(cg, LLVMInstructionGetDebugLoc(v_instruction));
}

const char *const *zf_cg_lines_files(zf_cg *cg) {
    const char **names = ZF_NEW_ARRAY(cg->arena, const char *, ZF_ABI_FILES_MOST + 1);
    for (uint32_t k = 1; cg->lines != NULL && k <= cg->lines->count; k++) names[k] = cg->lines->files[k].source->path;
    return names;
}
