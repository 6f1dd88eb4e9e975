/* SPDX-License-Identifier: MIT */
/* Subsets of the classes. */
#include "data/classes.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "data/order.h"
#include "data/dataset_select.h"
#include "kernels/require.h"

static const char *const words[] = {"first:", "last:", "random:"};

static ll_status refuse(ll_context *ctx, const char *text, int64_t K) {
    return lli_fail(ctx, LL_ERR_USAGE,
                    "`classes` is \"%.100s\"; expected all, first:n, last:n, random:n with n from 2 to %" PRId64
                    ", or a list of two or more different classes like 0,3,4, each below %" PRId64,
                    text, K, K);
}

/* A whole number at *text, which moves behind it; -1 if there is none. */
static int64_t parse_number(const char **text) {
    int64_t value = -1;
    for (; **text >= '0' && **text <= '9' && value < INT32_MAX; ++*text)
        value = 10 * LLI_MAX(value, 0) + (**text - '0');
    return value;
}

int64_t lli_classes_largest(const char *text) {
    int64_t largest = -1;
    while (text && *text) {
        int64_t y = parse_number(&text);
        largest = LLI_MAX(largest, y);
        text += *text != 0;
    }
    return largest;
}

static bool parse_list(int32_t *out, int64_t *count, const char *text, int64_t limit) {
    for (*count = 0;; text++) {
        int64_t y = parse_number(&text);
        if (y < 0 || y >= limit)
            return false;
        for (int64_t i = 0; i < *count; i++)
            if (out[i] == y)
                return false;
        out[(*count)++] = (int32_t)y;
        if (*text != ',')
            return *text == 0 && *count > 1;
    }
}

/* n of 0..K-1 by seed, in rising order. */
static ll_status draw(int32_t *out, ll_context *ctx, int64_t n, int64_t K, uint64_t seed) {
    const lli_kernels *kernels;
    int64_t *order, filled = 0;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    LLI_TRY(lli_memory_new(ctx, &order, K, sizeof *order));
    for (int64_t i = 0; i < K; i++)
        order[i] = i;
    lli_order_permute(order, kernels, K, lli_rng_stream(seed, LLI_PURPOSE_CLASSES, 0, 0), 0);
    for (int64_t y = 0; y < K; y++)
        for (int64_t i = 0; i < n; i++)
            if (order[i] == y)
                out[filled++] = (int32_t)y;
    lli_memory_free(order);
    return LL_OK;
}

ll_status lli_classes_parse(int32_t **out, int64_t *count, ll_context *ctx, const char *text, int64_t K, bool open, uint64_t seed) {
    ll_status status = LL_OK;
    size_t word = 0;
    int64_t room = 1;
    for (const char *p = text; p && *p; p++)
        room += *p == ',';
    *count = K;
    LLI_TRY(lli_memory_new(ctx, out, LLI_MAX(room, K), sizeof **out));
    for (int64_t i = 0; i < K; i++)
        (*out)[i] = (int32_t)i;
    if (!text || strcmp(text, "all") == 0)
        return LL_OK;
    while (word < LLI_COUNT(words) && strncmp(text, words[word], strlen(words[word])) != 0)
        word++;
    if (word < LLI_COUNT(words)) {
        const char *end = text + strlen(words[word]);
        *count = parse_number(&end);
        if (*count < 2 || *count > K || *end)
            status = refuse(ctx, text, K);
        else if (word == 1)
            for (int64_t i = 0; i < *count; i++)
                (*out)[i] = (int32_t)(K - *count + i);
        else if (word == 2)
            status = draw(*out, ctx, *count, K, seed);
    } else if (!parse_list(*out, count, text, open ? INT32_MAX : K)) {
        status = refuse(ctx, text, K);
    }
    if (status != LL_OK) {
        lli_memory_free(*out);
        *out = NULL;
    }
    return status;
}

ll_status lli_classes_divide(ll_dataset **chosen, ll_dataset **others, ll_context *ctx, const ll_dataset *data, const int32_t *classes,
                             int64_t count) {
    int64_t *rows = NULL, n = 0, N = data->rows.N;
    int32_t *map = NULL;
    ll_dataset *in = NULL, *out = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &rows, N, sizeof *rows));
    LLI_DO(lli_memory_new(ctx, &map, data->K, sizeof *map));
    for (int64_t y = 0; y < data->K; y++)
        map[y] = -1;
    for (int64_t i = 0; i < count; i++)
        if (classes[i] < data->K)
            map[classes[i]] = (int32_t)i;
    for (int64_t i = 0; i < N; i++)
        n += map[data->labels[i]] >= 0;
    for (int64_t i = 0, a = 0, b = n; i < N; i++) /* chosen rows from the front, the others behind them */
        rows[map[data->labels[i]] >= 0 ? a++ : b++] = i;
    if (chosen && n > 0)
        LLI_DO(lli_dataset_select(&in, ctx, data, rows, n, map, count));
    if (others && n < N) {
        LLI_DO(lli_dataset_select(&out, ctx, data, rows + n, N - n, NULL, 0));
        lli_dataset_drop_labels(out);
    }
    if (chosen)
        *chosen = in;
    if (others)
        *others = out;
    in = out = NULL;
done:
    ll_dataset_free(in);
    ll_dataset_free(out);
    lli_memory_free(rows);
    lli_memory_free(map);
    return status;
}
