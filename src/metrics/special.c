/* SPDX-License-Identifier: MIT */
/* Normal, beta and binomial distributions to nearly full precision, for any number of points. Uses no lgamma, whose absolute error grows
 * with its argument (and which writes a global variable). */
#include "metrics/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double PI = 3.14159265358979323846;

double lli_special_normal_cdf(double z) {
    return 0.5 * erfc(-z * sqrt(0.5));
}

double lli_special_normal_quantile(double p) {
    if (!(p > 0 && p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    double tail = fmin(p, 1 - p);
    double z = -sqrt(-2 * log(tail));       /* left of the answer, since cdf(z) < exp(-z^2/2) */
    for (int step = 0; step < 60; step++) { /* Newton on the logarithm of the cdf, which is concave: it comes from the left, and stays */
        double cdf = lli_special_normal_cdf(z);
        double move = log(cdf / tail) * cdf / (exp(-0.5 * z * z) / sqrt(2 * PI));
        z -= move;
        if (fabs(move) <= 4 * DBL_EPSILON * fabs(z))
            break;
    }
    return p <= 0.5 ? z : -z;
}

/* What Stirling's formula lacks: log Gamma(x + 1) - (x + 1/2) log x + x - log(2 pi)/2. */
static double stirling_rest(double x) {
    double sum = 0;
    for (; x < 16; x++)
        sum += (x + 0.5) * log1p(1 / x) - 1;
    double u = 1 / (x * x);
    return sum + (1.0 / 12 - u * (1.0 / 360 - u * (1.0 / 1260 - u * (1.0 / 1680 - u * (1.0 / 1188 - u * (691.0 / 360360)))))) / x;
}

/* x log(x/m) + m - x, without loss where x is near m. */
static double deviance(double x, double m) {
    if (fabs(x - m) >= 0.1 * (x + m))
        return x * log(x / m) + m - x;
    double v = (x - m) / (x + m), sum = (x - m) * v, term = 2 * x * v;
    for (int j = 3; j < 1000; j += 2) {
        term *= v * v;
        double next = sum + term / j;
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* log of x^a y^b / B(a, b), y = 1 - x, after Loader: Stirling's parts cancel on paper instead of in doubles. */
static double log_kernel(double x, double y, double a, double b) {
    double n = a + b;
    double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - deviance(a, n * x) - deviance(b, n * y);
    return rest + 0.5 * log(a / n * b / (2 * PI));
}

/* B(a, b) I_x(a, b) / (x^a y^b), for x below its mean: the continued fraction of Didonato and Morris, by Lentz. lambda is the distance from
 * the mean, so nothing cancels near x = 1 either. */
static double fraction(double x, double y, double a, double b) {
    const double tiny = 1e-300;
    double lambda = a > b ? (a + b) * y - b : a - (a + b) * x;
    double value = a / (a + 1) * (lambda + 1), c = value, d = 0;
    for (double n = 1; n < 1e8; n++) {
        double s = a + 2 * n - 1;
        double over = (a + n - 1) / s * ((a + b + n - 1) / s) * n * (b - n) * x * x;
        double under = n + n * (b - n) * x / s + (a + n) / (s + 2) * (lambda + 1 + n * (1 + y));
        d = under + over * d;
        c = under + over / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= c * d;
        if (fabs(c * d - 1) <= 2 * DBL_EPSILON)
            break;
    }
    return 1 / value;
}

/* log I_x(a, b), y = 1 - x. */
static double log_beta_cdf(double x, double y, double a, double b) {
    if (x <= 0 || y <= 0)
        return x <= 0 ? -INFINITY : 0;
    bool direct = x < (a + 1) / (a + b + 2);
    double kernel = log_kernel(x, y, a, b);
    if (direct)
        return kernel + log(fraction(x, y, a, b));
    double other = kernel + log(fraction(y, x, b, a));
    return log1p(-exp(fmin(other, 0)));
}

double lli_special_log_binomial_cdf(int64_t k, int64_t m, double p) {
    if (k < 0 || k >= m)
        return k < 0 ? -INFINITY : 0;
    return log_beta_cdf(1 - p, p, (double)(m - k), (double)(k + 1));
}

double lli_special_log_binomial_tail(int64_t k, int64_t m, double p) {
    if (k <= 0 || k > m)
        return k <= 0 ? 0 : -INFINITY;
    return log_beta_cdf(p, 1 - p, (double)k, (double)(m - k + 1));
}

double lli_special_log_binomial_pmf(int64_t k, int64_t m, double p) {
    if (k == 0 || k == m)
        return (double)m * (k == 0 ? log1p(-p) : log(p));
    double a = (double)k, b = (double)(m - k);
    return log_kernel(p, 1 - p, a, b) - log(a * (b / (a + b)));
}

/* t = log(x/(1-x)) with log I_x(a, b) = log p, p <= 1/2: Newton, in a bracket that falls back to halving. */
static double log_odds_of(double p, double a, double b) {
    double lo = -744, hi = 744, t = log(a / b), target = log(p);
    for (int step = 0; step < 200; step++) {
        double x = 1 / (1 + exp(-t)), y = 1 / (1 + exp(t));
        double log_cdf = log_beta_cdf(x, y, a, b), gap = log_cdf - target;
        if (gap > 0)
            hi = t;
        else
            lo = t;
        double next = t - gap * exp(log_cdf - log_kernel(x, y, a, b)); /* d log I / dt = x^a y^b / (B I) */
        if (!(next > lo && next < hi))
            next = 0.5 * (lo + hi);
        bool still = fabs(next - t) <= 2 * DBL_EPSILON * fmax(1, fabs(t));
        t = next;
        if (still)
            break;
    }
    return t;
}

double lli_special_beta_quantile(double p, double a, double b) {
    if (!(p > 0 && p < 1))
        return p == 0 || p == 1 ? p : NAN;
    bool low = p <= 0.5; /* the smaller side keeps its digits */
    double t = low ? log_odds_of(p, a, b) : log_odds_of(1 - p, b, a);
    return 1 / (1 + exp(low ? -t : t));
}
