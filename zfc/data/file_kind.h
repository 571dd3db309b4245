// Files of other formats, by their first bytes. They are no delimited text, and hardly raw elements.
#ifndef ZF_ZFC_FILE_KIND_H
#define ZF_ZFC_FILE_KIND_H

#include <stddef.h>

#include "runtime/base/error.h"

typedef struct zf_file_kind zf_file_kind;

/// Returns the format of a file that begins with these bytes, or NULL. `end`: where the last bytes of the file end, of which
/// there are at least eight if it has as many, and `total` its bytes: the end is checked, too, since the bytes may be elements.
/// NULL: not known.
const zf_file_kind *zf_file_kind_of(const char *bytes, size_t count, const char *end, size_t total);
/// Refuses a file of this format where another is needed, such as "delimited text": ZF2025. `also` ends the hint.
zf_status zf_file_kind_refuse(const zf_file_kind *kind, const char *path, const char *needed, const char *also, zf_error *error);

#endif
