/* SPDX-License-Identifier: MIT */
/* PATH.partial of a training: two slots, written in turn, each whole or as if it had not been.
 *
 *     0        "lastlayer-slots-1", the size of a slot's payload, and what was begun: options, data, version
 *     ...      two slots: sequence, hash, payload
 *
 * The result is another file, written when the work is done; then this one goes. */
#ifndef LLI_STORE_SLOTS_H
#define LLI_STORE_SLOTS_H

#include "base/context.h"

typedef struct lli_slots lli_slots;

/* A payload is several pieces of memory, one after the other. */
typedef struct lli_slots_piece {
    void *bytes;
    size_t count;
} lli_slots_piece;

/* Opens (or with `resume` reopens) the work file of target `path`. Without `resume` one that exists is refused. */
ll_status lli_slots_open(lli_slots **out, ll_context *ctx, const char *path, bool resume) LL_CHECK_RESULT;
/* `identity` says what is being made. A file that was begun as something else is refused. The pieces, of the same sizes ever after, receive
 * the last payload kept: *found. */
ll_status lli_slots_begin(ll_context *ctx, lli_slots *slots, const char *identity, const lli_slots_piece *pieces, int count,
                          bool *found) LL_CHECK_RESULT;
ll_status lli_slots_save(ll_context *ctx, lli_slots *slots, const lli_slots_piece *pieces, int count) LL_CHECK_RESULT;
/* Frees it; NULL is fine. The file stays for a resume if something was kept in it and `keep` says so. */
void lli_slots_close(lli_slots *slots, bool keep);

#endif
