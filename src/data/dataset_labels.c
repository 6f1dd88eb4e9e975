/* SPDX-License-Identifier: MIT */
/* Labels as people have them: whole numbers of any type, one-hot rows. */
#include <inttypes.h>
#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "data/dataset.h"

enum { BETWEEN_LOOKS = 1 << 16 }; /* rows between two checks of the cancel flag */

/* The class of row i: an integer, or a whole number as a real. */
static ll_status read_label(int64_t *out, ll_context *ctx, const char *name, const ll_array *labels, int64_t i) {
    bool fits = true;
    if (lli_array_is_integer(labels->dtype)) {
        *out = lli_array_integer(labels, i, &fits);
    } else {
        double x = lli_array_real(labels, i);
        if (isnan(x) || (isfinite(x) && x != nearbyint(x)))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the label at row %" PRId64 " is %g; expected a whole number, the number of a class",
                            name, i, x);
        fits = fabs(x) <= INT32_MAX;
        *out = fits ? (int64_t)x : 0;
    }
    if (!fits)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the label at row %" PRId64 " is too large for a class number", name, i);
    return LL_OK;
}

/* The same of one-hot rows: the column that holds the only 1. */
static ll_status read_hot(int64_t *out, ll_context *ctx, const char *name, const ll_array *labels, int64_t i) {
    int64_t K = labels->shape[1], ones = 0;
    for (int64_t k = 0; k < K; k++) {
        double x = lli_array_real(labels, i * K + k);
        ones += x == 0 ? 0 : x == 1 ? 1 : 2;
        if (x == 1)
            *out = k;
    }
    char text[LLI_ARRAY_TEXT];
    if (ones != 1)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s: the labels are %s, and row %" PRId64
                        " is not one-hot; expected one axis [N] of class numbers, or rows of zeros with one 1 (y.argmax(1) makes class "
                        "numbers of probabilities)",
                        name, lli_array_text(text, labels), i);
    return LL_OK;
}

ll_status lli_dataset_labels(ll_context *ctx, int32_t **out, int64_t *largest, const char *name, ll_array labels, int64_t N, int64_t K) {
    *out = NULL;
    *largest = -1;
    char text[LLI_ARRAY_TEXT];
    if (labels.rank != 1 && labels.rank != 2)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the labels are %s; expected one axis [N] of class numbers, or one-hot rows [N,K]", name,
                        lli_array_text(text, &labels));
    if (labels.shape[0] != N)
        return lli_fail(ctx, LL_ERR_DATA, "%s: %" PRId64 " labels for %" PRId64 " rows; expected one each", name, labels.shape[0], N);
    bool one_hot = labels.rank == 2 && labels.shape[1] != 1;
    int32_t *copy;
    LLI_TRY(lli_memory_new(ctx, &copy, N, sizeof *copy));
    int64_t limit = K > 0 ? K : INT32_MAX;
    for (int64_t i = 0; i < N; i++) {
        int64_t y = 0;
        ll_status status = i % BETWEEN_LOOKS == 0 ? lli_cancel_check(ctx) : LL_OK;
        if (status == LL_OK)
            status = one_hot ? read_hot(&y, ctx, name, &labels, i) : read_label(&y, ctx, name, &labels, i);
        if (status == LL_OK && (y < 0 || y >= limit))
            status = lli_fail(ctx, LL_ERR_DATA, "%s: the label at row %" PRId64 " is %" PRId64 "; expected 0 to %" PRId64 "%s", name, i, y,
                              limit - 1,
                              y == limit ? " (classes count from 0; for labels from 1 save y - 1)"
                              : y == -1  ? " (for -1 and 1 save (y > 0).astype(int); rows without a label are left out)"
                                         : "");
        if (status != LL_OK) {
            lli_memory_free(copy);
            return status;
        }
        copy[i] = (int32_t)y;
        *largest = LLI_MAX(*largest, one_hot ? labels.shape[1] - 1 : y);
    }
    *out = copy;
    return LL_OK;
}
