/* SPDX-License-Identifier: MIT */
/* Conformal sets into files. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "formats/text_file.h"
#include "metrics/sets.h"

/* The classes of a row with spaces between them, so that the column is one of text. */
static ll_status write_csv(ll_context *ctx, const char *path, const ll_sets_info *i) {
    lli_text out;
    lli_text_init(&out, ctx);
    lli_text_add(&out, "set_size,set\n");
    ll_status status = LL_OK;
    for (int64_t row = 0; row < i->n && status == LL_OK; row++) {
        const uint8_t *set = i->set + row * i->bytes;
        const char *between = "";
        lli_text_add(&out, "%" PRId32 ",", i->size[row]);
        for (int64_t k = 0; k < i->classes; k++)
            if (lli_conformal_has(set, k)) {
                lli_text_add(&out, "%s%" PRId64, between, k);
                between = " ";
            }
        lli_text_add(&out, "\n");
        status = lli_cancel_check(ctx);
    }
    if (status == LL_OK)
        status = lli_text_file_write(ctx, path, &out);
    lli_text_release(&out);
    return status;
}

enum { ENTRIES = 11 };

/* Values of the metadata in one text, each ended by NUL; the entries point into it. */
static void add(lli_text *values, int64_t at[ENTRIES], ll_meta *meta, int64_t *count, const char *key) {
    lli_text_append(values, "", 1);
    meta[*count].key = key;
    at[(*count)++] = values->length;
}

static void add_number(lli_text *values, double x) {
    if (isinf(x))
        lli_text_add(values, "inf");
    else
        lli_text_number(values, x);
}

static int64_t describe(lli_text *values, int64_t at[ENTRIES], ll_meta *meta, const ll_set_rule_info *r) {
    int64_t count = 0;
    add(values, at, meta, &count, "format");
    lli_text_add(values, "lastlayer-sets-1");
    add(values, at, meta, &count, "version");
    lli_text_add(values, "%s", ll_version());
    add(values, at, meta, &count, "alpha");
    add_number(values, r->alpha);
    add(values, at, meta, &count, "score");
    lli_text_add(values, "%s", r->score);
    add(values, at, meta, &count, "by-class");
    lli_text_add(values, r->by_class ? "true" : "false");
    add(values, at, meta, &count, "allow-empty");
    lli_text_add(values, r->allow_empty ? "true" : "false");
    add(values, at, meta, &count, "seed");
    lli_text_add(values, "%" PRIu64, r->seed);
    add(values, at, meta, &count, "classes");
    lli_text_add(values, "%" PRId64, r->classes);
    add(values, at, meta, &count, "calibration_rows");
    lli_text_add(values, "%" PRId64, r->n);
    add(values, at, meta, &count, "quantile");
    for (int64_t k = 0; k < (r->by_class ? r->classes : 1); k++) {
        lli_text_add(values, k ? "," : "");
        add_number(values, r->by_class ? r->class_quantile[k] : r->quantile);
    }
    if (!isnan(r->confidence)) {
        add(values, at, meta, &count, "confidence");
        add_number(values, r->confidence);
    }
    return count;
}

static ll_status write_arrays(ll_context *ctx, const char *path, const ll_set_rule_info *r, const ll_sets_info *i) {
    const ll_named_array arrays[] = {
        {"set", ll_array_view(i->set, LL_DTYPE_U8, 2, (int64_t[]){i->n, i->bytes})},
        {"set_size", ll_array_view(i->size, LL_DTYPE_I32, 1, &i->n)},
    };
    lli_text values;
    int64_t at[ENTRIES];
    ll_meta meta[ENTRIES];
    lli_text_init(&values, ctx);
    int64_t count = describe(&values, at, meta, r);
    ll_status status = values.status;
    for (int64_t k = 0; k < count && status == LL_OK; k++)
        meta[k].value = values.data + at[k];
    if (status == LL_OK)
        status = ll_bundle_write(ctx, path, arrays, LLI_COUNT(arrays), meta, count);
    lli_text_release(&values);
    return status;
}

ll_status ll_sets_write(ll_context *ctx, const char *path, const ll_set_rule *rule, const ll_sets *sets) {
    LLI_NEED(ctx, path, rule, sets);
    LLI_TRY(lli_sets_match(ctx, rule, sets));
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".csv") == 0)
        return write_csv(ctx, path, &sets->info);
    return write_arrays(ctx, path, &rule->info, &sets->info);
}
