/* SPDX-License-Identifier: MIT */
/* theta* by L-BFGS in coordinates where the features are white. The objective is convex and smooth; its values carry the rounding of f32
 * logits. */
#include "train/solve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/minimise.h"
#include "data/dataset_select.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "train/head_pass.h"
#include "train/precondition.h"

enum { WHITE_MAX = 8192 }; /* largest D to whiten */

static const double value_noise = 1e-8, value_noise_exact = 1e-14;
/* How much more the prior weighs against the rows than at theta = 0, where p (1 - p) is about 1/K: most rows become sure. */
static const double ridge = 1000;

struct lli_solve {
    const ll_dataset *data;
    lli_objective *objective;
    lli_divided *classes;     /* its */
    lli_precondition *white;  /* the coordinates x; NULL = theta itself */
    int64_t K, D, ld, passes; /* classes that are here */
    double *x, *theta;        /* [K,ld] */
};

/* Value and gradient at x; theta and the norm of its gradient on the way. */
static ll_status evaluate(ll_context *ctx, void *arg, double *value, double *norm, double *g, const double *x) {
    lli_solve *v = arg;
    int64_t n = v->K * v->ld;
    memcpy(v->theta, x, (size_t)n * sizeof *x);
    if (v->white)
        LLI_TRY(lli_precondition_theta(ctx, v->white, v->theta));
    LLI_TRY(lli_objective_run(ctx, v->objective, value, g, v->theta));
    v->passes++;
    double square;
    LLI_TRY(lli_divided_dot(ctx, v->classes, &square, g, g, v->ld));
    *norm = sqrt(square);
    return v->white ? lli_precondition_gradient(ctx, v->white, g) : LL_OK;
}

static ll_status dot(ll_context *ctx, void *arg, double *sum, const double *a, const double *b) {
    const lli_solve *v = arg;
    return lli_divided_dot(ctx, v->classes, sum, a, b, v->ld);
}

void ll_head_solve_options_init(ll_head_solve_options *options, size_t struct_size) {
    const ll_head_solve_options defaults = {.prior_precision = 1, .tolerance = LLI_SOLVE_TOLERANCE, .iterations_max = 1000};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

ll_status lli_solve_new(lli_solve **out, ll_context *ctx, const ll_dataset *data, int64_t K, double prior_precision, const lli_solve *owner,
                        lli_team *team) {
    *out = NULL;
    int64_t D = data->rows.D, ld = lli_kernels_stride(D), count;
    if (!lli_multiply(&count, K, ld))
        return lli_fail(ctx, LL_ERR_MEMORY, "a head of %" PRId64 " classes and %" PRId64 " features is too large to solve for", K, D);
    lli_solve *v;
    LLI_TRY(lli_memory_new(ctx, &v, 1, sizeof *v));
    ll_status status;
    *v = (lli_solve){.data = data, .D = D, .ld = ld};
    LLI_DO(lli_objective_divided(&v->objective, ctx, data, K, prior_precision, team));
    v->classes = lli_objective_classes(v->objective);
    v->K = v->classes->count;
    count = LLI_MAX(v->K, 1) * ld;
    LLI_DO(lli_memory_new(ctx, &v->x, count, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &v->theta, count, sizeof(double)));
    if (owner && owner->white)
        LLI_DO(lli_precondition_share(&v->white, ctx, owner->white));
    else if (D <= WHITE_MAX)
        LLI_DO(lli_precondition_new(&v->white, ctx, data, v->K, ridge * (double)K * prior_precision / lli_dataset_weight(data), team));
    *out = v;
    v = NULL;
done:
    lli_solve_free(v);
    return status;
}

void lli_solve_free(lli_solve *v) {
    if (!v)
        return;
    lli_memory_free(v->x);
    lli_memory_free(v->theta);
    lli_objective_free(v->objective);
    lli_precondition_free(v->white);
    lli_memory_free(v);
}

ll_status lli_solve_run(ll_context *ctx, lli_solve *v, lli_solve_result *result, float *W, float *b, const float *weights,
                        const ll_head_solve_options *o) {
    int64_t K = v->K, D = v->D, ld = v->ld;
    float *here = W + v->classes->first * D, *bias = b + v->classes->first;
    memset(v->x, 0, (size_t)(K * ld) * sizeof *v->x);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            v->x[k * ld + j] = (double)here[k * D + j];
        v->x[k * ld + D] = (double)bias[k];
    }
    if (v->white)
        LLI_TRY(lli_precondition_start(ctx, v->white, v->x));
    if (weights)
        lli_objective_weigh(v->objective, weights);
    lli_minimise m = {
        .n = K * ld,
        .all = v->classes->all * ld,
        .dot = v->classes->wide ? dot : NULL,
        .function = evaluate,
        .arg = v,
        .tolerance = o->tolerance,
        .iterations_max = o->iterations_max,
        .noise = value_noise,
        .what = "solving for theta*",
    };
    v->passes = 0;
    LLI_TRY(lli_objective_exact(ctx, v->objective, false));
    LLI_TRY(lli_minimise_run(ctx, &m, v->x));
    *result = (lli_solve_result){m.norm, m.iterations, 0};
    if (m.norm > o->tolerance && m.iterations < o->iterations_max && !v->classes->wide) { /* what f32 can tell is at its end */
        LLI_TRY(lli_objective_exact(ctx, v->objective, true));
        m.iterations_max -= m.iterations;
        m.noise = value_noise_exact;
        LLI_TRY(lli_minimise_run(ctx, &m, v->x));
        result->norm = m.norm;
        result->iterations += m.iterations;
    }
    result->passes = v->passes;
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            here[k * D + j] = (float)v->theta[k * ld + j];
        bias[k] = (float)v->theta[k * ld + D];
    }
    LLI_TRY(lli_divided_collect(ctx, v->classes, W, D));
    return lli_divided_collect(ctx, v->classes, b, 1);
}

ll_status lli_solve_head(ll_context *ctx, ll_head *head, const ll_dataset *data, double prior_precision) {
    const ll_head_solve_options o = ll_head_solve_options_default();
    lli_solve *v = NULL;
    lli_solve_result result;
    ll_status status;
    LLI_DO(lli_solve_new(&v, ctx, data, head->K, prior_precision, NULL, ctx->team->together));
    LLI_DO(lli_solve_run(ctx, v, &result, head->W, head->b, NULL, &o));
    head->gradient_norm = result.norm;
    LLI_DO(lli_head_seal(ctx, head));
done:
    lli_solve_free(v);
    return status;
}

/* Rows whose own class has a probability that is 1 in single precision. */
static ll_status count_exact(ll_context *ctx, int64_t *exact, const ll_dataset *data, const ll_head *head) {
    lli_head_pass pass;
    ll_status status = LL_OK;
    LLI_TRY(lli_head_pass_init(ctx, &pass, data, &(lli_curvature_head){head->K, head->W, head->b}));
    *exact = 0;
    for (int64_t first = 0, n; first < data->rows.N; first += n) {
        const float *z;
        n = LLI_MIN(LLI_HEAD_PASS_ROWS, data->rows.N - first);
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(lli_head_pass_rows(&z, ctx, &pass, first, n, 0, true));
        for (int64_t i = 0, top; i < n; i++) {
            double tail;
            (void)lli_head_pass_softmax(&pass, i, 0, &top, &tail);
            *exact += top == data->labels[first + i] && tail < 0x1p-25;
        }
    }
done:
    lli_head_pass_release(&pass);
    return status;
}

static ll_status tell(ll_context *ctx, const lli_solve_result *result, const ll_dataset *data, const ll_head *head, double tolerance) {
    if (result->norm <= tolerance) {
        lli_log(ctx, LL_LOG_NOTE,
                "the MAP is found: gradient norm %.1e after %" PRId64 " L-BFGS iterations, %" PRId64 " passes over the data", result->norm,
                result->iterations, result->passes);
        return LL_OK;
    }
    int64_t exact;
    LLI_TRY(count_exact(ctx, &exact, data, head));
    lli_log(ctx, LL_LOG_WARNING,
            "the MAP is not fully converged: after %" PRId64 " L-BFGS iterations the gradient has norm %.2e, expected %.0e, and %.1f %% of "
            "the rows are fitted exactly; the ensemble starts from there",
            result->iterations, result->norm, tolerance, 100 * (double)exact / (double)data->rows.N);
    return LL_OK;
}

/* Every row of the data has a positive weight. */
static ll_status solve(ll_head **out, ll_context *ctx, const ll_dataset *data, const ll_head_solve_options *o) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, false));
    lli_solve *v = NULL;
    ll_head *head = NULL;
    lli_solve_result result;
    ll_status status;
    LLI_DO(lli_solve_new(&v, ctx, data, data->K, o->prior_precision, NULL, ctx->team->together));
    LLI_DO(lli_head_alloc(&head, ctx, data->K, data->rows.D));
    LLI_DO(lli_solve_run(ctx, v, &result, head->W, head->b, NULL, o));
    head->gradient_norm = result.norm;
    LLI_DO(lli_head_seal(ctx, head));
    LLI_DO(tell(ctx, &result, data, head, o->tolerance));
    *out = head;
    head = NULL;
done:
    ll_head_free(head);
    lli_solve_free(v);
    return status;
}

ll_status ll_head_solve(ll_head **out, ll_context *ctx, const ll_dataset *data, const ll_head_solve_options *given) {
    LLI_NEED(ctx, out, data);
    *out = NULL;
    ll_head_solve_options o = ll_head_solve_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_head_solve_options", &o, sizeof o, given, 0));
    if (!(o.prior_precision >= 0) || !(o.tolerance > 0) || o.iterations_max < 1)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_head_solve_options holds impossible values: start from ll_head_solve_options_default()");
    ll_dataset *weighted;
    LLI_TRY(lli_dataset_select_weighted(&weighted, ctx, data));
    ll_status status = solve(out, ctx, weighted ? weighted : data, &o);
    ll_dataset_free(weighted);
    return status;
}
