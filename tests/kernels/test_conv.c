/* SPDX-License-Identifier: MIT */
/* Convolution on every level: bit for bit the plain loops where sums are exact; the same bits however the work is dealt out; gradients that
 * are the derivatives of the loss. */
#include "kernels/conv.h"

#include <math.h>

#include "kernels/shapes.h"

typedef struct problem {
    lli_conv_shape s, back; /* back: of the convolution from dy to dx */
    int64_t n;
    float *x, *w, *b, *y, *dy, *dx, *flipped, *dw, *db, *zeros;
} problem;

static problem problem_new(lli_conv_shape s, int64_t n) {
    problem p = {.s = s, .back = {s.H, s.W, s.out, s.in}, .n = n};
    int64_t pixels = n * s.H * s.W;
    p.x = floats(pixels * s.in);
    p.dx = floats(pixels * s.in);
    p.y = floats(pixels * s.out);
    p.dy = floats(pixels * s.out);
    p.w = floats(lli_conv_weights(&s));
    p.dw = floats(lli_conv_weights(&s));
    p.flipped = floats(lli_conv_weights(&p.back));
    p.b = floats(s.out);
    p.db = floats(s.out);
    p.zeros = floats(LLI_MAX(s.in, s.out));
    return p;
}

static void problem_free(problem *p) {
    float *all[] = {p->x, p->dx, p->y, p->dy, p->w, p->dw, p->flipped, p->b, p->db, p->zeros};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        free(all[i]);
}

static void problem_fill(problem *p, bool integers) {
    float *all[] = {p->x, p->dy, p->w, p->b};
    int64_t pixels = p->n * p->s.H * p->s.W, count[] = {pixels * p->s.in, pixels * p->s.out, lli_conv_weights(&p->s), p->s.out};
    for (int i = 0; i < 4; i++)
        if (integers)
            fill_integers(all[i], count[i], 2, i);
        else
            fill_reals(all[i], count[i], 1, i);
}

/* Everything, with the images, panels and channels in pieces of the sizes given. */
static void run(problem *p, const lli_conv_kernels *k, int64_t images, int64_t panels, int64_t channels, bool relu) {
    const lli_conv_shape *s = &p->s;
    for (int64_t i = 0; i < p->n; i += images)
        for (int64_t q = 0; q < lli_conv_panels(s->out); q += panels)
            k->forward(p->y, p->x, p->w + q * LLI_CONV_TAPS * s->in * LLI_CONV_PANEL, p->b, relu, p->zeros, s,
                       (lli_range){i, LLI_MIN(i + images, p->n)}, (lli_range){q, LLI_MIN(q + panels, lli_conv_panels(s->out))});
    for (int64_t q = 0; q < lli_conv_panels(s->in); q += panels) {
        lli_range part = {q, LLI_MIN(q + panels, lli_conv_panels(s->in))};
        float *flipped = p->flipped + q * LLI_CONV_TAPS * s->out * LLI_CONV_PANEL;
        k->flip(flipped, p->w, s, part);
        for (int64_t i = 0; i < p->n; i += images)
            k->forward(p->dx, p->dy, flipped, NULL, false, p->zeros, &p->back, (lli_range){i, LLI_MIN(i + images, p->n)}, part);
    }
    float *scratch = floats(lli_conv_scratch(s, p->n)), *turned = floats(lli_conv_turned(s, p->n));
    const int64_t chunks = (p->n + lli_conv_chunk(s) - 1) / lli_conv_chunk(s);
    for (int64_t c = 0; lli_conv_turns(s) && c < chunks; c++)
        k->turn(turned, p->dy, s, p->n, (lli_range){c, c + 1});
    for (int64_t i = 0; i < s->in; i += channels) {
        lli_conv_shape part = {s->H, s->W, LLI_MIN(channels, s->in - i), s->out};
        float *dw = floats(lli_conv_weights(&part));
        k->weights(dw, i == 0 ? p->db : NULL, scratch, p->x, p->dy, turned, s, p->n, (lli_range){i, i + part.in});
        for (int64_t o = 0; o < s->out; o++)
            for (int64_t c = 0; c < part.in; c++)
                for (int64_t t = 0; t < LLI_CONV_TAPS; t++)
                    p->dw[lli_conv_place(s, o, i + c, t)] = dw[lli_conv_place(&part, o, c, t)];
        free(dw);
    }
    free(scratch);
    free(turned);
}

static void assert_same(const problem *a, const problem *b) {
    int64_t pixels = a->n * a->s.H * a->s.W;
    assert_memory_equal(a->y, b->y, (size_t)(pixels * a->s.out) * sizeof(float));
    assert_memory_equal(a->dx, b->dx, (size_t)(pixels * a->s.in) * sizeof(float));
    assert_memory_equal(a->db, b->db, (size_t)a->s.out * sizeof(float));
    for (int64_t o = 0; o < a->s.out; o++) /* the rest of the last panel means nothing */
        for (int64_t i = 0; i < a->s.in; i++)
            for (int64_t t = 0; t < LLI_CONV_TAPS; t++)
                assert_true(a->dw[lli_conv_place(&a->s, o, i, t)] == b->dw[lli_conv_place(&a->s, o, i, t)]);
}

static const lli_conv_shape shapes[] = {{1, 1, 1, 1},  {1, 5, 3, 8},    {3, 2, 8, 16},  {2, 2, 16, 24}, {4, 4, 24, 8},   {8, 8, 16, 40},
                                        {9, 7, 5, 17}, {7, 13, 20, 33}, {16, 16, 3, 8}, {5, 32, 8, 16}, {11, 11, 16, 16}};

static void test_integers(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 1)
    for (size_t i = 0; i < LLI_COUNT(shapes); i++)
        for (int64_t n = 1; n <= 13; n += 4 * check_step(3)) {
            problem plain = problem_new(shapes[i], n), p = problem_new(shapes[i], n);
            problem_fill(&plain, true);
            problem_fill(&p, true);
            run(&plain, lli_kernels_ref.conv, n, 100, 1000, i % 2);
            run(&p, kernels->conv, n, 100, 1000, i % 2);
            assert_same(&plain, &p);
            problem_free(&plain);
            problem_free(&p);
        }
}

/* Pieces of any size give the same bits: what is said about threads rests on this. */
static void test_pieces(void **state) {
    (void)state;
    FOR_LEVELS(kernels, 0) for (size_t i = 0; i < LLI_COUNT(shapes); i++) {
        problem whole = problem_new(shapes[i], 9), p = problem_new(shapes[i], 9);
        problem_fill(&whole, false);
        problem_fill(&p, false);
        run(&whole, kernels->conv, 9, 100, 1000, true);
        for (int64_t size = 1; size < 8; size += 3 * check_step(2)) {
            run(&p, kernels->conv, size, 1, size, true);
            assert_same(&whole, &p);
        }
        problem_free(&whole);
        problem_free(&p);
    }
}

/* Wider vectors hold more outputs, and no output another sum: levels that round alike have the same bits. */
static void test_fused_levels(void **state) {
    (void)state;
    static const lli_conv_shape large[] = {{32, 32, 3, 40}, {16, 16, 34, 64}, {18, 20, 17, 31}, {4, 4, 40, 70}, {2, 2, 64, 96}};
    const lli_kernels *first = NULL;
    int compared = 0;
    FOR_LEVELS(kernels, 0) {
        if (kernels->fused && first)
            for (size_t i = 0; i < LLI_COUNT(shapes) + LLI_COUNT(large); i++) {
                lli_conv_shape s = i < LLI_COUNT(shapes) ? shapes[i] : large[i - LLI_COUNT(shapes)];
                problem expected = problem_new(s, 19), p = problem_new(s, 19);
                problem_fill(&expected, false);
                problem_fill(&p, false);
                run(&expected, first->conv, 19, 100, 1000, i % 2);
                run(&p, kernels->conv, 19, 100, 1000, i % 2);
                assert_same(&expected, &p);
                problem_free(&expected);
                problem_free(&p);
                compared++;
            }
        first = first ? first : kernels->fused ? kernels : NULL;
    }
    if (!compared) {
        print_message("# why: fewer than two levels of this build and processor have FMA\n");
        skip();
    }
}

/* sum of y dy, in f64 from the definition. */
static double loss(const problem *p) {
    double sum = 0;
    const lli_conv_shape *s = &p->s;
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t v = 0; v < s->H; v++)
            for (int64_t u = 0; u < s->W; u++)
                for (int64_t o = 0; o < s->out; o++) {
                    double y = (double)p->b[o];
                    for (int64_t t = 0; t < LLI_CONV_TAPS; t++)
                        for (int64_t i = 0; i < s->in; i++) {
                            int64_t row = v + t / 3 - 1, column = u + t % 3 - 1;
                            if (row >= 0 && row < s->H && column >= 0 && column < s->W)
                                y += (double)p->w[lli_conv_place(s, o, i, t)] *
                                     (double)p->x[((n * s->H + row) * s->W + column) * s->in + i];
                        }
                    sum += y * (double)p->dy[((n * s->H + v) * s->W + u) * s->out + o];
                }
    return sum;
}

/* The loss is linear in each number, so a difference of any length is exact. */
static void assert_slope(const problem *p, float *x, float slope) {
    float was = *x;
    *x = was + 1;
    double above = loss(p);
    *x = was - 1;
    double below = loss(p);
    *x = was;
    CHECK_NEAR((double)slope, (above - below) / 2, 1e-4);
}

static void test_gradients(void **state) {
    (void)state;
    static const lli_conv_shape small[] = {{2, 2, 3, 8}, {4, 5, 8, 3}, {9, 10, 2, 2}};
    FOR_LEVELS(kernels, 0) for (size_t c = 0; c < LLI_COUNT(small); c++) {
        problem p = problem_new(small[c], 3);
        problem_fill(&p, false);
        run(&p, kernels->conv, 2, 100, 2, false);
        for (int64_t i = 0; i < 3 * p.s.H * p.s.W * p.s.in; i += 5)
            assert_slope(&p, p.x + i, p.dx[i]);
        for (int64_t o = 0; o < p.s.out; o++)
            assert_slope(&p, p.b + o, p.db[o]);
        for (int64_t k = 0; k < p.s.out * p.s.in * LLI_CONV_TAPS; k += 2) {
            int64_t at = lli_conv_place(&p.s, k / LLI_CONV_TAPS / p.s.in, k / LLI_CONV_TAPS % p.s.in, k % LLI_CONV_TAPS);
            assert_slope(&p, p.w + at, p.dw[at]);
        }
        problem_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_pieces), cmocka_unit_test(test_fused_levels),
                                       cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
