/* SPDX-License-Identifier: MIT */
/* Medians are over rows whose members differ: where all agree to the bit there is nothing to judge. */
#include "metrics/diagnosis.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/sort.h"

/* *median and *least (or largest, with `most`) of the numbers that are not NaN; NaN where there are none. */
static void summarise(double *median, double *extreme, const double *x, int64_t n, bool most, lli_sort_item *items) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            items[count++] = (lli_sort_item){x[i], i};
    *median = *extreme = NAN;
    if (count == 0)
        return;
    lli_sort_descending(items, items + n, count);
    *median = 0.5 * (items[(count - 1) / 2].key + items[count / 2].key);
    *extreme = items[most ? 0 : count - 1].key;
}

static ll_status judge(ll_context *ctx, ll_diagnosis *d) {
    ll_diagnosis_info *i = &d->info;
    int64_t tell = 0;
    lli_sort_item *items;
    LLI_TRY(lli_memory_new(ctx, &items, 2 * i->rows, sizeof *items));
    i->rhat_limit = i->chains > 1 ? lli_mixing_rhat_limit(i->chains, i->members / i->chains) : NAN;
    ll_status status = LL_OK;
    for (int64_t r = 0; r < i->rows && status == LL_OK; r++) {
        lli_mixing m;
        status = lli_mixing_of(&m, ctx, d->draws + r * i->members, i->chains, i->members / i->chains);
        d->rhat[r] = i->chains > 1 ? m.rhat : NAN;
        d->bulk[r] = m.bulk;
        d->tail[r] = m.tail;
        tell += !isnan(d->rhat[r]);
        i->above += d->rhat[r] > i->rhat_limit;
    }
    summarise(&i->rhat_median, &i->rhat_most, d->rhat, i->rows, true, items);
    summarise(&i->bulk_median, &i->bulk_least, d->bulk, i->rows, false, items);
    summarise(&i->tail_median, &i->tail_least, d->tail, i->rows, false, items);
    i->apart = (double)i->above > LLI_DIAGNOSIS_SHARE * (double)tell;
    i->repeating = i->bulk_median < LLI_DIAGNOSIS_WORTH * (double)i->members;
    lli_memory_free(items);
    return status;
}

ll_status lli_diagnosis_new(ll_diagnosis **out, ll_context *ctx, const char *method, int64_t chains, int64_t members, int64_t rows,
                            int64_t among, int64_t *row, double *draws) {
    ll_diagnosis *d = NULL;
    ll_status status;
    *out = NULL;
    LLI_DO(lli_memory_new(ctx, &d, 1, sizeof *d));
    d->row = row;
    d->draws = draws;
    row = NULL;
    draws = NULL;
    d->info = (ll_diagnosis_info){.members = members, .chains = chains, .rows = rows, .among = among};
    LLI_DO(lli_memory_new(ctx, &d->method, (int64_t)strlen(method) + 1, 1));
    d->info.method = strcpy(d->method, method);
    LLI_DO(lli_memory_new(ctx, &d->rhat, rows, sizeof *d->rhat));
    LLI_DO(lli_memory_new(ctx, &d->bulk, rows, sizeof *d->bulk));
    LLI_DO(lli_memory_new(ctx, &d->tail, rows, sizeof *d->tail));
    LLI_DO(judge(ctx, d));
    *out = d;
    d = NULL;
done:
    ll_diagnosis_free(d);
    lli_memory_free(row);
    lli_memory_free(draws);
    return status;
}

void ll_diagnosis_free(ll_diagnosis *d) {
    if (!d)
        return;
    lli_memory_free(d->method);
    lli_memory_free(d->row);
    lli_memory_free(d->rhat);
    lli_memory_free(d->bulk);
    lli_memory_free(d->tail);
    lli_memory_free(d->draws);
    lli_memory_free(d);
}

const ll_diagnosis_info *ll_diagnosis_view(const ll_diagnosis *diagnosis) {
    return diagnosis ? &diagnosis->info : NULL;
}

ll_array ll_diagnosis_array(const ll_diagnosis *d, const char *name) {
    if (d && name) {
        const struct {
            const char *name;
            const void *data;
            ll_dtype dtype;
            int rank;
        } all[] = {{"row", d->row, LL_DTYPE_I64, 1},
                   {"rhat", d->rhat, LL_DTYPE_F64, 1},
                   {"bulk", d->bulk, LL_DTYPE_F64, 1},
                   {"tail", d->tail, LL_DTYPE_F64, 1},
                   {"draws", d->draws, LL_DTYPE_F64, 2}};
        const int64_t shape[] = {d->info.rows, d->info.members};
        for (size_t i = 0; i < LLI_COUNT(all); i++)
            if (strcmp(all[i].name, name) == 0)
                return ll_array_view(all[i].data, all[i].dtype, all[i].rank, shape);
    }
    return (ll_array){.rank = -1};
}
