/* SPDX-License-Identifier: MIT */
/* Writes synthetic last-layer features, row after row, so that a file may be larger than memory:
 *
 *   features ROWS FIRST D K SEP SEED f16|f32 FEATURES.npy LABELS.npy
 *
 * Row i has label y_i and z_i = c max(0, x_i + mu_y), x_i ~ N(0,I), mu_k ~ N(0, SEP^2/D I): what a ReLU leaves of K Gaussian clusters.
 * c keeps |z|^2 near 32 for D > 64. Rows FIRST..FIRST+ROWS-1 are written: another FIRST gives unseen rows of the same clusters. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "kernels/kernels.h"

enum { CHUNK = 1 << 20, STEP_MEANS = 1, STEP_LABELS = 2, STEP_NOISE = 3 };

static void *room(int64_t count, size_t size) {
    void *block = aligned_alloc(64, ((size_t)count * size + 127) / 64 * 64);
    if (!block) {
        fprintf(stderr, "features: out of memory\n");
        exit(1);
    }
    return block;
}

static FILE *npy(const char *path, const char *type, const char *shape) {
    char header[128];
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    int length = snprintf(header, sizeof header, "\x93NUMPY%c%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", 1, 0, 118, 0,
                          type, shape);
    memset(header + length, ' ', sizeof header - (size_t)length);
    header[127] = '\n';
    fwrite(header, 1, sizeof header, file);
    return file;
}

static void close_checked(FILE *file, const char *path) {
    if (ferror(file) | fclose(file)) {
        fprintf(stderr, "features: cannot write %s\n", path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 10) {
        fprintf(stderr, "usage: features ROWS FIRST D K SEP SEED f16|f32 FEATURES.npy LABELS.npy\n");
        return 2;
    }
    const int64_t rows = atoll(argv[1]), first = atoll(argv[2]), D = atoll(argv[3]), K = atoll(argv[4]), chunk = CHUNK / D + 1;
    const float spread = strtof(argv[5], NULL) / sqrtf((float)D), scale = D > 64 ? sqrtf(64.0f / (float)D) : 1;
    const uint64_t seed = strtoull(argv[6], NULL, 10);
    const bool half = strcmp(argv[7], "f16") == 0;
    const lli_kernels *kernels = lli_kernels_get();
    if (!kernels)
        return 1;
    const lli_stream labels = lli_rng_stream(seed, LLI_PURPOSE_TEST, 0, STEP_LABELS);
    const lli_stream noise = lli_rng_stream(seed, LLI_PURPOSE_TEST, 0, STEP_NOISE);
    float *means = room(K * D, sizeof *means), *z = room(chunk * D, sizeof *z);
    uint16_t *halves = room(chunk * D, sizeof *halves);
    int32_t *y = room(chunk, sizeof *y);
    kernels->normals(means, lli_rng_stream(seed, LLI_PURPOSE_TEST, 0, STEP_MEANS), 0, K * D);

    char shape[64];
    snprintf(shape, sizeof shape, "%" PRId64 ", %" PRId64, rows, D);
    FILE *to_z = npy(argv[8], half ? "<f2" : "<f4", shape);
    snprintf(shape, sizeof shape, "%" PRId64 ",", rows);
    FILE *to_y = npy(argv[9], "<i4", shape);
    for (int64_t at = 0; at < rows; at += chunk) {
        const int64_t n = at + chunk < rows ? chunk : rows - at;
        kernels->normals(z, noise, (first + at) * D, n * D);
        for (int64_t i = 0; i < n; i++) {
            y[i] = (int32_t)lli_rng_below(labels, (uint64_t)(first + at + i), (uint64_t)K);
            const float *mean = means + y[i] * D;
            for (int64_t j = 0; j < D; j++)
                z[i * D + j] = scale * fmaxf(0, z[i * D + j] + spread * mean[j]);
        }
        for (int64_t i = 0; half && i < n * D; i++)
            halves[i] = lli_half_from_float(z[i]);
        fwrite(half ? (void *)halves : (void *)z, half ? 2 : 4, (size_t)(n * D), to_z);
        fwrite(y, sizeof *y, (size_t)n, to_y);
    }
    close_checked(to_z, argv[8]);
    close_checked(to_y, argv[9]);
    return 0;
}
