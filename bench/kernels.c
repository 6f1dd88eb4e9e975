/* SPDX-License-Identifier: MIT */
/* Times every kernel of every level on the shapes of real heads, in CPU time of one thread, and prints GF/s beside the measured peak of the
 * multiply-add units. Usage: build/bench/kernels [LEVEL]. A run takes a few seconds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "peak.h"

enum { REPEATS = 3 };
static const double SLICE = 0.01; /* seconds of one timing */

typedef struct head {
    int64_t n, K, D, ld, ldk, N, batch;
    float *theta, *z, *g, *features;
    uint16_t *halves;
    int64_t *rows;
    int32_t *labels;
    double *gradient;
    const lli_kernels *kernels;
    lli_update update;
    lli_mask mask;
} head;

/* Seconds per call: the fastest of a few slices, since other work on the machine only ever adds. */
static double timed(void (*call)(head *), head *h) {
    double best = INFINITY;
    int64_t calls = 1;
    call(h);
    for (int r = 0; r < REPEATS; r++) {
        double start = seconds(CLOCK_THREAD_CPUTIME_ID), took;
        int64_t done = 0;
        do {
            for (int64_t c = 0; c < calls; c++)
                call(h);
            done += calls;
            took = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
            calls = took < SLICE / 10 ? calls * 2 : calls;
        } while (took < SLICE);
        best = fmin(best, took / (double)done);
    }
    return best;
}

/* Rows of the next batch in a shuffled set larger than the caches. */
static const int64_t *next_rows(head *h) {
    h->batch = h->batch + 2 * h->n <= h->N ? h->batch + h->n : 0;
    return h->rows + h->batch;
}
static void gather(head *h) {
    h->kernels->gather(h->z, h->features, false, next_rows(h), 0, h->n, h->D, h->ld);
}
static void gather_half(head *h) {
    h->kernels->gather(h->z, h->halves, true, next_rows(h), 0, h->n, h->D, h->ld);
}
static void logits(head *h) {
    h->kernels->logits(h->g, h->theta, h->z, h->n, h->K, h->ld, h->ldk);
}
static void residual(head *h) {
    h->kernels->residual(h->g, h->labels, NULL, h->n, h->K, h->ldk);
}
static void update(head *h) {
    h->update.noise = 0;
    h->kernels->update(h->theta, h->g, h->z, &h->update, h->n, h->K, h->D, h->ld, h->ldk);
}
static void update_noise(head *h) {
    h->update.noise = 1e-4f;
    h->kernels->update(h->theta, h->g, h->z, &h->update, h->n, h->K, h->D, h->ld, h->ldk);
}
static void gradient(head *h) {
    h->kernels->gradient(h->gradient, h->g, h->z, h->n, h->K, h->ld, h->ldk);
}
static void step(head *h) {
    logits(h);
    residual(h);
    update(h);
}
static void step_gather(head *h) {
    gather(h);
    step(h);
}
static void mask_half(head *h) {
    h->mask.drop16 = 32768;
    h->kernels->mask(h->z, h->z, &h->mask, 0, h->n, h->D, h->ld);
}
static void mask_tenth(head *h) {
    h->mask.drop16 = 6554;
    h->kernels->mask(h->z, h->z, &h->mask, 0, h->n, h->D, h->ld);
}
static void normals(head *h) {
    h->kernels->normals(h->z, h->update.stream, 0, h->n * h->ld);
}
static void *block(int64_t count, size_t size) {
    void *p = aligned_alloc(64, ((size_t)count * size + 127) / 64 * 64);
    if (!p)
        exit(1);
    return memset(p, 0, (size_t)count * size);
}

static void fill(head *h) {
    lli_stream s = h->update.stream;
    h->kernels->normals(h->theta, s, 0, h->K * h->ld);
    for (int64_t i = 0; i < h->K * h->ld; i++)
        h->theta[i] *= i % h->ld <= h->D ? 0.05f : 0;
    gather(h);
    logits(h);
}

static head head_new(int64_t n, int64_t D, int64_t K) {
    head h = {.n = n, .K = K, .D = D, .ld = lli_kernels_stride(D), .ldk = lli_kernels_stride_classes(K), .N = (96 << 20) / (4 * D)};
    h.theta = block(K * h.ld, sizeof *h.theta);
    h.z = block(n * h.ld, sizeof *h.z);
    h.g = block(n * h.ldk, sizeof *h.g);
    h.features = block(h.N * D, sizeof *h.features);
    h.halves = block(h.N * D, sizeof *h.halves);
    h.rows = block(h.N, sizeof *h.rows);
    h.labels = block(n, sizeof *h.labels);
    h.gradient = block(K * h.ld, sizeof *h.gradient);
    h.update = (lli_update){1, 1e-6f, 0, lli_rng_stream(1, LLI_PURPOSE_TEST, 0, 0)};
    h.mask.stream = h.update.stream;
    for (int64_t i = 0; i < h.N; i++)
        h.rows[i] = (int64_t)lli_rng_below(h.update.stream, (uint64_t)i, (uint64_t)h.N);
    for (int64_t i = 0; i < n; i++)
        h.labels[i] = (int32_t)(i % K);
    lli_kernels_get()->normals(h.features, h.update.stream, 0, h.N * D);
    return h;
}

static void head_free(head *h) {
    void *all[] = {h->theta, h->z, h->g, h->features, h->halves, h->rows, h->labels, h->gradient};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        free(all[i]);
}

static void report(head *h) {
    const double product = 2.0 * (double)(h->n * h->K * (h->D + 1)), elements = (double)(h->n * h->ld), classes = (double)(h->n * h->K);
    static const struct {
        const char *name;
        void (*call)(head *);
    } flops[] = {{"logits", logits}, {"update", update}, {"gradient", gradient}}, steps[] = {{"step", step}, {"+gather", step_gather}};
    fill(h);
    printf("%-4s D %-4d K %-4d n %-3d ", h->kernels->name, (int)h->D, (int)h->K, (int)h->n);
    for (size_t i = 0; i < LLI_COUNT(flops); i++)
        printf(" %s %5.1f", flops[i].name, product / timed(flops[i].call, h) * 1e-9);
    for (size_t i = 0; i < LLI_COUNT(steps); i++) {
        fill(h);
        printf("  %s %5.1f", steps[i].name, 2 * product / timed(steps[i].call, h) * 1e-9);
    }
    fill(h);
    int64_t n = h->n;
    h->n = 1; /* hardly anything but noise */
    double plain = timed(update, h), noisy = timed(update_noise, h);
    h->n = n;
    printf(" GF/s\n                        noise %.2f", 1e9 * (noisy - plain) / (double)(h->K * h->ld));
    printf(" normals %.2f ns", 1e9 * timed(normals, h) / elements);
    printf("  mask .5 %.2f .1 %.2f ns", 1e9 * timed(mask_half, h) / elements, 1e9 * timed(mask_tenth, h) / elements);
    fill(h);
    printf("  residual %.2f ns/class", 1e9 * timed(residual, h) / classes);
    printf("  gather f32 %.2f f16 %.2f ns\n", 1e9 * timed(gather, h) / elements, 1e9 * timed(gather_half, h) / elements);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][3] = {{32, 20, 10}, {128, 64, 10}, {128, 512, 10}, {128, 784, 10}, {128, 512, 100}, {512, 2048, 1000}};
    if (!lli_kernels_get()) {
        fprintf(stderr, "LASTLAYER_ISA must be one of %s\n", lli_kernels_names());
        return 1;
    }
    for (size_t s = 0; s < LLI_COUNT(shapes); s++) {
        head h = head_new(shapes[s][0], shapes[s][1], shapes[s][2]);
        if (s == 0)
            printf("multiply-add peak %.1f GF/s; times per element\n", peak());
        for (size_t l = 1; (h.kernels = lli_kernels_at(l)); l++)
            if (lli_kernels_supported(h.kernels) && (argc < 2 || strcmp(argv[1], h.kernels->name) == 0))
                report(&h);
        head_free(&h);
    }
    return 0;
}
