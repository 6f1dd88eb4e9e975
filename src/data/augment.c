/* SPDX-License-Identifier: MIT */
/* Rotation, shift and flip of images. docs/math/augment.md */
#include "data/augment.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* A decimal number without exponent at *text, which moves behind it; -1 if there is none. */
static double parse_number(const char **text) {
    double value = 0, place = 1;
    const char *begin = *text;
    for (; **text >= '0' && **text <= '9'; ++*text)
        value = 10 * value + (**text - '0');
    if (**text == '.')
        for (++*text; **text >= '0' && **text <= '9'; ++*text) {
            value = 10 * value + (**text - '0');
            place *= 10;
        }
    return *text > begin ? value / place : -1;
}

static bool starts(const char **text, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

ll_status lli_augment_parse(lli_augment *out, ll_context *ctx, const char *text) {
    *out = (lli_augment){0};
    if (!text || strcmp(text, "none") == 0)
        return LL_OK;
    for (const char *p = text;; p++) {
        bool known = true;
        if (starts(&p, "rotate="))
            out->rotate = parse_number(&p);
        else if (starts(&p, "shift="))
            out->shift = parse_number(&p);
        else if (starts(&p, "flip"))
            out->flip = true;
        else
            known = false;
        if (!known || (*p && *p != ',') || !(out->rotate >= 0 && out->rotate <= 180) || !(out->shift >= 0 && out->shift < 1))
            return lli_fail(ctx, LL_ERR_USAGE,
                            "`augment` is \"%.100s\"; expected none, or some of rotate=15,shift=0.1,flip with rotate from 0 to 180 degrees "
                            "and shift in [0,1)",
                            text);
        if (!*p)
            return LL_OK;
    }
}

bool lli_augment_is_none(const lli_augment *augment) {
    return augment->rotate == 0 && augment->shift == 0 && !augment->flip;
}

void lli_augment_text(lli_text *out, const lli_augment *augment) {
    const char *comma = "";
    if (augment->rotate > 0) {
        lli_text_add(out, "rotate=");
        lli_text_number(out, augment->rotate);
        comma = ",";
    }
    if (augment->shift > 0) {
        lli_text_add(out, "%sshift=", comma);
        lli_text_number(out, augment->shift);
        comma = ",";
    }
    if (augment->flip)
        lli_text_add(out, "%sflip", comma);
    if (lli_augment_is_none(augment))
        lli_text_add(out, "none");
}

/* Uniform in (-1,1). */
static double uniform(uint32_t lane) {
    return (lane + 0.5) * 0x1p-31 - 1;
}

lli_augment_move lli_augment_draw(const lli_augment *augment, int64_t h, int64_t w, uint64_t seed, int64_t epoch, int64_t index) {
    static const double radians = 0.017453292519943295; /* of a degree */
    lli_philox p = lli_rng_block(lli_rng_stream(seed, LLI_PURPOSE_AUGMENT, 0, epoch), (uint64_t)index);
    return (lli_augment_move){.angle = uniform(p.lane[0]) * augment->rotate * radians,
                              .dy = uniform(p.lane[1]) * augment->shift * (double)h,
                              .dx = uniform(p.lane[2]) * augment->shift * (double)w,
                              .flip = augment->flip && p.lane[3] >> 31};
}

static float clamp(float x, float top) {
    return x < 0 ? 0 : x > top ? top : x;
}

/* One row of the result; c is a constant wherever this is inlined with one. */
static inline void turn_row(float *out, const float *raw, int h, int w, int c, float y, float x, float sine, float cosine) {
    float bottom = (float)(h - 1), right = (float)(w - 1);
    for (int j = 0; j < w; j++, out += c) {
        float sy = clamp(y - sine * (float)j, bottom), sx = clamp(x + cosine * (float)j, right);
        int top = (int)sy, left = (int)sx;
        float fy = sy - (float)top, fx = sx - (float)left;
        const float *p = raw + (top * w + left) * c, *q = p + (top < h - 1 ? w * c : 0);
        int next = left < w - 1 ? c : 0;
        for (int k = 0; k < c; k++) {
            float above = p[k] + fx * (p[k + next] - p[k]), below = q[k] + fx * (q[k + next] - q[k]);
            out[k] = above + fy * (below - above);
        }
    }
}

static void mirror_row(float *row, int w, int c) {
    for (int a = 0, b = w - 1; a < b; a++, b--)
        for (int k = 0; k < c; k++) {
            float kept = row[a * c + k];
            row[a * c + k] = row[b * c + k];
            row[b * c + k] = kept;
        }
}

/* With the centre (cy,cx), u = i - cy + dy and v = -cx + dx, pixel (i,j) reads (cy + cos u - sin (v + j), cx + sin u + cos (v + j)). */
void lli_augment_apply(float *image, const float *raw, int64_t height, int64_t width, int64_t channels, const lli_augment_move *move) {
    int h = (int)height, w = (int)width, c = (int)channels;
    double cy = (h - 1) * 0.5, cx = (w - 1) * 0.5, sine = sin(move->angle), cosine = cos(move->angle);
    for (int i = 0; i < h; i++) {
        double u = i - cy + move->dy, v = move->dx - cx;
        float y = (float)(cy + cosine * u - sine * v), x = (float)(cx + sine * u + cosine * v), *out = image + (int64_t)i * w * c;
        if (c == 3)
            turn_row(out, raw, h, w, 3, y, x, (float)sine, (float)cosine);
        else
            turn_row(out, raw, h, w, c, y, x, (float)sine, (float)cosine);
        if (move->flip)
            mirror_row(out, w, c);
    }
}

void lli_augment_image(float *image, const float *raw, int64_t h, int64_t w, int64_t c, uint64_t seed, int64_t epoch, int64_t index,
                       const void *options) {
    lli_augment_move move = lli_augment_draw(options, h, w, seed, epoch, index);
    lli_augment_apply(image, raw, h, w, c, &move);
}
