/* SPDX-License-Identifier: MIT */
/* Reader of the binary files of CIFAR-10 and CIFAR-100: records of one label byte (CIFAR-100: coarse, then fine) and 3072 pixel bytes, the
 * planes red, green, blue of 32 x 32. There is no header, so the length and the labels are all that can be checked. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/cifar.h"
#include "formats/readers.h"

bool lli_cifar_length(size_t size) {
    return size > 0 && (size % (LLI_CIFAR_PIXELS + 1) == 0 || size % (LLI_CIFAR_PIXELS + 2) == 0);
}

/* The first record whose labels are impossible, or -1. */
static int64_t bad_record(const unsigned char *bytes, int64_t N, int labels) {
    for (int64_t i = 0; i < N; i++) {
        const unsigned char *record = bytes + i * (LLI_CIFAR_PIXELS + labels);
        if (labels == 1 ? record[0] >= LLI_CIFAR10_CLASSES : record[0] >= LLI_CIFAR100_COARSE || record[1] >= LLI_CIFAR100_CLASSES)
            return i;
    }
    return -1;
}

/* Label bytes per record: by the length, and where that fits both kinds by the values of the labels. */
static ll_status find_kind(int *labels, ll_context *ctx, const unsigned char *bytes, size_t size, const char *name) {
    int64_t bad = -1;
    if (!lli_cifar_length(size))
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: %zu bytes cannot be a CIFAR file; expected a multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100); it is "
                        "truncated or another kind of file",
                        name, size);
    for (*labels = 1; *labels <= 2; ++*labels) {
        if (size % (size_t)(LLI_CIFAR_PIXELS + *labels) != 0)
            continue;
        bad = bad_record(bytes, (int64_t)(size / (size_t)(LLI_CIFAR_PIXELS + *labels)), *labels);
        if (bad < 0)
            return LL_OK;
    }
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the length fits a CIFAR file, but record %" PRId64 " has no valid label", name, bad);
}

static ll_status add_labels(ll_context *ctx, ll_bundle *bundle, const char *array, const unsigned char *bytes, int64_t N, int64_t record) {
    unsigned char *values;
    LLI_TRY(lli_memory_new(ctx, &values, N, 1));
    for (int64_t i = 0; i < N; i++)
        values[i] = bytes[i * record];
    return lli_bundle_add(ctx, bundle, array, ll_array_view(values, LL_DTYPE_U8, 1, &N), values);
}

ll_status lli_cifar_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    int labels;
    LLI_TRY(find_kind(&labels, ctx, bytes, size, name));
    int64_t record = LLI_CIFAR_PIXELS + labels, N = (int64_t)size / record;
    const int64_t shape[] = {N, LLI_CIFAR_CHANNELS, LLI_CIFAR_SIDE, LLI_CIFAR_SIDE};
    unsigned char *pixels;
    LLI_TRY(lli_memory_new(ctx, &pixels, N, LLI_CIFAR_PIXELS));
    for (int64_t i = 0; i < N; i++)
        memcpy(pixels + i * LLI_CIFAR_PIXELS, bytes + i * record + labels, LLI_CIFAR_PIXELS);
    LLI_TRY(lli_bundle_add(ctx, bundle, "images", ll_array_view(pixels, LL_DTYPE_U8, 4, shape), pixels));
    LLI_TRY(add_labels(ctx, bundle, "labels", bytes + labels - 1, N, record));
    return labels == 2 ? add_labels(ctx, bundle, "coarse_labels", bytes, N, record) : LL_OK;
}
