/* SPDX-License-Identifier: MIT */
/* A third of the rows proposes cuts and their order; the others test them in that order. */
#include "metrics/certify.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "metrics/sort.h"
#include "metrics/special.h"

ll_status lli_certify_split(ll_context *ctx, uint8_t *proposes, int64_t n, uint64_t seed) {
    int64_t *place;
    LLI_TRY(lli_memory_new(ctx, &place, n, sizeof *place));
    lli_stream stream = lli_rng_stream(seed, LLI_PURPOSE_CERTIFY, 0, 0);
    memset(proposes, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        place[i] = i;
    for (int64_t i = 0; i < n / 3; i++) { /* the first places of a shuffle */
        int64_t j = i + (int64_t)lli_rng_below(stream, (uint64_t)i, (uint64_t)(n - i)), row = place[j];
        place[j] = place[i];
        proposes[row] = 1;
    }
    lli_memory_free(place);
    return LL_OK;
}

/* a ln(a/b) + (1-a) ln((1-a)/(1-b)), a <= b. */
static double divergence(double a, double b) {
    return (a > 0 ? a * log(a / b) : 0) + (a < 1 ? (1 - a) * (log1p(-a) - log1p(-b)) : 0);
}

double lli_certify_log_p(double loss, int64_t m, double r, bool whole) {
    if (whole)
        return lli_special_log_binomial_cdf((int64_t)loss, m, r);
    if (m == 0)
        return 0;
    double hoeffding = -(double)m * divergence(fmin(loss / (double)m, r), r);
    double bentkus = 1 + lli_special_log_binomial_cdf((int64_t)ceil(loss), m, r);
    return fmin(fmin(hoeffding, bentkus), 0);
}

int64_t lli_certify_needed(double r, double delta) {
    double rows = ceil(log(delta) / log1p(-r));
    if (!(rows < 0x1p53)) /* a risk of next to nothing: more than anybody has, and beyond what is counted exactly */
        return (int64_t)1 << 53;
    int64_t m = (int64_t)rows;
    return m + ((double)m * log1p(-r) > log(delta));
}

/* Rows by falling confidence, with their losses. */
typedef struct ranking {
    int64_t n;
    lli_sort_item *items; /* [n] key = confidence */
    double *total;        /* [n] sum of the losses up to here; a sum over equal confidences, so that it does not depend on their order */
} ranking;

static void ranking_release(ranking *r) {
    lli_memory_free(r->items);
    lli_memory_free(r->total);
    *r = (ranking){0};
}

/* The rows whose `proposes` is `which` (all of them where it is NULL). Sorted by loss, then by confidence. */
static ll_status ranking_init(ll_context *ctx, ranking *r, const double *confidence, const double *loss, const uint8_t *proposes, int which,
                              int64_t n) {
    *r = (ranking){0};
    lli_sort_item *scratch = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &r->items, n, sizeof *r->items));
    LLI_DO(lli_memory_new(ctx, &scratch, n, sizeof *scratch));
    LLI_DO(lli_memory_new(ctx, &r->total, n, sizeof *r->total));
    for (int64_t i = 0; i < n; i++)
        if (!proposes || proposes[i] == which)
            r->items[r->n++] = (lli_sort_item){.key = loss ? loss[i] : 0, .tag = i};
    lli_sort_descending(r->items, scratch, r->n);
    for (int64_t i = 0; i < r->n; i++)
        r->items[i].key = confidence[r->items[i].tag];
    lli_sort_descending(r->items, scratch, r->n);
    double sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        r->total[i] = sum += loss ? loss[r->items[i].tag] : 0;
done:
    lli_memory_free(scratch);
    if (status != LL_OK)
        ranking_release(r);
    return status;
}

/* How many rows have confidence >= cut. */
static int64_t accepted(const ranking *r, double cut) {
    int64_t low = 0, high = r->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (r->items[middle].key >= cut)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double loss_of(const ranking *r, int64_t count) {
    return count ? r->total[count - 1] : 0;
}

typedef struct run {
    const lli_certify_rows *rows;
    const lli_certify_promise *promise;
    ranking proposing, testing, out;
} run;

/* The confidences at ranks ceil(j n/20) of the proposing rows, each once, from the largest down. */
static void propose(lli_certify_result *out, const run *u) {
    int64_t n = u->proposing.n;
    for (int64_t j = 1; j <= LLI_CERTIFY_CUTS && n > 0; j++) {
        double cut = u->proposing.items[(j * n + LLI_CERTIFY_CUTS - 1) / LLI_CERTIFY_CUTS - 1].key;
        if (out->cuts == 0 || cut < out->test[out->cuts - 1].cut)
            out->test[out->cuts++] = (lli_certify_test){.cut = cut};
    }
}

/* The largest of log p-values, those that are not promised left out; certainty where there is none. */
static double largest(double a, double b, double c) {
    double most = fmax(fmax(a, b), c);
    return isnan(most) ? 0 : most;
}

/* By rising p-value, ties to more accepted rows. */
static bool goes_before(const lli_certify_test *a, const lli_certify_test *b) {
    return a->proposed_order < b->proposed_order || (a->proposed_order == b->proposed_order && a->proposed_accepted > b->proposed_accepted);
}

/* Out rows propose nothing, so a promise about them alone is ordered by the cut: the strictest first, which is a fixed order too. */
static void order(lli_certify_result *out, const run *u) {
    const lli_certify_promise *p = u->promise;
    for (int64_t i = 0; i < out->cuts; i++) {
        lli_certify_test *t = &out->test[i];
        t->proposed_accepted = accepted(&u->proposing, t->cut);
        double risk = isnan(p->risk)
                          ? NAN
                          : lli_certify_log_p(loss_of(&u->proposing, t->proposed_accepted), t->proposed_accepted, p->risk, u->rows->whole);
        double coverage = isnan(p->coverage) ? NAN : lli_special_log_binomial_tail(t->proposed_accepted, u->proposing.n, p->coverage);
        t->proposed_order = largest(risk, coverage, NAN);
    }
    if (isnan(p->risk) && isnan(p->coverage))
        return;
    for (int64_t i = 1; i < out->cuts; i++) {
        lli_certify_test t = out->test[i];
        int64_t j = i;
        for (; j > 0 && goes_before(&t, &out->test[j - 1]); j--)
            out->test[j] = out->test[j - 1];
        out->test[j] = t;
    }
}

static void test(lli_certify_test *t, const run *u, double log_level) {
    const lli_certify_promise *p = u->promise;
    t->accepted = accepted(&u->testing, t->cut);
    t->accepted_out = accepted(&u->out, t->cut);
    t->loss = loss_of(&u->testing, t->accepted);
    t->log_risk = isnan(p->risk) ? NAN : lli_certify_log_p(t->loss, t->accepted, p->risk, u->rows->whole);
    t->log_coverage = isnan(p->coverage) ? NAN : lli_special_log_binomial_tail(t->accepted, u->testing.n, p->coverage);
    t->log_out = isnan(p->out) ? NAN : lli_special_log_binomial_cdf(t->accepted_out, u->out.n, p->out);
    t->tested = true;
    t->passed = largest(t->log_risk, t->log_coverage, t->log_out) <= log_level;
}

/* Of the cuts that pass, the lowest answers most; where nothing but a coverage is promised, the highest answers best. */
static void choose(lli_certify_result *out, const run *u) {
    const lli_certify_promise *p = u->promise;
    bool highest = isnan(p->risk) && isnan(p->out);
    out->winner = -1;
    for (int64_t i = 0; i < out->cuts; i++) {
        const lli_certify_test *t = &out->test[i], *best = out->winner < 0 ? NULL : &out->test[out->winner];
        if (t->passed && (!best || (highest ? t->cut > best->cut : t->cut < best->cut)))
            out->winner = i;
    }
    out->certified = out->winner >= 0;
    if (!out->certified)
        return;
    const lli_certify_test *t = &out->test[out->winner];
    out->log_p = largest(t->log_risk, t->log_coverage, t->log_out);
    if (u->rows->whole && !isnan(p->risk))
        out->bound = t->loss < (double)t->accepted ? lli_special_beta_quantile(1 - out->level, t->loss + 1, (double)t->accepted - t->loss)
                                                   : 1;
}

static void certify(lli_certify_result *out, const run *u) {
    const lli_certify_promise *p = u->promise;
    int promises = !isnan(p->risk) + !isnan(p->coverage) + !isnan(p->out);
    *out = (lli_certify_result){.n = u->testing.n, .n_proposing = u->proposing.n, .log_p = NAN, .bound = NAN};
    propose(out, u);
    order(out, u);
    bool all = p->rule == LLI_CERTIFY_BONFERRONI;
    out->level = p->delta / promises / (all && out->cuts ? (double)out->cuts : 1);
    out->needed = isnan(p->risk) ? 0 : lli_certify_needed(p->risk, out->level);
    for (int64_t i = 0; i < out->cuts; i++) {
        test(&out->test[i], u, log(out->level));
        if (!out->test[i].passed && !all)
            break;
    }
    choose(out, u);
}

ll_status lli_certify_run(ll_context *ctx, lli_certify_result *out, const lli_certify_rows *rows, const lli_certify_promise *promise) {
    run u = {.rows = rows, .promise = promise};
    ll_status status;
    LLI_DO(ranking_init(ctx, &u.proposing, rows->confidence, rows->loss, rows->proposes, 1, rows->n));
    LLI_DO(ranking_init(ctx, &u.testing, rows->confidence, rows->loss, rows->proposes, 0, rows->n));
    LLI_DO(ranking_init(ctx, &u.out, rows->out, NULL, NULL, 0, rows->n_out));
    certify(out, &u);
done:
    ranking_release(&u.proposing);
    ranking_release(&u.testing);
    ranking_release(&u.out);
    return status;
}

ll_status lli_certify_sgr_run(ll_context *ctx, lli_certify_sgr *out, const double *confidence, const double *loss, int64_t n, double risk,
                              double delta) {
    ranking r;
    *out = (lli_certify_sgr){.cut = NAN, .bound = NAN};
    LLI_TRY(ranking_init(ctx, &r, confidence, loss, NULL, 0, n));
    int64_t rounds = (int64_t)ceil(log2((double)n)), low = 1, high = n; /* rows accepted */
    for (int64_t i = 0; i < rounds; i++) {
        int64_t middle = low + (high - low + 1) / 2, m = accepted(&r, r.items[middle - 1].key), errors = (int64_t)loss_of(&r, m);
        double bound = errors < m ? lli_special_beta_quantile(1 - delta / (double)rounds, (double)errors + 1, (double)(m - errors)) : 1;
        if (bound > risk) {
            high = middle;
            continue;
        }
        low = middle;
        if (!out->found || m > out->accepted)
            *out = (lli_certify_sgr){true, r.items[middle - 1].key, bound, m, errors};
    }
    ranking_release(&r);
    return LL_OK;
}
