#include "compiler/chunks/zstd_frame.h"

enum { WINDOW_LOG_MOST = 31, WINDOW_LOG_LEAST = 10, BLOCK_HEAD = 3 };

zf_zstd_begin zf_zstd_begin_of(uint64_t magic) {
    if (magic == 0xfd2fb528) return ZF_ZSTD_FRAME;
    return magic >> 4 == 0x184d2a5 ? ZF_ZSTD_SKIPPED : ZF_ZSTD_OTHER;
}

void zf_zstd_pass_skipped(zf_zstd_reader *r) {
    uint64_t bytes = zf_zstd_take_number(r, 4);
    zf_zstd_take(r, bytes);
}

zf_zstd_head zf_zstd_take_head(zf_zstd_reader *r) {
    unsigned form = (unsigned)zf_zstd_take_number(r, 1), bytes = 1u << (form >> 6);
    bool single = (form >> 5 & 1) != 0;
    zf_zstd_head head = {
        .known = form >> 6 > 0 || single, .checked = (form & 4) != 0, .reserved = (form & 8) != 0, .named_at = r->at};
    if (head.reserved) return head;
    uint64_t window = single ? 0 : zf_zstd_take_number(r, 1);
    head.named_at = r->at;
    head.dictionary = zf_zstd_take_number(r, (form & 3) == 3 ? 4 : form & 3);
    if (head.known) head.rows = zf_zstd_take_number(r, bytes) + (bytes == 2 ? 256 : 0);
    head.too_wide = window >> 3 > WINDOW_LOG_MOST - WINDOW_LOG_LEAST;
    window = single ? head.rows : (8 + (window & 7)) << (WINDOW_LOG_LEAST - 3 + (window >> 3));
    head.most = window < ZF_ZSTD_BLOCK_MOST ? window : ZF_ZSTD_BLOCK_MOST;
    return head;
}

zf_zstd_block zf_zstd_take_block(zf_zstd_reader *r, uint64_t most) {
    uint64_t head = zf_zstd_take_number(r, BLOCK_HEAD), kind = head >> 1 & 3;
    zf_zstd_block block = {.kind = (zf_zstd_block_kind)kind, .last = (head & 1) != 0, .size = head >> 3, .from = r->at};
    block.wrong = kind > ZF_ZSTD_PACKED || block.size > most;
    if (!block.wrong) zf_zstd_take(r, kind == ZF_ZSTD_REPEATED ? 1 : block.size);
    return block;
}
