/* SPDX-License-Identifier: MIT */
/* PATH.partial: members and checkpoints, written and read in pieces. What is written counts once its hash is there. */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "store/partial_work.h"

enum { SLOT_HEAD = 128, PIECE = 1 << 20 /* bytes that are read at a time */ };

/* A slot takes no room on disk before it is written. */
typedef struct slot_head {
    uint64_t sequence; /* 0 = empty */
    lli_checkpoint state;
    char hash[LLI_HASH_TEXT];
} slot_head;

_Static_assert(sizeof(slot_head) <= SLOT_HEAD, "the header of a slot fits its reserved space");

int64_t lli_partial_work_offset(const lli_partial *p, int tensor, int64_t member) {
    return p->offsets[tensor] + member * (int64_t)p->bytes[tensor];
}

int64_t lli_partial_work_slot_bytes(const lli_partial *p) {
    return SLOT_HEAD + p->floats * (int64_t)sizeof(float);
}

static int64_t slot_offset(const lli_partial *p, int64_t task, uint64_t sequence) {
    return p->slots + (2 * task + (int64_t)(sequence % 2)) * lli_partial_work_slot_bytes(p);
}

/* ---- writing ---- */

static void start_slot_hash(lli_hash *hash, uint64_t sequence, const lli_checkpoint *state) {
    lli_hash_init(hash);
    lli_hash_add(hash, &sequence, sizeof sequence);
    lli_hash_add(hash, state, sizeof *state);
}

static bool begin(lli_store *store, lli_pieces *w) {
    const lli_partial *p = (lli_partial *)store;
    w->done = 0;
    w->tensor = 0;
    lli_fingerprint_init(&w->fingerprint);
    if (!w->checkpoint)
        return true;
    w->begun = lli_clock_seconds();
    if (w->index >= p->tasks || w->begun - p->journals[w->index].time < LLI_MAX(0.5, 20 * p->journals[w->index].cost))
        return false;
    w->sequence = p->journals[w->index].sequence + 1;
    start_slot_hash(&w->hash, w->sequence, &w->state);
    return true;
}

static ll_status add(lli_store *store, ll_context *ctx, lli_pieces *w, const float *floats, int64_t count) {
    const lli_partial *p = (lli_partial *)store;
    int64_t bytes = count * (int64_t)sizeof *floats,
            at = w->checkpoint ? slot_offset(p, w->index, w->sequence) + SLOT_HEAD : lli_partial_work_offset(p, w->tensor, w->index);
    LLI_TRY(lli_outfile_write_at(ctx, p->file, at + w->done, floats, (size_t)bytes));
    w->done += bytes;
    if (w->checkpoint)
        lli_hash_add(&w->hash, floats, (size_t)bytes);
    else
        lli_fingerprint_add(&w->fingerprint, floats, count);
    if (!w->checkpoint && w->done == (int64_t)p->bytes[w->tensor]) {
        w->tensor++;
        w->done = 0;
    }
    return LL_OK;
}

static ll_status end(lli_store *store, ll_context *ctx, lli_pieces *w) {
    lli_partial *p = (lli_partial *)store;
    if (!w->checkpoint) {
        lli_fingerprint made;
        lli_fingerprint_end(&w->fingerprint, &made);
        return lli_outfile_write_at(ctx, p->file, lli_partial_work_offset(p, p->tensors, w->index), &made, sizeof made);
    }
    slot_head head = {.sequence = w->sequence, .state = w->state};
    lli_hash_text(&w->hash, head.hash);
    LLI_TRY(lli_outfile_write_at(ctx, p->file, slot_offset(p, w->index, w->sequence), &head, sizeof head));
    lli_partial_journal *j = &p->journals[w->index];
    j->sequence = w->sequence;
    j->time = lli_clock_seconds();
    j->cost = j->time - w->begun;
    return LL_OK;
}

static ll_status save(lli_store *store, ll_context *ctx, int64_t member, const float *const *tensors) {
    const lli_partial *p = (lli_partial *)store;
    lli_pieces w = {.index = member};
    (void)begin(store, &w);
    for (int i = 0; i < p->tensors; i++)
        LLI_TRY(add(store, ctx, &w, tensors[i], (int64_t)(p->bytes[i] / sizeof(float))));
    return end(store, ctx, &w);
}

static ll_status checkpoint(lli_store *store, ll_context *ctx, int64_t task, const lli_checkpoint *state, const float *theta,
                            int64_t floats) {
    lli_pieces w = {.index = task, .checkpoint = true, .state = *state};
    if (!begin(store, &w))
        return LL_OK;
    LLI_TRY(add(store, ctx, &w, theta, floats));
    return end(store, ctx, &w);
}

/* ---- reading ---- */

static bool has(lli_store *store, int64_t member) {
    const lli_partial *p = (lli_partial *)store;
    return p->member_done && p->member_done[member];
}

/* Bytes of the file go to one or the other. */
static ll_status read_range(ll_context *ctx, const lli_partial *p, lli_hash *hash, lli_fingerprint_work *fingerprint, int64_t at,
                            int64_t bytes, float *piece) {
    for (int64_t done = 0, n; done < bytes; done += n) {
        n = LLI_MIN(bytes - done, (int64_t)PIECE);
        LLI_TRY(lli_outfile_read_at(ctx, p->file, at + done, piece, (size_t)n));
        if (hash)
            lli_hash_add(hash, piece, (size_t)n);
        else
            lli_fingerprint_add(fingerprint, piece, n / (int64_t)sizeof *piece);
    }
    return LL_OK;
}

ll_status lli_partial_work_check(ll_context *ctx, const lli_partial *p, int64_t member, const lli_fingerprint *record, bool *fits) {
    lli_fingerprint_work work;
    lli_fingerprint made;
    float *piece;
    LLI_TRY(lli_memory_new(ctx, &piece, PIECE, 1));
    lli_fingerprint_init(&work);
    ll_status status = LL_OK;
    for (int i = 0; status == LL_OK && i < p->tensors; i++)
        status = read_range(ctx, p, NULL, &work, lli_partial_work_offset(p, i, member), (int64_t)p->bytes[i], piece);
    lli_fingerprint_end(&work, &made);
    *fits = status == LL_OK && memcmp(&made, record, sizeof made) == 0;
    lli_memory_free(piece);
    return status;
}

/* The head of one slot; *complete = its hash fits what follows. */
static ll_status check_slot(ll_context *ctx, const lli_partial *p, int64_t task, uint64_t parity, slot_head *head, bool *complete) {
    int64_t at = slot_offset(p, task, parity);
    lli_hash hash;
    float *piece;
    char text[LLI_HASH_TEXT];
    LLI_TRY(lli_outfile_read_at(ctx, p->file, at, head, sizeof *head));
    *complete = head->sequence > 0;
    if (!*complete)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &piece, PIECE, 1));
    start_slot_hash(&hash, head->sequence, &head->state);
    ll_status status = read_range(ctx, p, &hash, NULL, at + SLOT_HEAD, p->floats * (int64_t)sizeof(float), piece);
    lli_hash_text(&hash, text);
    *complete = status == LL_OK && memcmp(text, head->hash, sizeof text) == 0;
    lli_memory_free(piece);
    return status;
}

static ll_status restore(lli_store *store, ll_context *ctx, int64_t task, lli_checkpoint *state, float *theta, const lli_window *of,
                         bool *found) {
    lli_partial *p = (lli_partial *)store;
    *found = false;
    for (uint64_t parity = 0; p->found && task < p->tasks && parity < 2; parity++) {
        slot_head head;
        bool complete;
        LLI_TRY(check_slot(ctx, p, task, parity, &head, &complete));
        if (!complete || head.sequence <= p->journals[task].sequence)
            continue;
        *found = true;
        p->journals[task].sequence = head.sequence;
        *state = head.state;
    }
    int64_t at = *found ? slot_offset(p, task, p->journals[task].sequence) + SLOT_HEAD : 0;
    for (int64_t c = 0; *found && c < of->copies; c++)
        LLI_TRY(lli_outfile_read_at(ctx, p->file, at + (c * of->whole + of->first) * (int64_t)sizeof *theta, theta + c * of->count,
                                    (size_t)of->count * sizeof *theta));
    return LL_OK;
}

const lli_store_ops lli_partial_ops = {save, has, checkpoint, restore, begin, add, end};
