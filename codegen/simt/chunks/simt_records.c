// The ring of records (simt_records.h).
#include "codegen/simt/chunks/simt_records.h"

#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_arrays.h"
#include "codegen/simt/memory/simt_memory.h"

enum {
    NEVER = 0x7fffffff, // a distance that reaches no element of a tile: of what is not copied from the chunk
    ALIGNMENT = 16,
};

static uint32_t rounded(uint32_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

// Several warps have one batch in the making and one that is executed, and behind them what was left of the one before.
static uint32_t ring_of(const zf_plan *plan, const zf_record_program *program, bool guesses, uint32_t warps) {
    uint32_t wave = plan->target->wave, room = guesses ? wave * program->most : program->most, ring = 64;
    uint32_t least = guesses ? 2 * room : 2 * wave;
    if (warps > 1) least = zf_record_tile(wave) + 1 + 2 * (room + wave);
    while (ring < least) ring *= 2;
    return ring;
}

static uint32_t element_size(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_kind_size(zf_simt_type_of(plan, kernel).kind);
}

bool zf_record_makes_few(const zf_record_program *program, const zf_record_site *site) {
    return site->reads && (program->site_count > 1 || program->copies);
}

zf_record_places zf_records_places(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program, bool guesses,
                                   uint32_t warps) {
    zf_record_places p = {.ring = ring_of(plan, program, guesses, warps)};
    uint32_t size = element_size(plan, kernel), tile = zf_record_tile(plan->target->wave), executors = warps > 1 ? warps - 1 : 1;
    p.begins = rounded(p.ring * 8 * program->words);
    p.state = p.begins + rounded(p.ring * 4);
    p.window = p.state + (warps > 1 ? ZF_RECORD_STATE : 0);
    p.links = p.window + (guesses ? zf_records_guess_bytes(program, plan->target->wave) : 0);
    p.values = p.links + rounded(tile * 2);
    if (program->copies_back) p.tile = rounded(tile * 2) + (size > 1 ? rounded(tile * size) : 0);
    p.few = p.links + p.tile;
    for (uint32_t s = 0; s < program->site_count; s++) {
        if (zf_record_makes_few(program, &program->sites[s])) p.tile = p.few - p.links + rounded(4 * plan->target->wave);
    }
    p.all = p.links + executors * p.tile;
    uint32_t arrays = program->own_arrays ? zf_simt_arrays_bytes(plan, kernel) : 0;
    if (p.all < arrays) p.all = arrays;
    return p;
}

void zf_records_begin(zf_records *r) {
    zf_kernel_build *lower = r->lower;
    zf_cg *cg = r->cg;
    zf_simt_shape shape = zf_simt_shape_of(lower->plan, lower->kernel);
    zf_record_places p = zf_records_places(lower->plan, lower->kernel, &r->program, r->guesses, r->warps);
    LLVMValueRef v_warp = zf_simt_warp(lower), v_all;
    v_all = cg->target->simt->shared(cg, 0, r->program.own_arrays ? shape.shared_bytes : zf_simt_arrays_offset(&shape));
    r->ring = p.ring;
    if (r->warps == 1) v_all = zf_cg_at(cg, cg->ty_i8, v_all, zf_cg_mul(cg, v_warp, zf_cg_i64(cg, p.all)));
    r->v_data = v_all;
    r->v_begins = zf_cg_byte_at(cg, v_all, p.begins);
    r->v_window = zf_cg_byte_at(cg, v_all, p.window);
    LLVMValueRef v_tiles = zf_cg_byte_at(cg, v_all, p.links); // of the executor
    if (r->warps > 2) {
        LLVMValueRef v_number = zf_cg_sub(cg, zf_cg_resize(cg, v_warp, cg->ty_i32, false), zf_cg_i32(cg, 1));
        v_number = zf_cg_umin(cg, v_number, zf_cg_i32(cg, r->warps - 2)); // the walker has none
        v_tiles = zf_cg_at(cg, LLVMArrayType2(LLVMInt8TypeInContext(cg->context), p.tile), v_tiles, zf_cg_wide(cg, v_number));
    }
    r->v_links = v_tiles;
    r->v_values = zf_cg_byte_at(cg, v_tiles, p.values - p.links);
    r->v_few = zf_cg_byte_at(cg, v_tiles, p.few - p.links);
    if (r->warps > 1) r->v_state = zf_cg_byte_at(cg, v_all, p.state);
    r->v_lane = zf_simt_lane(lower);
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_two = LLVMBuildShl(cg->builder, LLVMConstInt(ty_set, 2, 0), zf_cg_resize(cg, r->v_lane, ty_set, false), "");
    r->v_upto = zf_cg_sub(cg, v_two, LLVMConstInt(ty_set, 1, 0));
    r->v_out = zf_cg_at_sink(cg, zf_cg_memory_type(cg, lower->type), lower->v_sink, r->chunk->v_start);
    r->v_made = zf_cg_alloca(cg, cg->ty_i32, "made");
    r->v_taken = zf_cg_alloca(cg, cg->ty_i32, "taken");
    r->v_end = zf_cg_alloca(cg, cg->ty_i32, "end");
    r->v_tile = zf_cg_alloca(cg, cg->ty_i32, "tile");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), r->v_made);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, UINT32_MAX), r->v_taken);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), r->v_end);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), r->v_tile);
}

// ---- Appending ------------------------------------------------------------------------------------------------

LLVMValueRef zf_records_begin_at(const zf_records *r, LLVMValueRef v_number) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_place = zf_cg_and(cg, v_number, zf_cg_i32(cg, r->ring - 1));
    return zf_cg_at(cg, cg->ty_i32, r->v_begins, zf_cg_wide(cg, v_place));
}

LLVMValueRef zf_records_word_at(const zf_records *r, LLVMValueRef v_number, uint32_t word) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = LLVMArrayType2(cg->ty_i64, r->program.words);
    LLVMValueRef v_place = zf_cg_and(cg, v_number, zf_cg_i32(cg, r->ring - 1));
    return zf_cg_byte_at(cg, zf_cg_at(cg, ty, r->v_data, zf_cg_wide(cg, v_place)), 8 * (uint64_t)word);
}

static LLVMValueRef address(zf_cg *cg, LLVMValueRef v_pointer) {
    return LLVMBuildPtrToInt(cg->builder, v_pointer, cg->ty_i64, "");
}

// How far an element's source is from its own place, in bytes (i64).
static LLVMValueRef offset_of(const zf_records *r, const zf_record_site *site, const zf_record_what *what, LLVMValueRef v_begin) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, r->lower->type);
    LLVMValueRef v_size = zf_cg_i64(cg, zf_kind_size(r->lower->type.kind));
    if (site->form.kind == ZF_REGION_BACK) return LLVMBuildNeg(cg->builder, zf_cg_mul(cg, what->v_distance, v_size), "");
    const zf_chunk_stream *s = &r->chunk->streams[site->form.port->slot];
    LLVMValueRef v_first = zf_lower_pointer(r->lower, s->edge), v_to = zf_cg_at_sink(cg, ty, r->v_out, zf_cg_wide(cg, v_begin));
    v_first = zf_cg_at(cg, ty, v_first, zf_cg_add(cg, s->v_first, what->v_from));
    return zf_cg_sub(cg, address(cg, v_first), address(cg, v_to));
}

// Has the first source of a record that copies from the output brought near, before its elements are made: other chunks have
// pushed it out of the caches. Where lanes do not have a true step each, the walk takes longer than such a load.
static void prefetch_source(const zf_records *r, LLVMValueRef v_offset, LLVMValueRef v_begin) {
    zf_cg *cg = r->cg;
    bool each = zf_record_is_consecutive(&r->program) || zf_record_is_wide(&r->program);
    if (!r->guesses || !each || !zf_simt_prefetches(cg)) return;
    zf_cg_settle(cg);
    LLVMValueRef v_at = zf_cg_mul(cg, zf_cg_wide(cg, v_begin), zf_cg_i64(cg, zf_kind_size(r->lower->type.kind)));
    zf_simt_prefetch(cg, zf_cg_at_sink(cg, cg->ty_i8, r->v_out, zf_cg_add(cg, v_at, v_offset)));
}

bool zf_record_is_copy(const zf_record_site *site) {
    return site->stmt->kind == ZF_S_EMIT_REGION && site->form.kind != ZF_REGION_TERM;
}

uint32_t zf_record_word_count(const zf_record_site *site) {
    return site->stmt->kind == ZF_S_EMIT ? 1 : site->local_count + site->takes_position + site->takes_low;
}

void zf_records_put(zf_records *r, uint32_t number, const zf_record_what *what, LLVMValueRef v_begin, LLVMValueRef v_number,
                    LLVMValueRef v_where) {
    zf_cg *cg = r->cg;
    const zf_record_site *site = &r->program.sites[number];
    LLVMValueRef v_words[1 + ZF_RECORD_WORDS]; // what it is, and the rest
    uint32_t count = 2;
    if (zf_record_is_copy(site)) {
        bool back = site->form.kind == ZF_REGION_BACK;
        v_words[0] = back ? what->v_distance : zf_cg_i64(cg, NEVER);
        v_words[1] = offset_of(r, site, what, v_begin);
        if (back) prefetch_source(r, v_words[1], v_begin);
    } else {
        v_words[0] = zf_cg_i64(cg, (uint64_t)(number + 1) << 32 | NEVER);
        count = 1 + zf_record_word_count(site);
        for (uint32_t k = 1; k < count; k++) v_words[k] = what->v_words[k - 1];
    }
    uint32_t aligned = r->program.words % 2 == 0 ? ALIGNMENT : 8;
    zf_simt_store_where(r->lower, v_where, &v_begin, 1, zf_records_begin_at(r, v_number), 4);
    zf_simt_store_where(r->lower, v_where, v_words, count, zf_records_word_at(r, v_number, 0), aligned);
}

void zf_records_put_term(zf_records *r, LLVMValueRef v_site, const zf_record_what *what, LLVMValueRef v_begin,
                         LLVMValueRef v_number) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_head = zf_cg_wide(cg, zf_cg_add(cg, v_site, zf_cg_i32(cg, 1)));
    v_head = zf_cg_or(cg, LLVMBuildShl(cg->builder, v_head, zf_cg_i64(cg, 32), ""), zf_cg_i64(cg, NEVER));
    zf_cg_store(cg, v_begin, zf_records_begin_at(r, v_number), 4);
    for (uint32_t k = 0; k + 1 < r->program.words; k++)
        zf_cg_store(cg, what->v_words[k], zf_records_word_at(r, v_number, 1 + k), 8);
    zf_cg_store(cg, v_head, zf_records_word_at(r, v_number, 0), 8);
}

void zf_records_skip(zf_records *r, LLVMValueRef v_count) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_wait = zf_cg_block(cg, "stored_later"), bb_put = zf_cg_block(cg, "put_stored"),
                      bb_noted = zf_cg_block(cg, "noted"), bb_now = zf_cg_block(cg, "stored_now"),
                      bb_done = zf_cg_block(cg, "skipped");
    LLVMValueRef v_end = zf_cg_get(cg, r->v_end), v_made = zf_cg_get(cg, r->v_made), v_next = zf_cg_add(cg, v_end, v_count);
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_get(cg, r->v_tile), v_end);
    v_none = zf_cg_or(cg, v_none, zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i32(cg, 0))); // nothing is before them, or of them
    zf_cg_cond_br(cg, v_none, bb_now, bb_wait);
    zf_cg_enter(cg, bb_wait);
    zf_cg_cond_br(cg, r->lower->v_is_leader, bb_put, bb_noted);
    zf_cg_enter(cg, bb_put);
    zf_cg_store(cg, v_end, zf_records_begin_at(r, v_made), 4);
    zf_cg_store(cg, zf_cg_i64(cg, (uint64_t)ZF_RECORD_STORED << 32 | NEVER), zf_records_word_at(r, v_made, 0), 8);
    zf_cg_br(cg, bb_noted);
    zf_cg_enter(cg, bb_noted);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_made, zf_cg_i32(cg, 1)), r->v_made);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_now);
    LLVMValueRef v_tile = zf_cg_get(cg, r->v_tile), v_is = zf_cg_icmp(cg, LLVMIntEQ, v_tile, v_end);
    LLVMBuildStore(cg->builder, zf_cg_select(cg, v_is, v_next, v_tile), r->v_tile);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    zf_records_end(r, v_next);
}

void zf_records_store(zf_records *r, const zf_record_site *site, LLVMValueRef v_word, LLVMValueRef v_at) {
    zf_cg *cg = r->cg;
    zf_type type = site->stmt->value->type;
    LLVMValueRef v_to = zf_cg_add(cg, r->chunk->v_start, zf_cg_wide(cg, v_at));
    zf_lower_store(r->lower, zf_cg_scalar(type, zf_cg_from_word(cg, type, v_word)), r->lower->v_sink, v_to);
}

int32_t zf_records_site(const zf_records *r, const zf_stmt *stmt) {
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        if (r->program.sites[s].stmt == stmt) return (int32_t)s;
    }
    return -1;
}

void zf_records_end(zf_records *r, LLVMValueRef v_end) {
    LLVMBuildStore(r->cg->builder, v_end, r->v_end);
    zf_chunk_set_emitted(r->chunk, v_end);
}

void zf_records_require(zf_records *r, LLVMValueRef v_ok, const char *what) {
    v_ok = zf_cg_holds(r->cg, ZF_SITE_CHECK, v_ok, what);
    if (r->guess != NULL)
        zf_chunk_note(r->chunk, v_ok);
    else
        zf_chunk_stop_unless(r->lower, v_ok, 0);
}

static LLVMValueRef number_of(zf_records *r, const zf_expr *expr) {
    zf_cg_value value = zf_cg_expr(r->cg, r->frame, expr);
    return zf_cg_resize(r->cg, value.v, r->cg->ty_i64, zf_kind_is_signed(value.type.kind));
}

// The words that an expression takes from the walk.
static void take_words(zf_records *r, const zf_record_site *site, LLVMValueRef v_low, zf_record_what *what) {
    zf_cg *cg = r->cg;
    uint32_t k = 0;
    for (; k < site->local_count; k++) {
        const zf_local *local = site->locals[k];
        zf_expr expr = {.kind = ZF_X_LOCAL, .type = local->type, .local = (zf_local *)(uintptr_t)local, .range = local->range};
        what->v_words[k] = zf_cg_to_word(cg, local->type, zf_cg_expr(cg, r->frame, &expr).v);
    }
    if (site->takes_position) {
        bool known = r->guess == NULL;
        what->v_words[k++] = known ? zf_chunk_emitted(r->chunk) : NULL;
    }
    if (site->takes_low) what->v_words[k] = v_low;
}

zf_record_what zf_records_what(zf_records *r, const zf_record_site *site) {
    zf_cg *cg = r->cg;
    zf_record_what what = {.v_count = zf_cg_i64(cg, 1)};
    if (site->stmt->kind == ZF_S_EMIT) {
        const zf_expr *value = site->stmt->value;
        what.v_words[0] = zf_cg_to_word(cg, value->type, zf_cg_expr(cg, r->frame, value).v);
        return what;
    }
    zf_cg_range range = zf_cg_range_make(cg, r->frame, &site->stmt->reduce->binders[0]);
    what.v_count = zf_chunk_region_size(cg, &range);
    switch (
        site->form.kind) { // a copy of no elements is checked like others, so one from an impossible place takes the slow path
    case ZF_REGION_STREAM: {
        LLVMValueRef v_length = zf_cg_resize(cg, r->chunk->streams[site->form.port->slot].v_length, cg->ty_i32, false);
        what.v_from = range.v_lo;
        if (site->form.from != NULL) what.v_from = zf_cg_add(cg, number_of(r, site->form.from), what.v_from);
        LLVMValueRef v_is_from, v_is_count, v_from = zf_cg_narrow(cg, what.v_from, &v_is_from);
        LLVMValueRef v_count = zf_cg_narrow(cg, what.v_count, &v_is_count);
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, v_count, zf_cg_sub(cg, v_length, v_from));
        v_ok = zf_cg_and(cg, zf_cg_and(cg, v_is_count, v_ok), zf_cg_icmp(cg, LLVMIntULE, v_from, v_length));
        zf_records_require(r, zf_cg_and(cg, v_is_from, v_ok), "copies from a stream");
        break;
    }
    case ZF_REGION_BACK: {
        what.v_distance = number_of(r, site->form.distance);
        LLVMValueRef v_is, v_distance = zf_cg_narrow(cg, what.v_distance, &v_is);
        LLVMValueRef v_ok = zf_cg_and(cg, v_is, zf_cg_icmp(cg, LLVMIntULT, v_distance, zf_cg_i32(cg, NEVER)));
        v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntNE, v_distance, zf_cg_i32(cg, 0)));
        if (!site->form.repeats) v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULE, what.v_count, what.v_distance));
        zf_records_require(r, v_ok, "distances that exist");
        if (r->guess == NULL) {
            v_ok = zf_cg_icmp(cg, LLVMIntULE, v_distance, zf_cg_get(cg, r->v_end));
            zf_records_require(r, v_ok, "distances within the chunk");
        }
        break;
    }
    default: take_words(r, site, range.v_lo, &what); break;
    }
    return what;
}

uint32_t zf_records_words(const zf_record_site *site, zf_record_what *what, LLVMValueRef **v_words) {
    *v_words = what->v_words;
    if (!zf_record_is_copy(site)) return zf_record_word_count(site);
    *v_words = site->form.kind == ZF_REGION_BACK ? &what->v_distance : &what->v_from;
    return 1;
}
