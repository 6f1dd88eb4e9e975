/* SPDX-License-Identifier: MIT */
/* Which score needs which arrays, and how these lie in files. */
#include "scores/scores.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum {
    LOGITS = LLI_SCORES_BIT(LL_CONFIDENCE_MSP) | LLI_SCORES_BIT(LL_CONFIDENCE_ENERGY) | LLI_SCORES_BIT(LL_CONFIDENCE_MAXLOGIT) |
             LLI_SCORES_BIT(LL_CONFIDENCE_VIM),
    TOTAL = LLI_SCORES_BIT(LL_CONFIDENCE_RMDS),
    WITHIN = LLI_SCORES_BIT(LL_CONFIDENCE_MDS) | TOTAL,
    UNIT_TOTAL = LLI_SCORES_BIT(LL_CONFIDENCE_RMDS_UNIT),
    UNIT_WITHIN = LLI_SCORES_BIT(LL_CONFIDENCE_MDS_UNIT) | UNIT_TOTAL,
    BANK = LLI_SCORES_BIT(LL_CONFIDENCE_KNN),
    VIM = LLI_SCORES_BIT(LL_CONFIDENCE_VIM)
};

typedef struct kind {
    const char *name;
    ll_dtype dtype;
    unsigned needed; /* by any of these */
    char rows;       /* K, D, 1, or * for any number */
    bool matrix;     /* [rows,D], else [rows] */
} kind;

static const kind kinds[LLI_SCORES_ARRAYS] = {
    [LLI_SCORES_THETA_W] = {"theta_W", LL_DTYPE_F32, LOGITS, 'K', true},
    [LLI_SCORES_THETA_B] = {"theta_b", LL_DTYPE_F32, LOGITS, 'K', false},
    [LLI_SCORES_MEAN] = {"score_mean", LL_DTYPE_F64, WITHIN, 'D', false},
    [LLI_SCORES_WITHIN] = {"score_within", LL_DTYPE_F64, WITHIN, 'D', true},
    [LLI_SCORES_CLASSES] = {"score_classes", LL_DTYPE_F64, WITHIN, '*', true},
    [LLI_SCORES_TOTAL] = {"score_total", LL_DTYPE_F64, TOTAL, 'D', true},
    [LLI_SCORES_UNIT_MEAN] = {"score_unit_mean", LL_DTYPE_F64, UNIT_WITHIN, 'D', false},
    [LLI_SCORES_UNIT_WITHIN] = {"score_unit_within", LL_DTYPE_F64, UNIT_WITHIN, 'D', true},
    [LLI_SCORES_UNIT_CLASSES] = {"score_unit_classes", LL_DTYPE_F64, UNIT_WITHIN, '*', true},
    [LLI_SCORES_UNIT_TOTAL] = {"score_unit_total", LL_DTYPE_F64, UNIT_TOTAL, 'D', true},
    [LLI_SCORES_BANK] = {"score_bank", LL_DTYPE_F16, BANK, '*', true},
    [LLI_SCORES_ORIGIN] = {"score_origin", LL_DTYPE_F64, VIM, 'D', false},
    [LLI_SCORES_OUTSIDE] = {"score_outside", LL_DTYPE_F64, VIM, '*', true},
    [LLI_SCORES_ALPHA] = {"score_alpha", LL_DTYPE_F64, VIM, '1', false},
};

bool lli_scores_need(unsigned which, lli_scores_array array) {
    return which & kinds[array].needed;
}

void lli_scores_text(lli_text *out, unsigned which) {
    const char *comma = "";
    for (int i = 0; i < LLI_SCORES_COUNT; i++)
        if (which >> i & 1) {
            lli_text_add(out, "%s%s", comma, ll_confidence_name((ll_confidence)(LLI_SCORES_FIRST + i)));
            comma = ",";
        }
}

ll_status lli_scores_parse(ll_context *ctx, unsigned *which, const char *list, const char *what) {
    *which = 0;
    if (!list || strcmp(list, "none") == 0)
        return LL_OK;
    if (strcmp(list, "all") == 0) {
        *which = (1u << LLI_SCORES_COUNT) - 1;
        return LL_OK;
    }
    for (const char *p = list;; p++) {
        size_t length = strcspn(p, ",");
        int i = LLI_SCORES_COUNT;
        while (--i >= 0) {
            const char *name = ll_confidence_name((ll_confidence)(LLI_SCORES_FIRST + i));
            if (strlen(name) == length && strncmp(name, p, length) == 0)
                break;
        }
        if (i < 0)
            return lli_fail(ctx, LL_ERR_USAGE,
                            "%s: there is no score \"%.*s\"; expected names of " LL_SCORE_NAMES " with commas, all or none", what,
                            (int)LLI_MIN(length, 40), p);
        *which |= 1u << i;
        p += length;
        if (!*p)
            return LL_OK;
    }
}

ll_status lli_scores_allocate(ll_context *ctx, lli_scores *s, lli_scores_array array, int64_t rows, int64_t D) {
    int64_t count = rows;
    if (kinds[array].matrix && !lli_multiply(&count, rows, D))
        return lli_fail(ctx, LL_ERR_MEMORY, "scores of %" PRId64 " features are too large for memory", D);
    LLI_TRY(lli_memory_new(ctx, &s->owned[array], count, ll_dtype_size(kinds[array].dtype)));
    s->at[array] = s->owned[array];
    s->rows[array] = rows;
    return LL_OK;
}

void lli_scores_release(lli_scores *s) {
    for (int i = 0; i < LLI_SCORES_ARRAYS; i++)
        lli_memory_free(s->owned[i]);
    *s = (lli_scores){0};
}

ll_status lli_scores_theta(ll_context *ctx, lli_scores *s, const float *W, const float *b, int64_t K, int64_t D) {
    if (!lli_scores_need(s->which, LLI_SCORES_THETA_W))
        return LL_OK;
    LLI_TRY(lli_scores_allocate(ctx, s, LLI_SCORES_THETA_W, K, D));
    LLI_TRY(lli_scores_allocate(ctx, s, LLI_SCORES_THETA_B, K, D));
    memcpy(s->owned[LLI_SCORES_THETA_W], W, (size_t)(K * D) * sizeof *W);
    memcpy(s->owned[LLI_SCORES_THETA_B], b, (size_t)K * sizeof *b);
    return LL_OK;
}

static ll_named_array describe(const lli_scores *s, int array, int64_t D) {
    const kind *k = &kinds[array];
    return (ll_named_array){k->name, ll_array_view(s->at[array], k->dtype, k->matrix ? 2 : 1, (int64_t[]){s->rows[array], D})};
}

int64_t lli_scores_list(ll_named_array *out, const lli_scores *s, int64_t D) {
    int64_t count = 0;
    for (int i = 0; i < LLI_SCORES_ARRAYS; i++)
        if (lli_scores_need(s->which, (lli_scores_array)i))
            out[count++] = describe(s, i, D);
    return count;
}

static ll_status find(ll_context *ctx, lli_scores *s, int i, const ll_array *a, const char *path, int64_t K, int64_t D) {
    const kind *k = &kinds[i];
    s->rows[i] = k->rows == 'K' ? K : k->rows == 'D' ? D : k->rows == '1' ? 1 : a->rank > 0 ? a->shape[0] : 0;
    ll_array expected = describe(s, i, D).array;
    if (a->dtype != k->dtype || a->rank != expected.rank || a->shape[0] != expected.shape[0] || s->rows[i] < 1 ||
        (k->matrix && a->shape[1] != D)) {
        char found_text[LLI_ARRAY_TEXT], expected_text[LLI_ARRAY_TEXT];
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is %s; expected %s%s", path, k->name, lli_array_text(found_text, a),
                        lli_array_text(expected_text, &expected), k->rows == '*' ? " with a row at least" : "");
    }
    int64_t count = lli_array_count(a);
    for (int64_t j = 0; j < count; j++)
        if (!isfinite(lli_array_real(a, j)))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the array %s holds a value that is not finite at place %" PRId64, path, k->name, j);
    s->at[i] = a->data;
    return LL_OK;
}

ll_status lli_scores_from(ll_context *ctx, lli_scores *s, const ll_bundle *bundle, const char *path, int64_t K, int64_t D) {
    for (int i = 0; i < LLI_SCORES_ARRAYS; i++) {
        if (!lli_scores_need(s->which, (lli_scores_array)i))
            continue;
        int64_t at = ll_bundle_find(bundle, kinds[i].name);
        bool theta = i == LLI_SCORES_THETA_W || i == LLI_SCORES_THETA_B;
        if (at < 0 && theta && ll_bundle_find(bundle, kinds[LLI_SCORES_THETA_W].name) < 0)
            continue;
        if (at < 0)
            return lli_fail(ctx, LL_ERR_FORMAT,
                            "%s: the array %s is missing, which the scores of its metadata entry " LLI_SCORES_ENTRY " are made of", path,
                            kinds[i].name);
        ll_array a = ll_bundle_array(bundle, at);
        LLI_TRY(find(ctx, s, i, &a, path, K, D));
    }
    return LL_OK;
}
