// Marks functions that one library of zipflow offers to another of the same version. They are exported, because the libraries
// are separate files, but they are no stable interface.
#ifndef ZF_RUNTIME_PRIVATE_H
#define ZF_RUNTIME_PRIVATE_H

#define ZF_PRIVATE_API __attribute__((visibility("default")))

#endif
