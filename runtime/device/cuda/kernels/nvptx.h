// Names for what clang has for NVIDIA's GPUs.
#ifndef ZF_RUNTIME_NVPTX_H
#define ZF_RUNTIME_NVPTX_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;

#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3)))

static inline u32 thread_number(void) { return (u32)__nvvm_read_ptx_sreg_tid_x(); }
static inline u32 block_number(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_x(); }
static inline u32 block_row(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_y(); }
static inline u32 grid_width(void) { return (u32)__nvvm_read_ptx_sreg_nctaid_x(); }
static inline u32 load_word(const u32 *at) { return *at; }
static inline u8 load_byte(const u8 *at) { return *at; }
static inline void barrier(void) { __nvvm_bar_sync(0); }

#endif
