/* SPDX-License-Identifier: MIT */
/* Calibrations of someone else's outputs: fitted on them, applied to them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "calibrate/calibrate.h"
#include "calibrate/scaling.h"
#include "predict/predictions.h"

/* The smallest positive number of the type; of integers, whose zeros are exact, that of f64. */
static double least_of(ll_dtype dtype) {
    switch (dtype) {
    case LL_DTYPE_F16: return 0x1p-24;
    case LL_DTYPE_BF16: return 0x1p-133;
    case LL_DTYPE_F32: return 0x1p-149;
    default: return 0x1p-1074;
    }
}

static void outputs_release(lli_calibrate_outputs *o, int workers) {
    for (int w = 0; o->work && w < workers; w++)
        lli_memory_free(o->work[w]);
    lli_memory_free(o->work);
    o->work = NULL;
}

static ll_status outputs_init(ll_context *ctx, lli_calibrate_outputs *o, ll_array array, bool logits) {
    int members = array.rank == 3, workers = lli_pool_workers(ctx);
    *o = (lli_calibrate_outputs){.array = array, .logits = logits, .S = members ? array.shape[0] : 1, .least = least_of(array.dtype)};
    o->N = array.shape[members];
    o->K = array.shape[members + 1];
    LLI_TRY(lli_memory_new(ctx, &o->work, workers, sizeof *o->work));
    for (int w = 0; w < workers; w++)
        LLI_TRY(lli_memory_new(ctx, &o->work[w], o->K, sizeof(double)));
    return LL_OK;
}

/* One member's row as log-probabilities. */
static void member_row(double *f, const lli_calibrate_outputs *o, int64_t member, int64_t i) {
    lli_array_to_f64(f, &o->array, (member * o->N + i) * o->K, o->K);
    for (int64_t k = 0; !o->logits && k < o->K; k++)
        f[k] = log(fmax(f[k], o->least));
    lli_scaling_normalise(f, o->K);
}

/* log p_hat = LSE_s log p_s - log S, pairwise so that nothing overflows. */
ll_status lli_calibrate_fill_outputs(ll_context *ctx, void *arg, double *f, int64_t first, int64_t n, int worker) {
    (void)ctx;
    const lli_calibrate_outputs *o = arg;
    for (int64_t i = 0; i < n; i++) {
        double *row = f + i * o->K, *other = o->work[worker];
        member_row(row, o, 0, first + i);
        for (int64_t s = 1; s < o->S; s++) {
            member_row(other, o, s, first + i);
            for (int64_t k = 0; k < o->K; k++)
                row[k] = fmax(row[k], other[k]) + log1p(exp(-fabs(row[k] - other[k])));
        }
        for (int64_t k = 0; o->S > 1 && k < o->K; k++)
            row[k] -= log((double)o->S);
    }
    return LL_OK;
}

static void tell_zeros(ll_context *ctx, const lli_calibrate_outputs *o) {
    int64_t zeros = 0, total = o->S * o->N * o->K;
    for (int64_t i = 0; !o->logits && i < total; i++)
        zeros += lli_array_real(&o->array, i) <= 0;
    if (zeros)
        lli_log(ctx, LL_LOG_NOTE,
                "%" PRId64 " of %" PRId64 " probabilities are 0 and count as %.2g, the least of their type; logits would say more", zeros,
                total, o->least);
}

ll_status ll_calibrate_outputs(ll_calibration **out, ll_context *ctx, ll_array outputs, bool logits, const ll_array *labels,
                               const ll_calibrate_options *options) {
    LLI_NEED(ctx, out, labels);
    *out = NULL;
    ll_predictions *checked = NULL;
    lli_calibrate_outputs o = {0};
    ll_status status;
    LLI_DO(ll_predictions_new(&checked, ctx, outputs, logits, labels));
    LLI_DO(outputs_init(ctx, &o, outputs, logits));
    tell_zeros(ctx, &o);
    const int32_t *truth = ll_predictions_view(checked)->truth;
    const lli_evidence e = {.n = o.N, .K = o.K, .truth = truth, .fill = lli_calibrate_fill_outputs, .arg = &o};
    LLI_DO(lli_calibrate_fit(out, ctx, &e, options));
done:
    outputs_release(&o, lli_pool_workers(ctx));
    ll_predictions_free(checked);
    return status;
}

ll_status ll_calibration_apply(double *log_probs, ll_context *ctx, const ll_calibration *c, ll_array outputs, bool logits) {
    LLI_NEED(ctx, log_probs, c);
    ll_predictions *checked = NULL;
    lli_calibrate_outputs o = {0};
    ll_status status;
    LLI_DO(ll_predictions_new(&checked, ctx, outputs, logits, NULL));
    LLI_DO(outputs_init(ctx, &o, outputs, logits));
    int64_t K = o.K;
    if (K != c->info.classes)
        LLI_DO(lli_fail(ctx, LL_ERR_DATA, "the outputs have %" PRId64 " classes and the calibration %" PRId64, K, c->info.classes));
    for (int64_t i = 0; i < o.N; i++) {
        LLI_DO(lli_cancel_check(ctx));
        double *row = log_probs + i * K;
        LLI_DO(lli_calibrate_fill_outputs(ctx, &o, row, i, 1, 0));
        for (int64_t k = 0; k < K; k++)
            row[k] = c->parameters[k] * row[k] + c->parameters[K + k];
        lli_scaling_normalise(row, K);
    }
done:
    outputs_release(&o, lli_pool_workers(ctx));
    ll_predictions_free(checked);
    return status;
}
