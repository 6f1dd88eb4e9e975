/* SPDX-License-Identifier: MIT */
/* Row lists from text. */
#include "data/row_list.h"

#include <inttypes.h>

#include "base/memory.h"

/* A whole number at *text, which moves behind it; -1 if there is none. */
static int64_t parse_number(const char **text) {
    int64_t value = -1;
    for (; **text >= '0' && **text <= '9' && value < (int64_t)1 << 56; ++*text)
        value = 10 * LLI_MAX(value, 0) + (**text - '0');
    return value;
}

/* One piece "a" or "a:b" as [first, end). */
static bool parse_piece(const char **text, int64_t *first, int64_t *end) {
    *first = parse_number(text);
    *end = *first + 1;
    if (*first < 0)
        return false;
    if (**text == ':') {
        ++*text;
        *end = parse_number(text);
    }
    return *end > *first && (**text == 0 || **text == ',');
}

ll_status lli_row_list_parse(ll_context *ctx, int64_t **out, int64_t *count, const char *text, int64_t N) {
    *out = NULL;
    *count = 0;
    if (!text)
        return LL_OK;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        int64_t total = 0;
        for (const char *p = text;;) {
            int64_t first, end;
            if (!parse_piece(&p, &first, &end))
                return lli_fail(ctx, LL_ERR_USAGE, "`members` is \"%.200s\"; expected rows like 0,5,10:20", text);
            if (end > N || total > N)
                return lli_fail(ctx, LL_ERR_USAGE, "`members` asks for row %" PRId64 "; there are %" PRId64 " rows, 0 to %" PRId64, end - 1,
                                N, N - 1);
            for (int64_t row = first; pass && row < end; row++)
                (*out)[total + row - first] = row;
            total += end - first;
            if (*p++ == 0)
                break;
        }
        *count = total;
        if (pass == 0)
            LLI_TRY(lli_memory_new(ctx, out, total, sizeof **out));
    }
    return LL_OK;
}

ll_status lli_row_list_spread(ll_context *ctx, int64_t **out, int64_t *count, int64_t N, int64_t most, lli_stream stream) {
    int64_t n = LLI_MIN(most, N);
    LLI_TRY(lli_memory_new(ctx, out, n, sizeof **out));
    for (int64_t i = 0; i < n; i++) {
        int64_t first = N / n * i + LLI_MIN(i, N % n), part = N / n + (i < N % n);
        (*out)[i] = first + (int64_t)lli_rng_below(stream, (uint64_t)i, (uint64_t)part);
    }
    *count = n;
    return LL_OK;
}
