// The encoders outside of the language that a compiler knows, by name: those of its user, and those of library_encoders.h.
#ifndef ZF_COMPILER_ENCODER_REGISTRY_H
#define ZF_COMPILER_ENCODER_REGISTRY_H

#include "runtime/base/text.h"
#include "zipflow/compile.h"

typedef struct zf_encoder_registry zf_encoder_registry;

/// Creates a registry that has the encoders of libraries; NULL: no memory. Free it with zf_encoder_registry_free, which calls
/// `free_user` of the others.
zf_encoder_registry *zf_encoder_registry_create(void);
void zf_encoder_registry_free(zf_encoder_registry *registry);

/// Registers a whole struct of this version, as zf_encoder_register does. Any thread.
zf_status zf_encoder_registry_add(zf_encoder_registry *registry, const zf_extern_encoder *encoder, zf_error *error);
/// Returns the encoder of a name, which lives as long as the registry; NULL: there is none. Any thread.
const zf_extern_encoder *zf_encoder_registry_find(zf_encoder_registry *registry, const char *name);
/// Appends the names that are known, in backticks, separated by commas. Any thread.
void zf_encoder_registry_names(zf_encoder_registry *registry, zf_text *out);

#endif
