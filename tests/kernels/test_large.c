/* SPDX-License-Identifier: MIT */
/* The step in panels: bit for bit what the plain sequence of kernels gives where sums are exact, in the promised order elsewhere. */
#include "base/half.h"
#include "kernels/large.h"
#include "kernels/shapes.h"

#include <math.h>

enum { WORKERS = 2 };

typedef struct head {
    lli_large_shape s;
    int64_t ldk, N;
    float *W, *b, *features, *theta, *work; /* theta in panels */
    uint16_t *halves;
    float *rows, *z, *g; /* theta [K,ld], z [n,ld], g [n,ldk]: what the kernels of rows have */
    int64_t *list;
    int32_t *labels;
    float *weights; /* NULL: none */
    lli_update update;
    lli_mask mask;
} head;

static head head_new(int64_t n, int64_t K, int64_t D, bool integers) {
    head h = {.s = lli_large_shape_of(n, K, D), .ldk = lli_kernels_stride_classes(K), .N = n + 5};
    h.W = floats(K * D);
    h.b = floats(K);
    h.features = floats(h.N * D);
    h.halves = array_new(h.N * D, sizeof *h.halves);
    h.theta = floats(lli_large_floats(K, D));
    h.work = floats(lli_large_work_floats(&h.s, WORKERS));
    h.rows = floats(K * h.s.ld);
    h.z = floats(n * h.s.ld);
    h.g = floats(n * h.ldk);
    h.list = array_new(n, sizeof *h.list);
    h.labels = array_new(n, sizeof *h.labels);
    float *all[] = {h.W, h.b, h.features};
    int64_t count[] = {K * D, K, h.N * D};
    for (int a = 0; a < 3; a++)
        if (integers)
            fill_integers(all[a], count[a], a == 2 ? 3 : 1, a);
        else
            fill_reals(all[a], count[a], a == 2 ? 1 : 0.2, a);
    for (int64_t i = 0; i < h.N * D; i++)
        h.halves[i] = lli_half_from_float(h.features[i]);
    for (int64_t i = 0; i < n; i++) {
        h.list[i] = (int64_t)(check_uniform(8, i) * (double)h.N);
        h.labels[i] = (int32_t)(check_uniform(9, i) * (double)K);
    }
    for (int64_t k = 0; k < K; k++) {
        memcpy(h.rows + k * h.s.ld, h.W + k * D, (size_t)D * sizeof *h.rows);
        h.rows[k * h.s.ld + D] = h.b[k];
    }
    lli_large_pack(h.theta, h.W, h.b, K, D);
    h.update = (lli_update){.shrink = 0.999f, .scale = 0.037f, .stream = lli_rng_stream(3, LLI_PURPOSE_NOISE, 4, 5)};
    h.mask = (lli_mask){lli_rng_stream(3, LLI_PURPOSE_TRAIN_MASK, 4, 5), 0, 32768}; /* kept units are doubled: integers stay integers */
    return h;
}

static void head_free(head *h) {
    void *all[] = {h->W, h->b, h->features, h->halves, h->theta, h->work, h->rows, h->z, h->g, h->list, h->labels, h->weights};
    for (size_t a = 0; a < LLI_COUNT(all); a++)
        free(all[a]);
}

/* Blocks and parts in an order nobody promised, with anything in the scratch. Returns the loss. */
static double run_large(const lli_kernels *kernels, head *h, bool half, bool dropout, bool backwards) {
    const lli_rows rows = {.features = half ? (const void *)h->halves : h->features, .half = half, .N = h->N, .D = h->s.D};
    const lli_batch batch = {.rows = h->list, .labels = h->labels, .weights = h->weights, .n = h->s.n};
    lli_large_work w = lli_large_work_of(h->work, &h->s);
    for (int64_t i = 0; i < WORKERS * h->s.scratch; i++)
        w.scratch[i] = NAN;
    for (int64_t t = 0; t < h->s.blocks; t++) {
        int64_t block = backwards ? h->s.blocks - 1 - t : t;
        kernels->large->forward(&w, h->theta, &rows, &batch, dropout ? &h->mask : NULL, &h->s, block, (int)(t % WORKERS));
    }
    for (int64_t t = 0; t < h->s.parts; t++)
        kernels->large->update(h->theta, &w, &h->update, &h->s, backwards ? h->s.parts - 1 - t : t, (int)(t % WORKERS));
    double nll = 0;
    for (int64_t i = 0; i < h->s.n; i++)
        nll += w.nll[i];
    return nll;
}

static double run_rows(const lli_kernels *kernels, head *h, bool half, bool dropout) {
    const lli_large_shape *s = &h->s;
    kernels->gather(h->z, half ? (const void *)h->halves : h->features, half, h->list, 0, s->n, s->D, s->ld);
    if (dropout)
        kernels->mask(h->z, h->z, &h->mask, 0, s->n, s->D, s->ld);
    kernels->logits(h->g, h->rows, h->z, s->n, s->K, s->ld, h->ldk);
    double nll = kernels->residual(h->g, h->labels, h->weights, s->n, s->K, h->ldk);
    kernels->update(h->rows, h->g, h->z, &h->update, s->n, s->K, s->D, s->ld, h->ldk);
    return nll;
}

/* Element (k,j) of theta in panels. */
static float element(const head *h, int64_t k, int64_t j) {
    return h->theta[(k / LLI_LARGE_CLASSES * h->s.columns + j) * LLI_LARGE_CLASSES + k % LLI_LARGE_CLASSES];
}

static void check_equal(const char *level, const head *h) {
    for (int64_t k = 0; k < h->s.panels * LLI_LARGE_CLASSES; k++)
        for (int64_t j = 0; j < h->s.columns; j++) {
            float expected = k < h->s.K && j <= h->s.D ? h->rows[k * h->s.ld + j] : 0;
            if (element(h, k, j) != expected)
                fail_msg("%s, n %d, K %d, D %d: theta[%d,%d] = %.9g, expected %.9g", level, (int)h->s.n, (int)h->s.K, (int)h->s.D, (int)k,
                         (int)j, (double)element(h, k, j), (double)expected);
        }
}

/* Logits of integers are exact, so everything after them has the bits of the other kernels of the level. */
static void compare(int64_t n, int64_t K, int64_t D) {
    FOR_LEVELS(kernels, 1) for (int kind = 0; kind < 2; kind++) {
        head h = head_new(n, K, D, true);
        h.update.noise = kind ? 0.25f : 0;
        if (kind)
            fill_weights(h.weights = floats(n), n);
        double found = run_large(kernels, &h, kind, kind, kind), expected = run_rows(kernels, &h, kind, kind);
        CHECK_NEAR(found, expected, 1e-12 * (1 + expected));
        check_equal(kernels->name, &h);
        head_free(&h);
    }
}

static void equals_rows_on_odd_shapes(void **state) {
    (void)state;
    FOR_SIZES(n) FOR_SIZES(K) FOR_SIZES(D) if (n * K * D < 100000 || (n == K && K == D)) compare(n, K, D);
}

static void equals_rows_on_large_shapes(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {
        {1000, 33, 100}, {33, 1000, 1000}, {257, 64, 290}, {515, 70, 31}, {96, 1100, 33}, /* two groups of panels */
        {3, 2100, 577},  {6000, 3, 17},                                                   /* the narrowest parts */
        {100, 17, 4032},
    };
    for (size_t t = 0; t < LLI_COUNT(shapes); t += (size_t)check_step(2))
        compare(shapes[t][0], shapes[t][1], shapes[t][2]);
}

/* On reals: the loss and g to rounding against ref, then the update bit for bit from the same g. */
static void sums_go_in_row_order(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 2, 3}, {37, 70, 33}, {300, 100, 317}, {129, 63, 700}, {64, 65, 2000}};
    FOR_LEVELS(kernels, 1) for (size_t t = 0; t < LLI_COUNT(shapes); t++) {
        head h = head_new(shapes[t][0], shapes[t][1], shapes[t][2], false);
        const lli_large_shape *s = &h.s;
        lli_large_work w = lli_large_work_of(h.work, s);
        float *before = floats(s->K * s->ld);
        memcpy(before, h.rows, (size_t)(s->K * s->ld) * sizeof *before);
        double found = run_large(kernels, &h, false, false, true), expected = run_rows(&lli_kernels_ref, &h, false, false);
        CHECK_NEAR(found, expected, 1e-5 * expected);
        for (int64_t i = 0; i < s->n; i++)
            for (int64_t k = 0; k < s->K; k++) {
                float *g = &h.g[i * h.ldk + k],
                      mine = w.g[(k / LLI_LARGE_CLASSES * s->rows + i) * LLI_LARGE_CLASSES + k % LLI_LARGE_CLASSES];
                CHECK_NEAR((double)mine, (double)*g, 5e-5);
                *g = mine;
            }
        memcpy(h.rows, before, (size_t)(s->K * s->ld) * sizeof *before);
        kernels->update(h.rows, h.g, h.z, &h.update, s->n, s->K, s->D, s->ld, h.ldk);
        check_equal(kernels->name, &h);
        free(before);
        head_free(&h);
    }
}

static void pack_and_back(void **state) {
    (void)state;
    FOR_SIZES(K) FOR_SIZES(D) {
        head h = head_new(1, K, D, false);
        float *W = floats(K * D), *b = floats(K);
        check_equal("pack", &h);
        lli_large_unpack(W, b, h.theta, K, D);
        assert_memory_equal(W, h.W, (size_t)(K * D) * sizeof *W);
        assert_memory_equal(b, h.b, (size_t)K * sizeof *b);
        free(W);
        free(b);
        head_free(&h);
    }
}

/* The cut covers every row and column once, and memory for a batch serves every smaller one. */
static void shapes_cut_whole(void **state) {
    (void)state;
    FOR_SIZES(K) FOR_SIZES(D) {
        int64_t work = 0;
        for (int64_t n = 1; n < 700; n++) {
            lli_large_shape s = lli_large_shape_of(n, K, D);
            assert_int_equal(lli_large_start(&s, 0), 0);
            assert_int_equal(lli_large_start(&s, s.blocks), n);
            for (int64_t block = 0; block < s.blocks; block++)
                assert_true(lli_large_start(&s, block) < lli_large_start(&s, block + 1));
            assert_true(s.columns > D && s.width % 12 == 0 && s.parts / s.groups * s.width >= s.columns);
            assert_true((s.parts / s.groups - 1) * s.width < s.columns);
            assert_true(lli_large_work_floats(&s, 3) >= work);
            work = lli_large_work_floats(&s, 3);
        }
    }
}

static void shows_divergence(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 1) {
        head h = head_new(20, 70, 33, false);
        h.theta[17] = INFINITY;
        assert_false(isfinite(run_large(kernels, &h, false, false, false)));
        head_free(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_rows_on_odd_shapes), cmocka_unit_test(equals_rows_on_large_shapes),
        cmocka_unit_test(sums_go_in_row_order),      cmocka_unit_test(pack_and_back),
        cmocka_unit_test(shapes_cut_whole),          cmocka_unit_test(shows_divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
