/* SPDX-License-Identifier: MIT */
/* Batch norm and max-pooling, lanes = channels. kernels/norm.h says what each does. */
#include "kernels/norm.h"

#include <string.h>

#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum { ROWS = 4 }; /* added before a sum in memory is touched */

/* sums[0] += x, sums[1] += x y over `rows` rows from each, in fours; y = x gives squares. */
INLINE void add_products(double *sums, const float *x, const float *y, int64_t rows, int64_t C) {
    memset(sums, 0, (size_t)(2 * C) * sizeof *sums);
    int64_t i = 0, whole = C - C % H;
    for (; i + ROWS <= rows; i += ROWS, x += ROWS * C, y += ROWS * C)
        for (int64_t c = 0; c < whole; c += H) {
            vd sum = {0}, product = {0};
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                vd a = load_widened(x + r * C + c), b = load_widened(y + r * C + c);
                sum += a;
                product = fma_d(a, b, product);
            }
            store_d(sums + c, load_d(sums + c) + sum);
            store_d(sums + C + c, load_d(sums + C + c) + product);
        }
    for (; i < rows; i++, x += C, y += C)
        for (int64_t c = 0; c < whole; c++) {
            sums[c] += (double)x[c];
            sums[C + c] += (double)x[c] * (double)y[c];
        }
    x -= rows * C;
    y -= rows * C;
    for (i = 0; i < rows; i++)
        for (int64_t c = whole; c < C; c++) {
            sums[c] += (double)x[i * C + c];
            sums[C + c] += (double)x[i * C + c] * (double)y[i * C + c];
        }
}

static void sums(double *out, const float *x, int64_t rows, int64_t C) {
    add_products(out, x, x, rows, C);
}

static void back_sums(double *out, const float *dy, const float *x, int64_t rows, int64_t C) {
    add_products(out, dy, x, rows, C);
}

static void apply(float *y, const float *x, const float *scale, const float *shift, int64_t rows, int64_t C) {
    for (int64_t i = 0; i < rows; i++, x += C, y += C) {
        int64_t c = 0;
        for (; c + W <= C; c += W)
            store(y + c, fma_f(load(scale + c), load(x + c), load(shift + c)));
        for (; c < C; c++)
            y[c] = fma_f(all(scale[c]), all(x[c]), all(shift[c]))[0];
    }
}

INLINE vf back_of(vf dy, vf x, vf a, vf b, vf c, bool positive) {
    vf dx = fma_f(a, dy, fma_f(b, x, c));
    return positive ? (vf)((vi)dx & (x > all(0))) : dx;
}

INLINE void back_rows(float *dx, const float *dy, const float *x, const float *abc, bool positive, int64_t rows, int64_t C) {
    const float *A = abc, *B = abc + C, *shift = abc + 2 * C;
    for (int64_t i = 0; i < rows; i++, x += C, dy += C, dx += C) {
        int64_t c = 0;
        for (; c + W <= C; c += W)
            store(dx + c, back_of(load(dy + c), load(x + c), load(A + c), load(B + c), load(shift + c), positive));
        for (; c < C; c++)
            dx[c] = back_of(all(dy[c]), all(x[c]), all(A[c]), all(B[c]), all(shift[c]), positive)[0];
    }
}

static void back(float *dx, const float *dy, const float *x, const float *abc, bool positive, int64_t rows, int64_t C) {
    if (positive)
        back_rows(dx, dy, x, abc, true, rows, C);
    else
        back_rows(dx, dy, x, abc, false, rows, C);
}

static void pool(float *y, const float *x, int64_t height, int64_t width, int64_t C, int64_t first, int64_t end) {
    int64_t rows = height / 2, columns = width / 2;
    for (int64_t row = first; row < end; row++) {
        const float *from = x + (row / rows * height + row % rows * 2) * width * C;
        float *to = y + row * columns * C;
        for (int64_t u = 0; u < columns; u++, from += 2 * C, to += C) {
            const float *below = from + width * C;
            int64_t c = 0;
            for (; c + W <= C; c += W)
                store(to + c, larger(larger(load(below + C + c), load(below + c)), larger(load(from + C + c), load(from + c))));
            for (; c < C; c++)
                to[c] = larger(larger(all(below[C + c]), all(below[c])), larger(all(from[C + c]), all(from[c])))[0];
        }
    }
}

/* The four places of one window: the first that holds the maximum takes g. */
INLINE void pool_window(vf out[4], const vf x[4], vf g) {
    vf top = larger(larger(x[3], x[2]), larger(x[1], x[0]));
    vi left = (vi){0} == 0;
    UNROLL
    for (int k = 0; k < 4; k++) {
        vi take = k < 3 ? left & (x[k] == top) : left;
        out[k] = (vf)((vi)g & take);
        left &= ~take;
    }
}

static void pool_back(float *dx, const float *dy, const float *x, int64_t height, int64_t width, int64_t C, int64_t first, int64_t end) {
    int64_t rows = height / 2, columns = width / 2, length = width * C;
    for (int64_t row = first; row < end; row++) {
        int64_t at = (row / rows * height + row % rows * 2) * length;
        if (row % rows == rows - 1 && height % 2)
            memset(dx + at + 2 * length, 0, (size_t)length * sizeof *dx);
        for (int64_t u = 0; u < columns; u++) {
            const float *g = dy + (row * columns + u) * C, *from = x + at + 2 * u * C;
            float *to = dx + at + 2 * u * C;
            const int64_t place[4] = {0, C, length, length + C};
            int64_t c = 0;
            for (; c + W <= C; c += W) {
                vf in[4], out[4];
                UNROLL
                for (int k = 0; k < 4; k++)
                    in[k] = load(from + place[k] + c);
                pool_window(out, in, load(g + c));
                UNROLL
                for (int k = 0; k < 4; k++)
                    store(to + place[k] + c, out[k]);
            }
            for (; c < C; c++) {
                vf in[4], out[4];
                for (int k = 0; k < 4; k++)
                    in[k] = all(from[place[k] + c]);
                pool_window(out, in, all(g[c]));
                for (int k = 0; k < 4; k++)
                    to[place[k] + c] = out[k][0];
            }
        }
        if (width % 2)
            for (int k = 0; k < 2; k++)
                memset(dx + at + k * length + (width - 1) * C, 0, (size_t)C * sizeof *dx);
    }
}

const lli_norm_kernels LEVEL(norm) = {
    .sums = sums, .apply = apply, .back_sums = back_sums, .back = back, .pool = pool, .pool_back = pool_back};
