/* SPDX-License-Identifier: MIT */
/* Bytes, f16 or f32 to f32, and the augmentation of images. */
#include "model/input.h"

#include <string.h>

int64_t lli_input_floats(int64_t D) {
    return lli_kernels_stride(D);
}

static void widen(float *out, const uint8_t *bytes, int64_t count, float shift, float scale) {
    for (int64_t i = 0; i < count; i++)
        out[i] = ((float)bytes[i] - shift) * scale;
}

static void read_row(float *x, const lli_input *input, int64_t row, float *scratch) {
    const lli_rows *r = input->rows;
    const char *from = (const char *)r->features + (size_t)(row * r->D) * lli_rows_size(r);
    if (r->bytes) {
        widen(x, (const uint8_t *)from, r->D, r->shift, r->scale);
    } else if (r->half) {
        input->kernels->gather(scratch, r->features, true, NULL, row, 1, r->D, lli_kernels_stride(r->D));
        memcpy(x, scratch, (size_t)r->D * sizeof *x);
    } else {
        memcpy(x, from, (size_t)r->D * sizeof *x);
    }
}

void lli_input_read(float *x, const lli_input *input, int64_t i, int64_t n, float *scratch) {
    const lli_rows *r = input->rows;
    bool augment = input->augment && r->augment;
    for (int64_t end = i + n; i < end; i++, x += r->D) {
        int64_t row = input->list ? input->list[i] : input->first + i;
        read_row(augment ? scratch : x, input, row, scratch);
        if (augment)
            r->augment(x, scratch, r->height, r->width, r->channels, input->seed, input->epoch, row, r->augment_options);
    }
}
