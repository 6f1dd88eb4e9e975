/* SPDX-License-Identifier: MIT */
/* The rule of conformal sets, from calibration rows in memory. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/text.h"
#include "metrics/sets.h"

void ll_sets_options_init(ll_sets_options *options, size_t struct_size) {
    const ll_sets_options defaults = {.alpha = 0.1, .score = "lac", .confidence = NAN};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_sets_options, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "alpha", .type = LL_OPTION_REAL, .offset = AT(alpha), .arg = "A", .min = 1e-9, .max = 1, .open_max = true, .standard = "0.1",
     .help = "at most this share of the sets misses the true class"},
    {.name = "score", .type = LL_OPTION_CHOICE, .offset = AT(score), .arg = "SCORE", .choices = "lac|aps|raps", .standard = "lac",
     .help = "how strange a class is: lac gives the smallest sets, aps larger ones for harder rows, raps the same without long tails"},
    {.name = "by-class", .type = LL_OPTION_FLAG, .offset = AT(by_class),
     .help = "keep the promise for each true class, with a quantile of its own; classes with too few rows are listed"},
    {.name = "confidence", .type = LL_OPTION_REAL, .offset = AT(confidence), .arg = "P", .min = 0, .max = 1, .open_min = true,
     .open_max = true, .standard = "`alpha` holds on average over calibration rows", .unset = LL_OPTION_UNSET_NAN,
     .help = "the probability, over calibration rows, that `alpha` holds for those at hand"},
    {.name = "allow-empty", .type = LL_OPTION_FLAG, .offset = AT(allow_empty),
     .help = "leave the most probable class out too, if its score says so: sets are smaller, and coverage nearer to what is asked"},
    {.name = "seed", .type = LL_OPTION_SEED, .offset = AT(seed), .arg = "SEED", .standard = "0",
     .help = "of the random part of aps and raps"},
};
/* clang-format on */

const ll_option *ll_sets_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

void ll_set_rule_free(ll_set_rule *rule) {
    if (!rule)
        return;
    lli_conformal_release(&rule->conformal);
    lli_memory_free(rule->class_quantile);
    lli_memory_free(rule);
}

const ll_set_rule_info *ll_set_rule_view(const ll_set_rule *rule) {
    return rule ? &rule->info : NULL;
}

static lli_conformal_score score_of(const char *word) {
    return strcmp(word, "aps") == 0 ? LLI_CONFORMAL_APS : strcmp(word, "raps") == 0 ? LLI_CONFORMAL_RAPS : LLI_CONFORMAL_LAC;
}

static const char *score_name(lli_conformal_score score) {
    static const char *const names[] = {"lac", "aps", "raps"};
    return names[score];
}

static ll_status fill_info(ll_context *ctx, ll_set_rule *r) {
    const lli_conformal *c = &r->conformal;
    double shift = c->rule.score == LLI_CONFORMAL_LAC ? 1 : 0;
    LLI_TRY(lli_memory_new(ctx, &r->class_quantile, c->K, sizeof *r->class_quantile));
    for (int64_t k = 0; k < c->K; k++)
        r->class_quantile[k] = shift + c->quantile[k];
    r->info = (ll_set_rule_info){
        .alpha = c->rule.alpha,
        .score = score_name(c->rule.score),
        .by_class = c->rule.by_class,
        .allow_empty = c->rule.allow_empty,
        .seed = c->rule.seed,
        .n = c->n,
        .classes = c->K,
        .needed = lli_conformal_needed(c->rule.alpha, c->rule.delta),
        .rank = c->rank,
        .quantile = shift + c->pooled,
        .class_quantile = r->class_quantile,
        .class_n = c->class_n,
        .class_few = c->few,
    };
    return LL_OK;
}

/* What a finite quantile lacks. */
static ll_status warn(ll_context *ctx, const ll_set_rule_info *i) {
    enum { LISTED = 10 };
    int64_t few = 0;
    lli_text list;
    if (i->rank > i->n)
        lli_log(ctx, LL_LOG_WARNING,
                "%" PRId64 " calibration rows are too few for `alpha %g`, which needs %" PRId64 ": the quantile is infinite, and %s", i->n,
                i->alpha, i->needed, i->by_class ? "classes without their own are in every set" : "every set holds all classes");
    lli_text_init(&list, ctx);
    for (int64_t k = 0; k < i->classes; k++)
        if (i->class_few[k] && few++ < LISTED)
            lli_text_add(&list, "%s%" PRId64, few > 1 ? ", " : "", k);
    ll_status status = list.status;
    if (status == LL_OK && few)
        lli_log(ctx, LL_LOG_WARNING,
                "%" PRId64 " of %" PRId64 " classes have fewer than %" PRId64 " calibration rows, so that for them there is no promise of "
                "their own, and the quantile of all rows stands in: %s%s",
                few, i->classes, i->needed, list.data, few > LISTED ? ", ..." : "");
    lli_text_release(&list);
    return status;
}

ll_status ll_set_rule_fit(ll_set_rule **out, ll_context *ctx, const ll_outcome *given, const ll_sets_options *options) {
    LLI_NEED(ctx, out, given);
    *out = NULL;
    ll_sets_options o = ll_sets_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_sets_options", &o, sizeof o, options, 0));
    LLI_TRY(ll_option_check(ctx, table, LLI_COUNT(table), &o));
    ll_outcome points = {0};
    LLI_TRY(lli_sets_take(&points, ctx, given, "the calibration rows", true));
    const lli_conformal_rule rule = {score_of(o.score ? o.score : "lac"), o.alpha, 1 - o.confidence, o.by_class, o.allow_empty, o.seed};
    ll_set_rule *r = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &r, 1, sizeof *r));
    LLI_DO(lli_conformal_fit(ctx, &r->conformal, &points.probs, points.truth, &rule));
    LLI_DO(fill_info(ctx, r));
    r->info.confidence = o.confidence;
    LLI_DO(lli_sets_hash(r->rows_hash, ctx, &points.probs));
    LLI_DO(warn(ctx, &r->info));
    *out = r;
    r = NULL;
done:
    ll_set_rule_free(r);
    return status;
}
