/* SPDX-License-Identifier: MIT */
/* Images from arrays of bytes. Opens no file. */
#include "data/images.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum { LEVELS = 256, CHUNK = 1 << 20, CLASSES_MAX = 1 << 16 };

typedef struct shape {
    int64_t height, width, channels;
    bool planes; /* [C,H,W] in the file */
} shape;

static bool is_channels(int64_t n) {
    return n == 1 || n == 3;
}

static ll_status find_shape(shape *out, ll_context *ctx, const char *name, const ll_array *a) {
    char text[LLI_ARRAY_TEXT];
    if (a->dtype != LL_DTYPE_U8)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s: the images are %s; expected bytes 0 to 255 (lastlayer convert --dtype u8 makes whole numbers so)", name,
                        lli_array_text(text, a));
    if (a->rank == 3)
        *out = (shape){a->shape[1], a->shape[2], 1, false};
    else if (a->rank == 4 && is_channels(a->shape[3]))
        *out = (shape){a->shape[1], a->shape[2], a->shape[3], false};
    else if (a->rank == 4 && is_channels(a->shape[1]))
        *out = (shape){a->shape[2], a->shape[3], a->shape[1], true};
    else
        return lli_fail(ctx, LL_ERR_DATA, "%s: the images are %s; expected [N,H,W], or [N,H,W,C] or [N,C,H,W] with 1 or 3 channels C", name,
                        lli_array_text(text, a));
    if (a->shape[0] < 1 || out->height < 1 || out->width < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the images are %s; expected at least one, of at least one pixel", name,
                        lli_array_text(text, a));
    return LL_OK;
}

ll_status lli_images_new(ll_dataset **out, ll_context *ctx, unsigned char *pixels, int64_t N, int64_t height, int64_t width,
                         int64_t channels) {
    ll_dataset *data;
    *out = NULL;
    ll_status status = lli_memory_new(ctx, &data, 1, sizeof *data);
    if (status != LL_OK) {
        lli_memory_free(pixels);
        return status;
    }
    data->block = pixels;
    data->rows = (lli_rows){.features = pixels,
                            .N = N,
                            .D = height * width * channels,
                            .bytes = true,
                            .scale = 1,
                            .height = height,
                            .width = width,
                            .channels = channels};
    *out = data;
    return LL_OK;
}

/* [N,C,H,W] -> [N,H,W,C], or as it is. */
static void copy_pixels(unsigned char *to, const unsigned char *from, int64_t N, const shape *s) {
    int64_t area = s->height * s->width, C = s->channels;
    if (!s->planes || C == 1) {
        memcpy(to, from, (size_t)(N * area * C));
        return;
    }
    for (int64_t i = 0; i < N; i++, to += area * C, from += area * C)
        for (int64_t c = 0; c < C; c++)
            for (int64_t p = 0; p < area; p++)
                to[p * C + c] = from[c * area + p];
}

static ll_status join_labels(ll_context *ctx, ll_dataset *data, const lli_images_file *files, int64_t count, int64_t classes) {
    int32_t *all = NULL, *some = NULL;
    int64_t filled = 0, largest;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &all, data->rows.N, sizeof *all));
    for (int64_t i = 0; i < count; i++) {
        int64_t n = files[i].images.shape[0];
        LLI_DO(lli_dataset_labels(ctx, &some, &largest, files[i].name, *files[i].labels, n, classes));
        memcpy(all + filled, some, (size_t)n * sizeof *all);
        lli_memory_free(some);
        some = NULL;
        filled += n;
    }
    LLI_DO(lli_dataset_take_labels(ctx, data, files[0].name, ll_array_view(all, LL_DTYPE_I32, 1, &filled), classes));
    /* a few images may not show most classes of their set, but one huge label must not cost memory */
    if (!data->K_given && data->K > LLI_MAX(CLASSES_MAX, data->rows.N))
        LLI_DO(lli_fail(ctx, LL_ERR_DATA,
                        "%s: the largest label is %" PRId64 ", which means %" PRId64 " classes for %" PRId64 " images; number them from 0",
                        files[0].name, data->K - 1, data->K, data->rows.N));
done:
    lli_memory_free(all);
    lli_memory_free(some);
    return status;
}

ll_status lli_images_join(ll_dataset **out, ll_context *ctx, const lli_images_file *files, int64_t count, int64_t classes) {
    shape first = {0}, s = {0};
    int64_t N = 0, bytes, row;
    unsigned char *pixels;
    *out = NULL;
    for (int64_t i = 0; i < count; i++) {
        LLI_TRY(find_shape(&s, ctx, files[i].name, &files[i].images));
        first = i == 0 ? s : first;
        if (s.height != first.height || s.width != first.width || s.channels != first.channels)
            return lli_fail(ctx, LL_ERR_DATA,
                            "%s: the images are %" PRId64 " x %" PRId64 " x %" PRId64 " but those of %s %" PRId64 " x %" PRId64
                            " x %" PRId64,
                            files[i].name, s.height, s.width, s.channels, files[0].name, first.height, first.width, first.channels);
        N += files[i].images.shape[0];
    }
    row = first.height * first.width * first.channels;
    if (!lli_multiply(&bytes, N, row))
        return lli_fail(ctx, LL_ERR_MEMORY, "%s: there are too many images for memory", files[0].name);
    LLI_TRY(lli_memory_new(ctx, &pixels, bytes, 1));
    unsigned char *place = pixels;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = files[i].images.shape[0];
        s = first;
        s.planes = files[i].images.rank == 4 && !is_channels(files[i].images.shape[3]);
        copy_pixels(place, files[i].images.data, n, &s);
        place += n * row;
    }
    ll_dataset *data;
    LLI_TRY(lli_images_new(&data, ctx, pixels, N, first.height, first.width, first.channels));
    if (files[0].labels) {
        ll_status status = join_labels(ctx, data, files, count, classes);
        if (status != LL_OK) {
            ll_dataset_free(data);
            return status;
        }
    }
    *out = data;
    return LL_OK;
}

/* How often each byte occurs. All sums over pixels follow from it, exactly and in one order. */
static void count_levels(int64_t counts[LEVELS], const ll_dataset *data) {
    const unsigned char *p = data->rows.features;
    int64_t n = data->rows.N * data->rows.D, four[4][LEVELS] = {{0}}, i = 0;
    for (; i + 4 <= n; i += 4) /* four tables: neighbours are often equal, and one counter would wait for itself */
        for (int k = 0; k < 4; k++)
            four[k][p[i + k]]++;
    for (; i < n; i++)
        four[0][p[i]]++;
    for (int v = 0; v < LEVELS; v++)
        counts[v] = four[0][v] + four[1][v] + four[2][v] + four[3][v];
}

void lli_images_measure(double *shift, double *scale, const ll_dataset *data) {
    *shift = 0;
    *scale = 1.0 / (LEVELS - 1);
    if (data->rows.channels == 1)
        return;
    int64_t counts[LEVELS];
    count_levels(counts, data);
    double n = (double)(data->rows.N * data->rows.D), sum = 0, square = 0;
    for (int v = 0; v < LEVELS; v++)
        sum += (double)counts[v] * v;
    *shift = sum / n;
    for (int v = 0; v < LEVELS; v++)
        square += (double)counts[v] * (v - *shift) * (v - *shift);
    *scale = 1 / (sqrt(square / n) + 1e-7);
}

ll_status lli_images_seal(ll_context *ctx, ll_dataset *data, double shift, double scale) {
    const lli_rows *rows = &data->rows;
    const int64_t dimensions[] = {rows->N, rows->height, rows->width, rows->channels};
    int64_t counts[LEVELS], bytes = rows->N * rows->D;
    data->rows.shift = (float)shift;
    data->rows.scale = (float)scale;
    count_levels(counts, data);
    double sum = 0;
    for (int v = 0; v < LEVELS; v++)
        sum += (double)counts[v] * (v - shift) * (v - shift) * scale * scale;
    data->mean_square = sum / (double)rows->N;
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_U8, 4, dimensions);
    for (int64_t first = 0; first < bytes; first += CHUNK) {
        LLI_TRY(lli_cancel_check(ctx));
        lli_hash_add(&hash, (const char *)rows->features + first, (size_t)LLI_MIN((int64_t)CHUNK, bytes - first));
        lli_progress(ctx, "checking images", (double)LLI_MIN(first + CHUNK, bytes), (double)bytes);
    }
    lli_hash_text(&hash, data->features_hash);
    return LL_OK;
}

ll_status lli_images_check_shape(ll_context *ctx, const ll_dataset *data, const char *name, int64_t height, int64_t width, int64_t channels,
                                 const char *other) {
    const lli_rows *rows = &data->rows;
    if (rows->height == height && rows->width == width && rows->channels == channels)
        return LL_OK;
    return lli_fail(ctx, LL_ERR_DATA,
                    "%s: the images are %" PRId64 " x %" PRId64 " x %" PRId64 " (height, width, channels) but %s has %" PRId64 " x %" PRId64
                    " x %" PRId64,
                    name, rows->height, rows->width, rows->channels, other, height, width, channels);
}
