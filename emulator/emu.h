// The emulated GPU for generated code and for tests: the functions that code of the family ZF_TARGET_EMU calls. A linker of
// generated code gets them from the registered device (zf_device_ops.symbols).
//
// One call of zf_abi_simt_kernel.emulated is one thread of a thread block. The threads of a block are fibers. A thread runs until
// it ends or meets the others: at a barrier (all threads of the block), or at an operation of a warp (32 or 64 threads, as the
// kernel says: a wave of the GPU, or half of one). The halves of a wave do an operation together where both are at it. A seed
// decides their order. A fault ends the launch: the threads do not meet, an access is invalid, or two threads race for a byte of
// shared memory. The function that finds a fault does not return.
//
// Parameters: `thread` is the first argument of the kernel. `line` is a place in the `.zf` text (ZF_ABI_PLACE) for the error, or
// 0. `call` numbers the barriers, shuffles and ballots of the code: a line may have many.
#ifndef ZF_EMULATOR_EMU_H
#define ZF_EMULATOR_EMU_H

#include "runtime/device/accelerator.h"

enum { ZF_EMU_LEAST_WARP = 32, ZF_EMU_MOST_WARP = 64, ZF_EMU_THREADS_MOST = 1024 };
/// Bytes of shared memory of a thread block: what code for a GPU may declare, and what a launch may give it on an H100. The
/// device says that it has so many multiprocessors.
enum { ZF_EMU_SHARED_DECLARED = 48 * 1024, ZF_EMU_SHARED_MOST = 227 * 1024, ZF_EMU_MULTIPROCESSORS = 4 };

typedef enum zf_emu_access { ZF_EMU_LOAD, ZF_EMU_STORE, ZF_EMU_ATOMIC } zf_emu_access;

/// X(name, returns, arguments): one row a function.
#define ZF_EMU_FUNCTIONS(X)                                                                                                      \
    /* Number of the thread in its block, of the block in the launch, and `bytes` of its shared memory, which is aligned to   */ \
    /* 256, from `offset` on. */                                                                                                 \
    X(zf_emu_thread, uint32_t, (void *thread))                                                                                   \
    X(zf_emu_group, uint32_t, (void *thread))                                                                                    \
    X(zf_emu_shared, void *, (void *thread, uint32_t offset, uint32_t bytes))                                                    \
    /* Waits for all threads of the block; orders their accesses of memory. All must come to the same call. */                   \
    X(zf_emu_barrier, void, (void *thread, uint32_t call, uint32_t line))                                                        \
    /* All lanes of the warp must come to the same call. Shuffle returns the value of lane `lane` of the wave, a lane of */      \
    /* the thread's warp. Bit i of a ballot says whether lane i of the wave is at the call and its predicate is not 0. */        \
    /* Neither orders accesses of memory, as on a GPU. */                                                                        \
    X(zf_emu_shuffle, uint32_t, (void *thread, uint32_t value, uint32_t lane, uint32_t call, uint32_t line))                     \
    X(zf_emu_ballot, uint64_t, (void *thread, uint32_t predicate, uint32_t call, uint32_t line))                                 \
    /* Waits for all lanes of the warp, which must come to the same call; orders their accesses of memory among each other. */   \
    X(zf_emu_warp_barrier, void, (void *thread, uint32_t call, uint32_t line))                                                   \
    /* Stores a counter in shared memory. Who waits until it is `value` or more sees what the thread, and its warp before */     \
    /* their last barrier, stored in global memory. All lanes of a warp wait at the same call. */                                \
    X(zf_emu_publish, void, (void *thread, void *counter, uint32_t value, uint32_t line))                                        \
    X(zf_emu_await_counter, void, (void *thread, void *counter, uint32_t value, uint32_t call, uint32_t line))                   \
    /* Starts a copy of 16 aligned bytes to shared memory, which may be made at any time until the thread waits for it. */       \
    /* zf_emu_await waits for the thread's copies but those started since the last `pending` calls of it, this one included. */  \
    X(zf_emu_copy, void, (void *thread, void *to, const void *from, uint32_t line))                                              \
    X(zf_emu_await, void, (void *thread, uint32_t pending))                                                                      \
    /* Before every access of memory other than tables of the code: it must lie inside one of the launch's arguments or inside   \
     */                                                                                                                          \
    /* the shared memory, and be aligned. Arguments that are not written: base, blocks, first. Bytes of an argument that are */  \
    /* read must be written before (zf_emu_check_unwritten), unless a kernel of the plan failed: it may have left some out. */   \
    /* A thread may read what another thread of its block wrote only behind a barrier of both. */                                \
    X(zf_emu_check, void, (void *thread, const void *at, uint32_t bytes, uint32_t align, uint32_t access, uint32_t line))        \
    /* The same for an array of the thread, or one in shared memory. */                                                          \
    X(zf_emu_check_local, void,                                                                                                  \
      (void *thread, const void *at, uint32_t bytes, const void *object, uint32_t object_bytes, uint32_t align, uint32_t line))

#define X(name, returns, arguments) ZF_PRIVATE_API returns name arguments;
ZF_EMU_FUNCTIONS(X)
#undef X

/// Sets the order of threads from the next launch on: 0 is by number, others shuffle. Default: $ZIPFLOW_EMU_SEED, or 0.
ZF_PRIVATE_API void zf_emu_set_seed(zf_accelerator *emu, uint64_t seed);

/// Bytes from the launch's base on that no kernel may read although they are allocated, such as those between a block's streams.
typedef struct zf_emu_hole {
    uint64_t begin, end;
} zf_emu_hole;
/// Sets the holes: ascending, not overlapping, the caller's until the next call. `count` 0: none.
ZF_PRIVATE_API void zf_emu_set_holes(zf_accelerator *emu, const zf_emu_hole *holes, uint32_t count);

/// Whether kernels may not read what no copy, fill or kernel wrote, in memory that is allocated from now on. Default: no, since
/// they mask it, and an application's rows are right. Tests of kernels call it before the first allocation.
ZF_PRIVATE_API void zf_emu_check_unwritten(zf_accelerator *emu, bool checks);

/// Treats a range of the device's memory as not written. Copies, fills and kernels write it again.
ZF_PRIVATE_API void zf_emu_forget(zf_accelerator *emu, uint64_t address, uint64_t bytes);

/// Makes an emulated GPU that belongs to no context. `threads`: host threads to spread thread blocks over. `wave`: lanes of its
/// waves, 32 or 64.
ZF_PRIVATE_API zf_status zf_emu_create(unsigned threads, unsigned wave, zf_accelerator **out, zf_error *error);
ZF_PRIVATE_API void zf_emu_free(zf_accelerator *emu);

#endif
