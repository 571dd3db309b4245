// The executor of records (simt_records.h): makes the elements of a tile, a few a lane.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_records.h"

enum { VALUE = 0x8000 }; // of a link: it is at its end

/// The elements of a tile that this lane makes, one of each row.
typedef struct tile {
    LLVMValueRef v_first, v_end;           ///< i32: of the tile
    LLVMValueRef v_at[ZF_RECORD_ROWS];     ///< i32: the element
    LLVMValueRef v_in[ZF_RECORD_ROWS];     ///< i1: it exists
    LLVMValueRef v_record[ZF_RECORD_ROWS]; ///< i32: its record
    LLVMValueRef v_site[ZF_RECORD_ROWS];   ///< i32: 0 of copies; else the site's number, from 1
    LLVMValueRef v_near[ZF_RECORD_ROWS];   ///< i1: it is copied from the tile
    LLVMValueRef v_link[ZF_RECORD_ROWS];   ///< i32: from its element
    LLVMValueRef v_value[ZF_RECORD_ROWS];  ///< slot
} tile;

static LLVMTypeRef element_type(const zf_records *r) { return zf_cg_memory_type(r->cg, r->lower->type); }

// Finds each element's record. Records are seen in lanes: where there are more, the tile ends where the last lane's begins.
static void find_records(zf_records *r, tile *t, LLVMValueRef *v_taken) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_made = zf_cg_get(cg, r->v_made), v_last = zf_cg_sub(cg, v_made, zf_cg_i32(cg, 1));
    LLVMValueRef v_seen = zf_cg_get(cg, r->v_taken), v_next = zf_cg_add(cg, v_seen, zf_cg_i32(cg, 1));
    LLVMValueRef v_waiting = zf_cg_sub(cg, v_made, v_next); // a record that has begun, or none, is before them
    LLVMValueRef v_mine = zf_cg_add(cg, v_next, r->v_lane), v_wave = zf_cg_i32(cg, cg->wave);
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, r->v_lane, v_waiting);
    v_is = zf_cg_within(cg, v_is, "records that were appended");
    LLVMValueRef v_begin = zf_cg_load(cg, cg->ty_i32, zf_records_begin_at(r, zf_cg_select(cg, v_is, v_mine, v_last)), 4);
    if (r->warps == 2) // the next tile begins where the batch ends, and takes its records from there
        v_is = zf_cg_and(cg, v_is, zf_cg_icmp(cg, LLVMIntULT, v_begin, zf_cg_get(cg, r->v_end)));
    LLVMValueRef v_away = zf_cg_select(cg, v_is, zf_cg_sub(cg, v_begin, t->v_first), zf_cg_i32(cg, UINT32_MAX));
    LLVMValueRef v_beyond = zf_cg_edge(cg, zf_cg_icmp(cg, LLVMIntUGT, v_waiting, v_wave), "records beyond the lanes");
    LLVMValueRef v_limit = zf_simt_shuffle(r->lower, v_begin, zf_cg_i32(cg, cg->wave - 1));
    LLVMValueRef v_end =
        zf_cg_umin(cg, zf_cg_get(cg, r->v_end), zf_cg_add(cg, t->v_first, zf_cg_i32(cg, zf_record_tile(cg->wave))));
    t->v_end = zf_cg_select(cg, v_beyond, zf_cg_umin(cg, v_end, v_limit), v_end);
    LLVMValueRef v_row = LLVMBuildLShr(cg->builder, v_away, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    LLVMValueRef v_bit = zf_cg_resize(cg, zf_cg_and(cg, v_away, zf_cg_i32(cg, cg->wave - 1)), ty_set, false);
    v_bit = LLVMBuildShl(cg->builder, LLVMConstInt(ty_set, 1, 0), v_bit, "");
    LLVMValueRef v_at = LLVMBuildNUWAdd(cg->builder, t->v_first, r->v_lane, "");
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_here = zf_cg_icmp(cg, LLVMIntEQ, v_row, zf_cg_i32(cg, u));
        LLVMValueRef v_all = zf_simt_join(r->lower, zf_cg_select(cg, v_here, v_bit, LLVMConstNull(ty_set)));
        t->v_record[u] = zf_cg_add(cg, v_seen, zf_simt_count_lanes(cg, zf_cg_and(cg, v_all, r->v_upto)));
        v_seen = zf_cg_add(cg, v_seen, zf_simt_count_lanes(cg, v_all));
        t->v_at[u] = LLVMBuildNUWAdd(cg->builder, v_at, zf_cg_i32(cg, u * cg->wave), ""); // chunks have at most ZF_CHUNK_MOST
        t->v_in[u] = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, t->v_at[u], t->v_end), "elements of a tile");
    }
    *v_taken = v_seen;
}

// A place that can always be read, for elements that are not loaded: the first bytes of a stream, behind which there are more.
static LLVMValueRef harmless(const zf_records *r) {
    const zf_chunk_stream *s = r->chunk->streams;
    while (s->port == NULL || !zf_lower_in_memory(r->lower, s->edge)) s++;
    return zf_lower_pointer(r->lower, s->edge);
}

// Loads elements that other warps make of the same batch, once they have. v_source: i32.
static void copy_recent(zf_records *r, tile *t, const LLVMValueRef *v_recent, const LLVMValueRef *v_source,
                        const LLVMValueRef *v_from, LLVMValueRef v_harmless) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = element_type(r);
    LLVMValueRef v_some = zf_cg_i1(cg, false), v_last = zf_cg_i32(cg, 0);
    LLVMBasicBlockRef bb_recent = zf_cg_block(cg, "recent"), bb_copied = zf_cg_block(cg, "copied");
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_behind = zf_cg_umin(cg, zf_cg_add(cg, v_source[u], zf_cg_i32(cg, 1)), r->v_waits_for);
        LLVMValueRef v_later = zf_cg_icmp(cg, LLVMIntUGT, v_behind, v_last);
        v_last = zf_cg_select(cg, zf_cg_and(cg, v_recent[u], v_later), v_behind, v_last);
        v_some = zf_cg_or(cg, v_some, v_recent[u]);
    }
    zf_cg_cond_br(cg, zf_simt_any(r->lower, v_some), bb_recent, bb_copied);
    zf_cg_enter(cg, bb_recent);
    zf_records_await(r, v_last);
    LLVMValueRef v_loaded[ZF_RECORD_ROWS];
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        v_loaded[u] = LLVMBuildLoad2(cg->builder, ty, zf_cg_select(cg, v_recent[u], v_from[u], v_harmless), "");
        LLVMSetAlignment(v_loaded[u], zf_kind_size(r->lower->type.kind));
    }
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, ty, t->v_value[u], "");
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_recent[u], v_loaded[u], v_before), t->v_value[u]);
    }
    zf_cg_br(cg, bb_copied);
    LLVMMoveBasicBlockAfter(bb_copied, zf_cg_here(cg));
    zf_cg_enter(cg, bb_copied);
}

// Loads what is copied from outside of the tile: of all rows, before any of them is used.
static void copy_far(zf_records *r, tile *t) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = element_type(r);
    LLVMValueRef v_size = zf_cg_i64(cg, zf_kind_size(r->lower->type.kind)), v_from[ZF_RECORD_ROWS], v_at[ZF_RECORD_ROWS],
                 v_recent[ZF_RECORD_ROWS], v_source[ZF_RECORD_ROWS];
    LLVMValueRef v_harmless = r->program.copies ? harmless(r) : NULL;
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_head = zf_cg_load(cg, cg->ty_i64, zf_records_word_at(r, t->v_record[u], 0), 8), v_far = t->v_in[u];
        LLVMValueRef v_place = zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, u * cg->wave)); // in the tile
        t->v_site[u] = zf_cg_high_half(cg, v_head);
        t->v_near[u] = zf_cg_i1(cg, false);
        if (r->program.copies_back) {
            LLVMValueRef v_distance = zf_cg_low_half(cg, v_head);
            t->v_near[u] = zf_cg_icmp(cg, LLVMIntULE, v_distance, v_place);
            t->v_link[u] = zf_cg_sub(cg, v_place, v_distance);
            v_far = zf_cg_and(cg, v_far, zf_cg_not(cg, t->v_near[u]));
            if (r->v_waits_for != NULL) { // its source is of the same batch
                LLVMValueRef v_most = zf_cg_sub(cg, t->v_at[u], zf_cg_get(cg, r->v_batch));
                v_source[u] = zf_cg_sub(cg, t->v_at[u], v_distance);
                v_recent[u] = zf_cg_and(cg, v_far, zf_cg_icmp(cg, LLVMIntULE, v_distance, v_most));
                v_far = zf_cg_and(cg, v_far, zf_cg_not(cg, v_recent[u]));
            }
        }
        if (!r->program.copies) continue;
        if (r->program.has_terms) v_far = zf_cg_and(cg, v_far, zf_cg_icmp(cg, LLVMIntEQ, t->v_site[u], zf_cg_i32(cg, 0)));
        LLVMValueRef v_offset = zf_cg_load(cg, cg->ty_i64, zf_records_word_at(r, t->v_record[u], 1), 8);
        v_offset = zf_cg_add(cg, v_offset, zf_cg_mul(cg, zf_cg_wide(cg, t->v_at[u]), v_size));
        v_at[u] = zf_cg_at_sink(cg, cg->ty_i8, r->v_out, v_offset);
        v_far = LLVMBuildFreeze(cg->builder, v_far, ""); // else LLVM selects by each of its parts in turn
        v_from[u] = zf_cg_select(cg, v_far, v_at[u], v_harmless);
    }
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v = LLVMConstNull(ty);
        if (r->program.copies) {
            v = LLVMBuildLoad2(cg->builder, ty, v_from[u], "");
            LLVMSetAlignment(v, zf_kind_size(r->lower->type.kind));
        }
        LLVMBuildStore(cg->builder, v, t->v_value[u]);
    }
    if (r->v_waits_for != NULL) copy_recent(r, t, v_recent, v_source, v_at, v_harmless);
}

// The value of an expression's record v_record, for element v_at (i32s).
static zf_cg_value term_of(zf_records *r, const zf_record_site *site, LLVMValueRef v_record, LLVMValueRef v_at) {
    zf_cg *cg = r->cg;
    zf_chunk *chunk = r->chunk;
    LLVMValueRef v_words[ZF_RECORD_WORDS];
    for (uint32_t k = 0; k < zf_record_word_count(site); k++)
        v_words[k] = zf_cg_load(cg, cg->ty_i64, zf_records_word_at(r, v_record, 1 + k), 8);
    if (site->stmt->kind == ZF_S_EMIT) {
        zf_type type = site->stmt->value->type;
        return zf_cg_scalar(type, zf_cg_from_word(cg, type, v_words[0]));
    }
    const zf_binder *binder = &site->stmt->reduce->binders[0];
    LLVMValueRef v_begin = zf_cg_load(cg, cg->ty_i32, zf_records_begin_at(r, v_record), 4);
    LLVMValueRef v_k = zf_cg_wide(cg, zf_cg_sub(cg, v_at, v_begin));
    zf_cg_slot *saved = ZF_NEW_ARRAY(cg->arena, zf_cg_slot, site->local_count + 1);
    for (uint32_t k = 0; k < site->local_count; k++) {
        const zf_local *local = site->locals[k];
        saved[k] = *zf_cg_slot_of(cg, r->frame, local);
        zf_cg_value word = zf_cg_scalar(local->type, zf_cg_from_word(cg, local->type, v_words[k]));
        zf_cg_bind(cg, r->frame, local, &word);
    }
    LLVMValueRef v_pos = chunk->v_pos;
    if (site->takes_position) {
        chunk->v_pos = zf_cg_alloca(cg, cg->ty_i64, "position");
        LLVMBuildStore(cg->builder, v_words[site->local_count], chunk->v_pos);
    }
    if (site->takes_low) v_k = zf_cg_add(cg, v_k, v_words[site->local_count + site->takes_position]);
    zf_cg_value k_value = zf_cg_scalar(zf_type_of(ZF_K_U64), v_k);
    zf_cg_bind(cg, r->frame, binder->local, &k_value);
    zf_cg_value value = zf_cg_expr(cg, r->frame, site->stmt->reduce->term);
    chunk->v_pos = v_pos;
    for (uint32_t k = 0; k < site->local_count; k++) *zf_cg_slot_of(cg, r->frame, site->locals[k]) = saved[k];
    return value;
}

/// The elements of a tile that are a site's.
typedef struct matches {
    const zf_record_site *site;
    LLVMValueRef v_is[ZF_RECORD_ROWS];  ///< i1: that of the row is
    LLVMValueRef v_set[ZF_RECORD_ROWS]; ///< the lanes where it is
    LLVMValueRef v_count;               ///< i32: of all rows
} matches;

static matches find_matches(zf_records *r, const tile *t, uint32_t number) {
    zf_cg *cg = r->cg;
    matches m = {.site = &r->program.sites[number], .v_count = zf_cg_i32(cg, 0)};
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        m.v_is[u] = zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntEQ, t->v_site[u], zf_cg_i32(cg, number + 1)), t->v_in[u]);
        m.v_set[u] = zf_simt_ballot(r->lower, m.v_is[u]);
        m.v_count = zf_cg_add(cg, m.v_count, zf_simt_count_lanes(cg, m.v_set[u]));
    }
    return m;
}

static void set_value(zf_records *r, const tile *t, uint32_t u, LLVMValueRef v_is, zf_cg_value value) {
    zf_cg *cg = r->cg;
    LLVMValueRef v = zf_lower_memory_form(r->lower, r->lower->type, value);
    LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, LLVMTypeOf(v), t->v_value[u], "");
    LLVMBuildStore(cg->builder, zf_cg_select(cg, v_is, v, v_before), t->v_value[u]);
}

// A lane whose element of a row is another site's makes that of another lane once more, and lanes do not part. A proof that an
// expression rests on holds for its own records only.
static void make_rows(zf_records *r, const tile *t, const matches *m) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_record = t->v_record[0], v_at = t->v_at[0], v_set = m->v_set[0];
    for (uint32_t u = 1; u < ZF_RECORD_ROWS; u++) {
        v_record = zf_cg_select(cg, m->v_is[u], t->v_record[u], v_record);
        v_at = zf_cg_select(cg, m->v_is[u], t->v_at[u], v_at);
        v_set = zf_cg_or(cg, v_set, m->v_set[u]);
    }
    LLVMValueRef v_args[2] = {v_set, zf_cg_i1(cg, true)}; // the site has some
    LLVMValueRef v_from = zf_cg_resize(cg, zf_cg_intrinsic(cg, "llvm.cttz", &ty_set, 1, v_args, 2), cg->ty_i32, false);
    v_record = zf_simt_shuffle(r->lower, v_record, v_from);
    v_at = zf_simt_shuffle(r->lower, v_at, v_from);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_own_record = zf_cg_select(cg, m->v_is[u], t->v_record[u], v_record);
        LLVMValueRef v_own_at = zf_cg_select(cg, m->v_is[u], t->v_at[u], v_at);
        set_value(r, t, u, m->v_is[u], term_of(r, m->site, v_own_record, v_own_at));
    }
}

// No more elements than there are lanes are made at once, wherever they are in the tile.
static void make_few(zf_records *r, const tile *t, const matches *m) {
    enum { PLACE = 16 }; // the bits of a record's place in the ring
    zf_cg *cg = r->cg;
    zf_type type = m->site->stmt->reduce->term->type;
    LLVMTypeRef ty_word = zf_kind_bits(type.kind) > 32 ? cg->ty_i64 : cg->ty_i32;
    LLVMValueRef v_rank[ZF_RECORD_ROWS], v_before = zf_cg_i32(cg, 0), v_below = zf_simt_lanes_below(cg, r->v_lane);
    zf_simt_barrier_warp(r->lower, "elements that are found before others");
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMBasicBlockRef bb_put = zf_cg_block(cg, "few"), bb_done = zf_cg_block(cg, "few_put");
        v_rank[u] = zf_cg_add(cg, v_before, zf_simt_count_lanes(cg, zf_cg_and(cg, m->v_set[u], v_below)));
        v_before = zf_cg_add(cg, v_before, zf_simt_count_lanes(cg, m->v_set[u]));
        zf_cg_cond_br(cg, m->v_is[u], bb_put, bb_done);
        zf_cg_enter(cg, bb_put);
        LLVMValueRef v_place = zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, u * cg->wave));
        LLVMValueRef v = zf_cg_and(cg, t->v_record[u], zf_cg_i32(cg, r->ring - 1));
        v = zf_cg_or(cg, v, LLVMBuildShl(cg->builder, v_place, zf_cg_i32(cg, PLACE), ""));
        zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_i32, r->v_few, zf_cg_wide(cg, v_rank[u])), 4);
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_done);
    }
    zf_simt_barrier_warp(r->lower, "elements that are found before those who make them");
    LLVMValueRef v_own = zf_cg_icmp(cg, LLVMIntULT, r->v_lane, m->v_count); // others make the first once more
    v_own = zf_cg_select(cg, v_own, r->v_lane, zf_cg_i32(cg, 0));
    v_own = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, r->v_few, zf_cg_wide(cg, v_own)), 4);
    LLVMValueRef v_at = zf_cg_add(cg, t->v_first, LLVMBuildLShr(cg->builder, v_own, zf_cg_i32(cg, PLACE), ""));
    LLVMValueRef v_record = zf_cg_and(cg, v_own, zf_cg_i32(cg, (1 << PLACE) - 1));
    zf_cg_value value = term_of(r, m->site, v_record, v_at);
    LLVMValueRef v_word = zf_cg_resize(cg, zf_cg_to_word(cg, type, value.v), ty_word, false);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v = zf_simt_shuffle(r->lower, v_word, zf_cg_and(cg, v_rank[u], zf_cg_i32(cg, cg->wave - 1)));
        v = zf_cg_from_word(cg, type, zf_cg_resize(cg, v, cg->ty_i64, false));
        set_value(r, t, u, m->v_is[u], zf_cg_scalar(type, v));
    }
}

// The same where other sites' words do no harm: lanes take the words of whatever record they have.
static void make_plain(zf_records *r, const tile *t, uint32_t number) {
    zf_cg *cg = r->cg;
    const zf_record_site *site = &r->program.sites[number];
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "plain"), bb_made = zf_cg_block(cg, "plain_made");
    LLVMValueRef v_is[ZF_RECORD_ROWS], v_some = zf_cg_i1(cg, false);
    bool is_word =
        site->stmt->kind == ZF_S_EMIT || zf_expr_uncast(site->stmt->reduce->term)->kind == ZF_X_LOCAL; // sooner than to ask
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        v_is[u] = zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntEQ, t->v_site[u], zf_cg_i32(cg, number + 1)), t->v_in[u]);
        v_some = zf_cg_or(cg, v_some, v_is[u]);
    }
    zf_cg_cond_br(cg, is_word ? zf_cg_i1(cg, true) : zf_simt_any(r->lower, v_some), bb_some, bb_made);
    zf_cg_enter(cg, bb_some);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) set_value(r, t, u, v_is[u], term_of(r, site, t->v_record[u], t->v_at[u]));
    zf_cg_br(cg, bb_made);
    LLVMMoveBasicBlockAfter(bb_made, zf_cg_here(cg));
    zf_cg_enter(cg, bb_made);
}

// The values of all elements that a site's records have in the tile, without a branch for each.
static void make_terms(zf_records *r, const tile *t, uint32_t number) {
    zf_cg *cg = r->cg;
    if (r->program.sites[number].stmt->kind == ZF_S_EMIT || r->program.sites[number].any_words) {
        make_plain(r, t, number);
        return;
    }
    matches m = find_matches(r, t, number);
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "terms"), bb_few = zf_cg_block(cg, "terms_few"),
                      bb_rows = zf_cg_block(cg, "terms_rows"), bb_made = zf_cg_block(cg, "terms_made");
    bool few = zf_record_makes_few(&r->program, m.site);
    zf_chunk_notes notes;
    zf_chunk_notes_begin(r->chunk, &notes);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, m.v_count, zf_cg_i32(cg, 0)), bb_some, bb_made);
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_few = zf_cg_icmp(cg, LLVMIntULE, m.v_count, zf_cg_i32(cg, cg->wave));
    zf_cg_cond_br(cg, few ? v_few : zf_cg_i1(cg, false), bb_few, bb_rows);
    zf_cg_enter(cg, bb_few);
    if (few) make_few(r, t, &m);
    zf_cg_br(cg, bb_made);
    LLVMMoveBasicBlockAfter(bb_rows, zf_cg_here(cg));
    zf_cg_enter(cg, bb_rows);
    make_rows(r, t, &m);
    zf_cg_br(cg, bb_made);
    LLVMMoveBasicBlockAfter(bb_made, zf_cg_here(cg));
    zf_cg_enter(cg, bb_made);
    zf_chunk_notes_end(r->chunk);
    if (notes.some) zf_lower_fail(r->lower, LLVMBuildLoad2(cg->builder, cg->ty_i1, notes.v_failed, ""), 0);
}

// Follows the links of elements that are copied from the tile. A link is the place of another element of the tile; or it is at
// its end, with the value, where elements are bytes, else with the place of one whose value is known.
static void follow_links(zf_records *r, tile *t) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = element_type(r), ty_link = LLVMInt16TypeInContext(cg->context);
    bool bytes = zf_kind_size(r->lower->type.kind) == 1;
    LLVMValueRef v_value_bit = zf_cg_i32(cg, VALUE), v_open = zf_cg_i1(cg, false), v_place[ZF_RECORD_ROWS],
                 v_slot[ZF_RECORD_ROWS];
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        v_place[u] = zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, u * cg->wave));
        v_slot[u] = zf_cg_alloca(cg, cg->ty_i32, "link");
        v_open = zf_cg_or(cg, v_open, t->v_near[u]);
    }
    LLVMBasicBlockRef bb_near = zf_cg_block(cg, "near"), bb_known = zf_cg_block(cg, "known"), bb_round = zf_cg_block(cg, "round"),
                      bb_again = zf_cg_block(cg, "again"), bb_ends = zf_cg_block(cg, "ends");
    zf_cg_cond_br(cg, zf_simt_any(r->lower, v_open), bb_near, bb_known);
    zf_cg_enter(cg, bb_near);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_value = LLVMBuildLoad2(cg->builder, ty, t->v_value[u], ""), v_end = v_place[u];
        if (bytes)
            v_end = zf_cg_resize(cg, v_value, cg->ty_i32, false);
        else
            zf_cg_store(cg, v_value, zf_cg_at(cg, ty, r->v_values, zf_cg_wide(cg, v_place[u])),
                        zf_kind_size(r->lower->type.kind));
        LLVMValueRef v_link = zf_cg_select(cg, t->v_near[u], t->v_link[u], zf_cg_or(cg, v_end, v_value_bit));
        LLVMBuildStore(cg->builder, v_link, v_slot[u]);
        zf_cg_store(cg, zf_cg_resize(cg, v_link, ty_link, false), zf_cg_at(cg, ty_link, r->v_links, zf_cg_wide(cg, v_place[u])),
                    2);
    }
    zf_cg_br(cg, bb_round);
    zf_cg_enter(cg, bb_round);
    zf_simt_barrier_warp(r->lower, "links before those that follow them");
    v_open = zf_cg_i1(cg, false);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) { // of one at its end the own place is read
        LLVMValueRef v_link = zf_cg_get(cg, v_slot[u]), v_ended = zf_cg_icmp(cg, LLVMIntUGE, v_link, v_value_bit);
        LLVMValueRef v_from = zf_cg_at(cg, ty_link, r->v_links, zf_cg_wide(cg, zf_cg_select(cg, v_ended, v_place[u], v_link)));
        v_link = zf_cg_resize(cg, zf_cg_load(cg, ty_link, v_from, 2), cg->ty_i32, false);
        LLVMBuildStore(cg->builder, v_link, v_slot[u]);
        v_open = zf_cg_or(cg, v_open, zf_cg_icmp(cg, LLVMIntULT, v_link, v_value_bit));
    }
    zf_cg_cond_br(cg, zf_simt_any(r->lower, v_open), bb_again, bb_ends);
    zf_cg_enter(cg, bb_again);
    zf_simt_barrier_warp(r->lower, "links that are followed before what they become");
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v_to = zf_cg_at(cg, ty_link, r->v_links, zf_cg_wide(cg, v_place[u]));
        zf_cg_store(cg, zf_cg_resize(cg, zf_cg_get(cg, v_slot[u]), ty_link, false), v_to, 2);
    }
    zf_cg_br(cg, bb_round);
    zf_cg_enter(cg, bb_ends);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMValueRef v = zf_cg_and(cg, zf_cg_get(cg, v_slot[u]), zf_cg_i32(cg, VALUE - 1));
        if (bytes)
            v = zf_cg_resize(cg, v, ty, false);
        else
            v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, r->v_values, zf_cg_wide(cg, v)), zf_kind_size(r->lower->type.kind));
        LLVMBuildStore(cg->builder, v, t->v_value[u]);
    }
    zf_cg_br(cg, bb_known);
    zf_cg_enter(cg, bb_known);
}

static void store_rows(zf_records *r, const tile *t) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty = element_type(r);
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "row"), bb_stored = zf_cg_block(cg, "row_stored");
        LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, t->v_value[u], "");
        LLVMValueRef v_to = zf_cg_add(cg, r->chunk->v_start, zf_cg_wide(cg, t->v_at[u]));
        LLVMValueRef v_is = t->v_in[u];
        if (r->program.inner != NULL) {
            LLVMValueRef v_made = zf_cg_icmp(cg, LLVMIntNE, t->v_site[u], zf_cg_i32(cg, ZF_RECORD_STORED));
            v_is = zf_cg_and(cg, v_is, zf_cg_holds(cg, ZF_SITE_MASK, v_made, "elements that are stored already"));
        }
        zf_cg_cond_br(cg, v_is, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        zf_lower_store(r->lower, zf_cg_scalar(r->lower->type, v), r->lower->v_sink, v_to);
        zf_cg_br(cg, bb_stored);
        LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
        zf_cg_enter(cg, bb_stored);
    }
}

void zf_records_make_tile(zf_records *r) {
    zf_cg *cg = r->cg;
    tile t = {.v_first = zf_cg_get(cg, r->v_tile)};
    LLVMValueRef v_taken;
    for (uint32_t u = 0; u < ZF_RECORD_ROWS; u++) t.v_value[u] = zf_cg_alloca(cg, element_type(r), "element");
    find_records(r, &t, &v_taken);
    copy_far(r, &t);
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        const zf_record_site *site = &r->program.sites[s];
        if (!zf_record_is_copy(site) && !site->direct) make_terms(r, &t, s);
    }
    if (r->program.copies_back) follow_links(r, &t);
    store_rows(r, &t);
    LLVMBuildStore(cg->builder, t.v_end, r->v_tile);
    LLVMBuildStore(cg->builder, v_taken, r->v_taken);
    zf_simt_barrier_warp(r->lower, "elements and records of a tile before those of the next");
}

// Whether a tile is to be made (i1).
static LLVMValueRef is_due(zf_records *r, LLVMValueRef v_last, uint32_t room) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_left = zf_cg_sub(cg, zf_cg_get(cg, r->v_end), zf_cg_get(cg, r->v_tile));
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntUGE, v_left, zf_cg_i32(cg, zf_record_tile(cg->wave)));
    LLVMValueRef v_rest = zf_cg_and(cg, v_last, zf_cg_icmp(cg, LLVMIntNE, v_left, zf_cg_i32(cg, 0)));
    LLVMValueRef v_live = zf_cg_sub(cg, zf_cg_get(cg, r->v_made), zf_cg_get(cg, r->v_taken));
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntUGT, v_live, zf_cg_i32(cg, r->ring - room));
    v_full = zf_cg_edge(cg, v_full, "records that have a place");
    return zf_cg_or(cg, zf_cg_or(cg, v_more, v_rest), v_full);
}

void zf_records_drain(zf_records *r, LLVMValueRef v_last, uint32_t room) {
    zf_cg *cg = r->cg;
    zf_cg_put_off *put_off = cg->put_off;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "drain"), bb_tile = zf_cg_block(cg, "tile"), bb_end = zf_cg_block(cg, "drained");
    zf_simt_barrier_warp(r->lower, "records before their elements");
    LLVMValueRef v_ok = zf_cg_put_off_take(cg);
    cg->put_off = NULL; // lanes make elements apart
    if (v_ok != NULL) { // mostly there is neither a failure nor a tile, which one branch finds
        LLVMBasicBlockRef bb_either = zf_cg_block(cg, "failed_or_due");
        LLVMValueRef v_not = zf_cg_not(cg, is_due(r, v_last, room));
        zf_cg_cond_br(cg, zf_cg_select(cg, v_ok, v_not, zf_cg_i1(cg, false)), bb_end, bb_either);
        zf_cg_enter(cg, bb_either);
        zf_cg_cond_br(cg, v_ok, bb_head, *put_off->bb_stop);
    } else {
        zf_cg_br(cg, bb_head);
    }
    zf_cg_enter(cg, bb_head);
    zf_cg_cond_br(cg, is_due(r, v_last, room), bb_tile, bb_end);
    zf_cg_enter(cg, bb_tile);
    zf_records_make_tile(r);
    zf_cg_br(cg, bb_head);
    zf_simt_keep_loop(cg, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    cg->put_off = put_off;
}
