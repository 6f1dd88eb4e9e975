/* SPDX-License-Identifier: MIT */
/* Inside of a work file: what partial.c lays out, and partial_slots.c fills. */
#ifndef LLI_STORE_PARTIAL_WORK_H
#define LLI_STORE_PARTIAL_WORK_H

#include "store/partial.h"

/* What is known of the two slots of a task. */
typedef struct lli_partial_journal {
    uint64_t sequence; /* of the last checkpoint */
    double time, cost; /* when it was written, and how long that took */
} lli_partial_journal;

struct lli_partial {
    lli_store store;
    lli_outfile *file;
    char *path;
    bool found;    /* an interrupted run is there */
    bool complete; /* it was interrupted after its last member, while finishing */
    int tensors;
    size_t bytes[LLI_TENSORS_MAX + 1]; /* of one member's tensors, and of its fingerprint */
    int64_t stored, floats, tasks;
    int64_t offsets[LLI_ENSEMBLE_ARRAYS_MAX], end;
    int64_t slots;                 /* where the checkpoints begin */
    bool *member_done;             /* [stored] members of the interrupted run whose bytes match their hash */
    lli_partial_journal *journals; /* [tasks] */
};

extern const lli_store_ops lli_partial_ops;

int64_t lli_partial_work_slot_bytes(const lli_partial *partial);
int64_t lli_partial_work_offset(const lli_partial *partial, int tensor, int64_t member);
/* *fits: the member's bytes are those that its fingerprint was made of. */
ll_status lli_partial_work_check(ll_context *ctx, const lli_partial *partial, int64_t member, const lli_fingerprint *record,
                                 bool *fits) LL_CHECK_RESULT;

#endif
