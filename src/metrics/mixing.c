/* SPDX-License-Identifier: MIT */
/* Vehtari, Gelman, Simpson, Carpenter, Buerkner (2021): chains are cut in halves, draws replaced by normal scores of their ranks.
 * Autocovariances are computed lag by lag, as far as Geyer's sequence goes. */
#include "metrics/mixing.h"

#include <math.h>

#include "base/memory.h"
#include "metrics/sort.h"
#include "metrics/special.h"

/* Halves of chains: [count,n]. */
typedef struct halves {
    int64_t count, n;
    double *x;
} halves;

/* Without the draw in the middle where n is odd. */
static void cut_in_halves(halves *out, const double *draws, int64_t chains, int64_t n) {
    out->count = 2 * chains;
    out->n = n / 2;
    for (int64_t c = 0; c < chains; c++)
        for (int64_t i = 0; i < out->n; i++) {
            out->x[2 * c * out->n + i] = draws[c * n + i];
            out->x[(2 * c + 1) * out->n + i] = draws[c * n + n - out->n + i];
        }
}

/* Phi^-1((r - 3/8) / (S + 1/4)), equal values share their mean rank. */
static void normal_scores(halves *h, lli_sort_item *items, lli_sort_item *scratch) {
    int64_t S = h->count * h->n;
    for (int64_t i = 0; i < S; i++)
        items[i] = (lli_sort_item){-h->x[i], i};
    lli_sort_descending(items, scratch, S);
    for (int64_t first = 0, end; first < S; first = end) {
        for (end = first + 1; end < S && items[end].key == items[first].key; end++)
            ;
        double rank = 0.5 * (double)(first + 1 + end);
        for (int64_t i = first; i < end; i++)
            h->x[items[i].tag] = lli_special_normal_quantile((rank - 0.375) / ((double)S + 0.25));
    }
}

static double mean_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Divided by n, as it must be for a sequence that ends. */
static double covariance_at(const double *x, int64_t n, int64_t lag) {
    double mean = mean_of(x, n), sum = 0;
    for (int64_t i = 0; i + lag < n; i++)
        sum += (x[i] - mean) * (x[i + lag] - mean);
    return sum / (double)n;
}

static double mean_covariance(const halves *h, int64_t lag) {
    double sum = 0;
    for (int64_t c = 0; c < h->count; c++)
        sum += covariance_at(h->x + c * h->n, h->n, lag);
    return sum / (double)h->count;
}

/* Of the means of the halves. */
static double variance_between(const halves *h) {
    double mean = 0, square = 0;
    for (int64_t c = 0; c < h->count; c++)
        mean += mean_of(h->x + c * h->n, h->n) / (double)h->count;
    for (int64_t c = 0; c < h->count; c++) {
        double d = mean_of(h->x + c * h->n, h->n) - mean;
        square += d * d;
    }
    return square / (double)(h->count - 1);
}

static double rhat_of(const halves *h) {
    double n = (double)h->n, within = mean_covariance(h, 0) * n / (n - 1);
    return sqrt(variance_between(h) / within + (n - 1) / n);
}

/* Geyer's sequence of pairs, positive and falling. */
static double effective_of(const halves *h) {
    double n = (double)h->n, S = n * (double)h->count;
    double variance = mean_covariance(h, 0) * n / (n - 1), all = variance * (n - 1) / n + variance_between(h);
    if (!(all > 0))
        return NAN;
    double even = 1, odd = 1 - (variance - mean_covariance(h, 1)) / all, last_pair = INFINITY, sum = 0;
    int64_t t = 0;
    while (t < h->n - 5 && even + odd > 0) {
        double pair = fmin(even + odd, last_pair);
        sum += pair;
        last_pair = pair;
        t += 2;
        even = 1 - (variance - mean_covariance(h, t)) / all;
        odd = 1 - (variance - mean_covariance(h, t + 1)) / all;
    }
    double tau = -1 + 2 * sum + (even > 0 || even + odd >= 0 ? even : 0);
    return S / fmax(tau, 1 / log10(S));
}

/* The value below which a share p of the draws lies, between the two nearest of them; items fall. */
static double quantile_of(const lli_sort_item *items, int64_t S, double p) {
    double at = p * (double)(S - 1);
    int64_t low = (int64_t)floor(at);
    double a = items[S - 1 - low].key, b = items[S - 1 - LLI_MIN(low + 1, S - 1)].key;
    return a + (at - (double)low) * (b - a);
}

/* Of the indicator of draws up to a value. */
static double effective_below(halves *h, const double *draws, int64_t chains, int64_t n, double value) {
    cut_in_halves(h, draws, chains, n);
    for (int64_t i = 0; i < h->count * h->n; i++)
        h->x[i] = h->x[i] <= value;
    return effective_of(h);
}

ll_status lli_mixing_of(lli_mixing *out, ll_context *ctx, const double *draws, int64_t chains, int64_t n) {
    int64_t S = chains * n;
    halves h = {0};
    double *folded = NULL;
    lli_sort_item *items = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &h.x, S, sizeof *h.x));
    LLI_DO(lli_memory_new(ctx, &folded, S, sizeof *folded));
    LLI_DO(lli_memory_new(ctx, &items, 2 * S, sizeof *items));
    for (int64_t i = 0; i < S; i++)
        items[i] = (lli_sort_item){draws[i], i};
    lli_sort_descending(items, items + S, S);
    *out = (lli_mixing){NAN, NAN, NAN};
    if (items[0].key == items[S - 1].key)
        goto done;
    double median = quantile_of(items, S, 0.5), low = quantile_of(items, S, 0.05), high = quantile_of(items, S, 0.95);
    for (int64_t i = 0; i < S; i++)
        folded[i] = fabs(draws[i] - median);
    out->tail = fmin(effective_below(&h, draws, chains, n, low), effective_below(&h, draws, chains, n, high));
    cut_in_halves(&h, folded, chains, n);
    normal_scores(&h, items, items + S);
    double spread = rhat_of(&h);
    cut_in_halves(&h, draws, chains, n);
    normal_scores(&h, items, items + S);
    out->bulk = effective_of(&h);
    out->rhat = fmax(rhat_of(&h), spread);
done:
    lli_memory_free(h.x);
    lli_memory_free(folded);
    lli_memory_free(items);
    return status;
}

void lli_mixing_correlation(double *out, const double *draws, int64_t chains, int64_t n, int64_t lags) {
    double variance = 0;
    for (int64_t c = 0; c < chains; c++)
        variance += covariance_at(draws + c * n, n, 0);
    for (int64_t lag = 0; lag <= lags; lag++) {
        double sum = 0;
        for (int64_t c = 0; c < chains; c++)
            sum += covariance_at(draws + c * n, n, lag);
        out[lag] = variance > 0 ? sum / variance : NAN;
    }
}

/* The 99 % points of R-hat of independent draws; tests/metrics/simulate_rhat.c made them from 10000 trials each. */
static const int64_t tabled_chains[] = {2, 3, 4, 6, 8};
static const int64_t tabled_draws[] = {16, 25, 50, 100, 250};
static const double tabled[LLI_COUNT(tabled_chains)][LLI_COUNT(tabled_draws)] = {
    {1.2362, 1.1546, 1.0698, 1.0341, 1.0132}, {1.1763, 1.1103, 1.0484, 1.0241, 1.0094}, {1.1355, 1.0842, 1.0397, 1.0191, 1.0078},
    {1.1015, 1.0647, 1.0300, 1.0147, 1.0058}, {1.0812, 1.0532, 1.0242, 1.0120, 1.0047},
};

/* The largest entry that is not above; the first where there is none. */
static size_t place_of(const int64_t *list, size_t count, int64_t value) {
    size_t i = 0;
    while (i + 1 < count && list[i + 1] <= value)
        i++;
    return i;
}

double lli_mixing_rhat_limit(int64_t chains, int64_t n) {
    return fmax(1.01,
                tabled[place_of(tabled_chains, LLI_COUNT(tabled_chains), chains)][place_of(tabled_draws, LLI_COUNT(tabled_draws), n)]);
}
