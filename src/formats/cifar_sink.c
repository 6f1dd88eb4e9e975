/* SPDX-License-Identifier: MIT */
/* Writer of CIFAR binary files: images, labels and, for CIFAR-100, coarse_labels become records. Pixels come as planes [N,3,32,32] or as
 * rasters [N,32,32,3], [N,1024,3]; labels as any integers in their range. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "formats/cifar.h"
#include "formats/file_sink.h"

static bool is_labels(const lli_sink_array *a) {
    return a->spec.rank == 1 && lli_array_is_integer(a->spec.dtype);
}

static bool is_coarse(const lli_sink_array *a) {
    return strcmp(a->name, "coarse_labels") == 0;
}

/* Pixels with the channel as last axis. */
static bool is_raster(const ll_array *a) {
    return a->shape[a->rank - 1] == LLI_CIFAR_CHANNELS;
}

static bool is_images(const lli_sink_array *a) {
    const ll_array *s = &a->spec;
    int64_t side = LLI_CIFAR_SIDE;
    if (s->dtype != LL_DTYPE_U8 || a->row_elements != LLI_CIFAR_PIXELS)
        return false;
    if (s->rank == 3)
        return is_raster(s);
    return s->rank == 4 && (is_raster(s) ? s->shape[1] == side && s->shape[2] == side : s->shape[2] == side && s->shape[3] == side);
}

static ll_status write_images(lli_sink_file *sink, ll_context *ctx, lli_sink_array *a, int64_t first, int64_t rows,
                              const unsigned char *data) {
    int64_t record = LLI_CIFAR_PIXELS + sink->base.count - 1;
    for (int64_t i = 0; i < rows; i++, data += LLI_CIFAR_PIXELS) {
        if (is_raster(&a->spec))
            for (int64_t k = 0; k < LLI_CIFAR_PIXELS; k++)
                sink->scratch[k % LLI_CIFAR_CHANNELS * LLI_CIFAR_PLANE + k / LLI_CIFAR_CHANNELS] = data[k];
        else
            memcpy(sink->scratch, data, LLI_CIFAR_PIXELS);
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, (first + i) * record + a->place->offset, sink->scratch, LLI_CIFAR_PIXELS));
    }
    return LL_OK;
}

static ll_status write_labels(lli_sink_file *sink, ll_context *ctx, const lli_sink_array *a, int64_t first, int64_t rows,
                              const void *data) {
    int64_t record = LLI_CIFAR_PIXELS + sink->base.count - 1;
    int64_t limit = is_coarse(a) ? LLI_CIFAR100_COARSE : sink->base.count == 3 ? LLI_CIFAR100_CLASSES : LLI_CIFAR10_CLASSES;
    ll_array view = ll_array_view(data, a->spec.dtype, 1, &rows);
    for (int64_t i = 0; i < rows; i++) {
        bool fits;
        int64_t y = lli_array_integer(&view, i, &fits);
        if (!fits || y < 0 || y >= limit)
            return lli_fail(ctx, LL_ERR_DATA, "%s: element %" PRId64 " of \"%s\" is %" PRId64 "; expected 0 to %" PRId64, sink->base.name,
                            first + i, a->name, y, limit - 1);
        unsigned char byte = (unsigned char)y;
        LLI_TRY(lli_outfile_write_at(ctx, sink->file, (first + i) * record + a->place->offset, &byte, 1));
    }
    return LL_OK;
}

static ll_status write_rows(lli_sink_file *sink, ll_context *ctx, lli_sink_array *a, int64_t first, int64_t rows, const void *data) {
    LLI_TRY(is_images(a) ? write_images(sink, ctx, a, first, rows, data) : write_labels(sink, ctx, a, first, rows, data));
    a->done += rows;
    return LL_OK;
}

ll_status lli_sink_cifar(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    int images = 0, labels = 0, coarse = 0;
    (void)meta, (void)meta_count;
    for (int64_t i = 0; i < sink->base.count; i++) {
        lli_sink_array *a = &sink->base.arrays[i];
        images += is_images(a);
        coarse += is_labels(a) && is_coarse(a);
        labels += is_labels(a) && !is_coarse(a);
        a->place->offset = is_images(a) ? sink->base.count - 1 : is_coarse(a) ? 0 : sink->base.count - 2;
    }
    if (images != 1 || labels != 1 || coarse > 1 || images + labels + coarse != sink->base.count)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "%s: a CIFAR file holds images, u8 [N,3,32,32], [N,32,32,3] or [N,1024,3], and whole numbers \"labels\" [N] "
                        "(CIFAR-100: also \"coarse_labels\"); give them with `labels`, or write .npz",
                        sink->base.name);
    for (int64_t i = 1; i < sink->base.count; i++)
        if (sink->base.arrays[i].rows != sink->base.arrays[0].rows)
            return lli_fail(ctx, LL_ERR_USAGE, "%s: %" PRId64 " rows of \"%s\" but %" PRId64 " of \"%s\"; expected one label per image",
                            sink->base.name, sink->base.arrays[0].rows, sink->base.arrays[0].name, sink->base.arrays[i].rows,
                            sink->base.arrays[i].name);
    sink->write = write_rows;
    sink->base.any_order = true;
    return LL_OK;
}
