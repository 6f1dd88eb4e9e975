/* SPDX-License-Identifier: MIT */
/* A whole step of every level against the five plain kernels, over odd shapes, f32 and f16, masks, noise and weights; and the same bits
 * whether the rows are padded or not, and whatever is said about the next batch. */
#include "kernels/shapes.h"

#include <math.h>

#include "base/half.h"

enum { N = 150 }; /* rows of the set */

typedef struct trial {
    int64_t n, K, D, ld, ldk;
    lli_rows rows;
    float *padded, *theta;
    int64_t *order; /* [2 n] */
    int32_t *labels;
    float *weights; /* NULL: none */
    lli_update u;
    lli_mask mask;
} trial;

static trial trial_new(int64_t n, int64_t K, int64_t D, bool half) {
    trial t = {n, K, D, lli_kernels_stride(D), lli_kernels_stride_classes(K), {.half = half, .N = N, .D = D}};
    float *z = floats(N * D);
    fill_reals(z, N * D, 2, 1);
    if (half) {
        uint16_t *h = array_new(N * D, sizeof *h);
        for (int64_t i = 0; i < N * D; i++)
            h[i] = lli_half_from_float(z[i]);
        free(z);
        t.rows.features = h;
    } else {
        t.rows.features = z;
    }
    t.padded = floats(N * t.ld);
    lli_kernels_ref.gather(t.padded, t.rows.features, half, NULL, 0, N, D, t.ld);
    t.theta = floats(K * t.ld);
    fill_reals(t.theta, K * t.ld, 1 / sqrt((double)D), 2);
    clear_padding(t.theta, K, t.ld, D + 1);
    t.order = array_new(3 * n, sizeof *t.order);
    t.labels = array_new(n, sizeof *t.labels);
    for (int64_t i = 0; i < 3 * n; i++)
        t.order[i] = i == 0 ? N - 1 : (int64_t)(check_uniform(3, i) * N); /* the last row: nothing may be read beyond it */
    for (int64_t i = 0; i < n; i++)
        t.labels[i] = (int32_t)(check_uniform(4, i) * (double)K);
    t.u = (lli_update){.shrink = 0.99f, .scale = 0.5f / (float)n, .stream = lli_rng_stream(11, LLI_PURPOSE_NOISE, 3, 5)};
    t.mask.stream = lli_rng_stream(11, LLI_PURPOSE_TRAIN_MASK, 3, 5);
    return t;
}

static void trial_free(trial *t) {
    free((void *)(uintptr_t)t->rows.features);
    free(t->padded);
    free(t->theta);
    free(t->order);
    free(t->labels);
    free(t->weights);
}

/* theta after the five plain kernels, in turn. */
static double expected_step(float *theta, const trial *t) {
    const lli_kernels *ref = &lli_kernels_ref;
    float *z = floats(t->n * t->ld), *g = floats(t->n * t->ldk);
    ref->gather(z, t->rows.features, t->rows.half, t->order, 0, t->n, t->D, t->ld);
    if (t->mask.drop16)
        ref->mask(z, z, &t->mask, 0, t->n, t->D, t->ld);
    ref->logits(g, theta, z, t->n, t->K, t->ld, t->ldk);
    double nll = ref->residual(g, t->labels, t->weights, t->n, t->K, t->ldk);
    ref->update(theta, g, z, &t->u, t->n, t->K, t->D, t->ld, t->ldk);
    free(z);
    free(g);
    return nll;
}

static double found_step(float *theta, const trial *t, const lli_kernels *kernels, bool padded, int64_t next_n) {
    int64_t floats_needed = kernels->step_floats(t->n, t->D, t->K);
    size_t bytes = ((size_t)floats_needed * sizeof(float) + 63) / 64 * 64;
    float *work = aligned_alloc(64, bytes);
    assert_non_null(work);
    memset(work, 0xff, bytes); /* NaN: nothing may be taken from it */
    lli_rows rows = t->rows;
    rows.padded = padded ? t->padded : NULL;
    const lli_batch batch = {t->order, t->labels, t->weights, t->n, next_n ? t->order + t->n : NULL, next_n};
    double nll = kernels->step(theta, work, &rows, &batch, &t->u, t->mask.drop16 ? &t->mask : NULL, t->K);
    free(work);
    return nll;
}

static void compare(const trial *t, const lli_kernels *kernels) {
    const int64_t count = t->K * t->ld;
    const size_t bytes = (size_t)count * sizeof(float);
    float *expected = floats(count), *found = floats(count), *again = floats(count);
    memcpy(expected, t->theta, bytes);
    memcpy(found, t->theta, bytes);
    double nll = expected_step(expected, t), have = found_step(found, t, kernels, false, 0);
    CHECK_NEAR(have / (double)t->n, nll / (double)t->n, 2e-6 * (1 + fabs(nll) / (double)t->n));
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(found[i] - expected[i]) <= 1e-6f + (t->u.noise > 0 ? 2e-6f * t->u.noise : 0)))
            fail_msg("%s, n %d, K %d, D %d, drop16 %u: theta[%d] = %.9g, expected %.9g", kernels->name, (int)t->n, (int)t->K, (int)t->D,
                     t->mask.drop16, (int)i, (double)found[i], (double)expected[i]);
    const int64_t nexts[] = {0, 1, t->n, t->n + 1, 2 * t->n};
    for (int padded = 0; padded < 2; padded++)
        for (size_t a = 0; a < LLI_COUNT(nexts); a++) {
            memcpy(again, t->theta, bytes);
            double nll_again = found_step(again, t, kernels, padded, nexts[a]);
            assert_true(nll_again == have);
            assert_memory_equal(again, found, bytes);
        }
    free(expected);
    free(found);
    free(again);
}

static void every_way(int64_t n, int64_t K, int64_t D) {
    static const struct {
        bool half;
        float noise;
        uint32_t drop16;
        bool weighted;
    } ways[] = {{false, 0, 0, false},    {true, 0, 0, false},        {false, 0.3f, 0, false}, {false, 0, 32768, false},
                {false, 0, 6554, false}, {true, 0.3f, 19661, false}, {false, 0, 0, true},     {true, 0.3f, 19661, true}};
    for (size_t w = 0; w < LLI_COUNT(ways); w++) {
        trial t = trial_new(n, K, D, ways[w].half);
        t.u.noise = ways[w].noise;
        t.mask.drop16 = ways[w].drop16;
        if (ways[w].weighted)
            fill_weights(t.weights = floats(n), n);
        FOR_LEVELS(kernels, 0) compare(&t, kernels);
        trial_free(&t);
    }
}

static void equals_the_plain_kernels(void **state) {
    (void)state;
    static const int64_t ns[] = {1, 3, 8, 17, 33}, Ks[] = {2, 3, 5, 7, 10, 11, 16, 17},
                         Ds[] = {1, 3, 7, 8, 15, 20, 23, 31, 48, 63, 64, 65, 100};
    size_t step = (size_t)check_step(3);
    for (size_t n = 0; n < LLI_COUNT(ns); n += step)
        for (size_t k = 0; k < LLI_COUNT(Ks); k += step)
            for (size_t d = 0; d < LLI_COUNT(Ds); d += step)
                every_way(ns[n], Ks[k], Ds[d]);
}

static void equals_them_on_real_shapes(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{32, 10, 20}, {130, 10, 32}, {128, 10, 512}, {33, 100, 130}, {150, 4, 784}};
    for (size_t t = 0; t < LLI_COUNT(shapes); t += (size_t)check_step(2))
        every_way(shapes[t][0], shapes[t][1], shapes[t][2]);
}

/* Weights of 1 give the bits of no weights. */
static void weights_of_one_change_nothing(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{32, 10, 20}, {17, 16, 64}, {130, 10, 32}, {33, 10, 512}, {33, 100, 130}};
    FOR_LEVELS(kernels, 0) for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        trial t = trial_new(shapes[s][0], shapes[s][1], shapes[s][2], false);
        const int64_t count = t.K * t.ld;
        const size_t bytes = (size_t)count * sizeof(float);
        float *plain = floats(count);
        t.u.noise = 0.3f;
        memcpy(plain, t.theta, bytes);
        double expected = found_step(plain, &t, kernels, true, 0);
        t.weights = floats(t.n);
        for (int64_t i = 0; i < t.n; i++)
            t.weights[i] = 1;
        CHECK_NEAR(found_step(t.theta, &t, kernels, true, 0), expected, 2e-6 * (double)t.n);
        assert_memory_equal(t.theta, plain, bytes);
        free(plain);
        trial_free(&t);
    }
}

/* A logit that is not finite shows in the loss, whichever class it is of. */
static void tells_of_infinities(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{5, 20}, {10, 512}, {40, 33}};
    FOR_LEVELS(kernels, 0)
    for (size_t s = 0; s < LLI_COUNT(shapes); s++)
        for (int sign = -1; sign <= 1; sign++) {
            trial t = trial_new(9, shapes[s][0], shapes[s][1], false);
            for (int64_t i = 0; i < t.n; i++)
                t.labels[i] = 0;
            t.theta[3 * t.ld + t.D] = sign == 0 ? NAN : (float)sign * INFINITY; /* the bias of class 3 */
            if (sign)
                fill_weights(t.weights = floats(t.n), t.n);
            assert_false(isfinite(found_step(t.theta, &t, kernels, true, 0)));
            trial_free(&t);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_plain_kernels),
        cmocka_unit_test(equals_them_on_real_shapes),
        cmocka_unit_test(weights_of_one_change_nothing),
        cmocka_unit_test(tells_of_infinities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
