/* SPDX-License-Identifier: MIT */
/* Progress of work that several workers share: each adds what it did. */
#ifndef LLI_BASE_METER_H
#define LLI_BASE_METER_H

#include <stdatomic.h>

#include "base/context.h"

typedef struct lli_meter {
    const char *what;
    int64_t total;
    _Atomic int64_t done;
    struct lli_meter *into; /* part of a larger work, whose meter tells it; NULL = tells itself */
    int64_t unit;           /* what one of ours counts there */
} lli_meter;

static inline void lli_meter_init(lli_meter *meter, const char *what, int64_t total) {
    meter->what = what;
    meter->total = total > 0 ? total : 1;
    atomic_init(&meter->done, 0);
    meter->into = NULL;
    meter->unit = 1;
}

static inline void lli_meter_init_part(lli_meter *meter, lli_meter *into, int64_t unit, int64_t total) {
    lli_meter_init(meter, into->what, total);
    meter->into = into;
    meter->unit = unit;
}

static inline void lli_meter_add(ll_context *ctx, lli_meter *meter, int64_t amount) {
    int64_t done = atomic_fetch_add(&meter->done, amount) + amount;
    if (meter->into) {
        done = atomic_fetch_add(&meter->into->done, amount * meter->unit) + amount * meter->unit;
        meter = meter->into;
    }
    lli_progress(ctx, meter->what, (double)done, (double)meter->total);
}

#endif
