// The version of the library, and the names of statuses.
#include "zipflow/zipflow.h"

#define TEXT(x) #x
#define JOIN(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *zf_version(void) { return JOIN(ZF_VERSION_MAJOR, ZF_VERSION_MINOR, ZF_VERSION_PATCH); }

const char *zf_status_name(zf_status status) {
    static const char *const names[] = {
        [ZF_OK] = "no error",
        [ZF_ERR_INPUT] = "bad input",
        [ZF_ERR_USAGE] = "wrong use",
        [ZF_ERR_DEVICE] = "device failure",
        [ZF_ERR_MEMORY] = "out of memory",
        [ZF_ERR_IO] = "input or output failure",
        [ZF_ERR_UNSUPPORTED] = "not supported",
        [ZF_ERR_INTERNAL] = "internal error",
        [ZF_ERR_CANCELLED] = "cancelled",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown status";
}
