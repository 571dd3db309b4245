// Small encoders for the algorithms that say `encode extern`: enough to make valid input of every kind, no more.
#ifndef ZF_TESTS_EXTERNS_H
#define ZF_TESTS_EXTERNS_H

#include "tests/interp/interp.h"

extern const interp_extern interp_test_externs[];
extern const size_t interp_test_extern_count;

void externs_lz4(interp_extern_call *call);
void externs_snappy(interp_extern_call *call);
void externs_deflate(interp_extern_call *call);
void externs_fsst_tiles(interp_extern_call *call);
void externs_orc_rle1(interp_extern_call *call);
void externs_orc_rle2(interp_extern_call *call);
void externs_parquet_hybrid(interp_extern_call *call);
void externs_delta_binary_packed(interp_extern_call *call);
void externs_batmap(interp_extern_call *call);

#endif
