/* SPDX-License-Identifier: MIT */
/* Builds the steps of a confidence. */
#include "metrics/curve.h"

#include <math.h>

#include "base/memory.h"

ll_status lli_curve_init(lli_curve *curve, ll_context *ctx, int64_t capacity) {
    *curve = (lli_curve){.capacity = capacity};
    LLI_TRY(lli_memory_new(ctx, &curve->step, capacity, sizeof *curve->step));
    LLI_TRY(lli_memory_new(ctx, &curve->items, capacity, sizeof *curve->items));
    return lli_memory_new(ctx, &curve->scratch, capacity, sizeof *curve->scratch);
}

void lli_curve_release(lli_curve *curve) {
    lli_memory_free(curve->step);
    lli_memory_free(curve->items);
    lli_memory_free(curve->scratch);
    *curve = (lli_curve){0};
}

void lli_curve_clear(lli_curve *curve) {
    curve->n = curve->marked = curve->steps = 0;
}

void lli_curve_add(lli_curve *curve, const double *confidence, int64_t n, bool falling, const uint8_t *mark, bool all) {
    lli_sort_item *items = curve->items + curve->n;
    for (int64_t i = 0; i < n; i++)
        items[i] = (lli_sort_item){.key = falling ? -confidence[i] : confidence[i], .tag = (curve->n + i) << 1 | (mark ? mark[i] : all)};
    curve->n += n;
}

/* Marked points behind the others of their group [first, end): the order is that of the values, whatever the order of the input. */
static void part(lli_curve *curve, int64_t first, int64_t end) {
    int64_t plain = first, marked = 0;
    for (int64_t i = first; i < end; i++)
        if (lli_curve_is_marked(curve, i))
            curve->scratch[marked++] = curve->items[i];
        else
            curve->items[plain++] = curve->items[i];
    for (int64_t i = 0; i < marked; i++)
        curve->items[plain + i] = curve->scratch[i];
}

ll_status lli_curve_close(ll_context *ctx, lli_curve *curve) {
    LLI_TRY(lli_cancel_check(ctx));
    lli_sort_descending(curve->items, curve->scratch, curve->n);
    curve->marked = curve->steps = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < curve->n; i++) {
        curve->marked += lli_curve_is_marked(curve, i);
        bool last = i + 1 == curve->n || curve->items[i + 1].key != curve->items[i].key;
        if (!last)
            continue;
        if (i > first)
            part(curve, first, i + 1);
        first = i + 1;
        curve->step[curve->steps++] = (lli_curve_step){.cut = curve->items[i].key, .accepted = i + 1, .marked = curve->marked};
    }
    return LL_OK;
}

int64_t lli_curve_size(const lli_curve *curve, int64_t i) {
    return curve->step[i].accepted - (i ? curve->step[i - 1].accepted : 0);
}

int64_t lli_curve_marked(const lli_curve *curve, int64_t i) {
    return curve->step[i].marked - (i ? curve->step[i - 1].marked : 0);
}

double lli_curve_auroc(const lli_curve *curve) {
    int64_t marked = curve->marked, plain = curve->n - marked;
    if (marked == 0 || plain == 0)
        return NAN;
    double won = 0; /* pairs, a tie counting half */
    for (int64_t i = 0; i < curve->steps; i++) {
        double here = (double)(lli_curve_size(curve, i) - lli_curve_marked(curve, i));
        won += here * ((double)(marked - curve->step[i].marked) + 0.5 * (double)lli_curve_marked(curve, i));
    }
    return won / ((double)plain * (double)marked);
}
