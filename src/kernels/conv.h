/* SPDX-License-Identifier: MIT */
/* Convolution 3 x 3 with zeros around the image ("same" padding), stride 1, on images [n,H,W,C].
 *
 *     y[n,v,u,o] = b[o] + sum over taps (r,s) and channels i of w[o,i,r,s] x[n, v + r - 1, u + s - 1, i]
 *
 * Weights lie in panels of 16 outputs, as the kernels read them; outputs beyond `out` fill the last panel with anything.
 *
 *     panel q   [9][in][16]   tap 3 r + s, channel, outputs 16 q .. 16 q + 15
 *
 * A sum goes over the taps in order and over the channels of each; a gradient of a weight goes over the images in chunks of fixed length.
 * So bits depend on the shapes alone, not on how images, panels and channels are dealt out to threads. docs/kernels.md has the drawing. */
#ifndef LLI_KERNELS_CONV_H
#define LLI_KERNELS_CONV_H

#include "base/context.h"

enum {
    LLI_CONV_TAPS = 9,
    LLI_CONV_PANEL = 16 /* outputs in a panel */
};

typedef struct lli_conv_shape {
    int64_t H, W, in, out;
} lli_conv_shape;

/* A range of something, [first, end). */
typedef struct lli_range {
    int64_t first, end;
} lli_range;

static inline int64_t lli_conv_panels(int64_t channels) {
    return (channels + LLI_CONV_PANEL - 1) / LLI_CONV_PANEL;
}

static inline int64_t lli_conv_weights(const lli_conv_shape *s) {
    return lli_conv_panels(s->out) * LLI_CONV_TAPS * s->in * LLI_CONV_PANEL;
}

/* Place of w[o,i,tap] among the panels. */
static inline int64_t lli_conv_place(const lli_conv_shape *s, int64_t o, int64_t i, int64_t tap) {
    return ((o / LLI_CONV_PANEL * LLI_CONV_TAPS + tap) * s->in + i) * LLI_CONV_PANEL + o % LLI_CONV_PANEL;
}

/* Images in a chunk of the gradient of weights: about a thousand pixels. */
static inline int64_t lli_conv_chunk(const lli_conv_shape *s) {
    int64_t images = 1024 / (s->H * s->W);
    return images < 1 ? 1 : images;
}

/* The gradient of weights reads the pixels of a chunk in the order (row, column, image), whole panels: this is the order of memory where
 * the chunk is an image, else dy is turned first. */
static inline bool lli_conv_turns(const lli_conv_shape *s) {
    return lli_conv_chunk(s) > 1 || s->out % LLI_CONV_PANEL;
}

static inline int64_t lli_conv_turned(const lli_conv_shape *s, int64_t n) {
    return lli_conv_turns(s) ? n * s->H * s->W * lli_conv_panels(s->out) * LLI_CONV_PANEL : 0;
}

/* Of the gradient of weights: sums of the bias, and a chunk of up to eight channels of x; the last store ends beyond. */
static inline int64_t lli_conv_scratch(const lli_conv_shape *s, int64_t n) {
    int64_t images = lli_conv_chunk(s), pixels = (n < images ? n : images) * s->H * s->W;
    return lli_conv_panels(s->out) * LLI_CONV_PANEL * 2 + 8 * pixels + 16;
}

typedef struct lli_conv_kernels {
    /* The images and panels given of y [.,H,W,out]; bias [out] or NULL; relu: max(0, .) is stored, NaN stays NaN. zeros [in] are zero.
     * Panel q lies at weights + (q - panels.first) * 9 * in * 16. */
    void (*forward)(float *y, const float *x, const float *weights, const float *bias, bool relu, const float *zeros,
                    const lli_conv_shape *s, lli_range images, lli_range panels);
    /* Weights of the convolution that takes dy to dx: taps turned round, in and out exchanged. The panels given, of `in`, from flipped
     * on. */
    void (*flip)(float *flipped, const float *weights, const lli_conv_shape *s, lli_range panels);
    /* The chunks given of dy, of n images in all, in the order in which `weights` of this level reads them, where lli_conv_turns.
     * turned has lli_conv_turned floats. */
    void (*turn)(float *turned, const float *dy, const lli_conv_shape *s, int64_t n, lli_range chunks);
    /* dw [panels of out][9][channels.end - channels.first][16] = gradient of the weights of the channels given, over n images; db [out]
     * that of the bias, or NULL. scratch has lli_conv_scratch floats. */
    void (*weights)(float *dw, float *db, float *scratch, const float *x, const float *dy, const float *turned, const lli_conv_shape *s,
                    int64_t n, lli_range channels);
} lli_conv_kernels;

#endif
