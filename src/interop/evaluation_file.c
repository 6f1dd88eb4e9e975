/* SPDX-License-Identifier: MIT */
/* Reads back what lastlayer evaluate --json prints. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "formats/tree.h"

/* More points than any file holds: a number that was damaged. */
#define POINTS_MAX ((int64_t)1 << 48)

/* The word of an option in a form that lives forever; false where it is none of the choices. */
static bool read_word(const char **out, const lli_tree *options, const char *name) {
    static const char *const words[] = {"left", "right", "mass", "step", "trapezoid", "mean", "votes", "none", "brosse"};
    const char *text = lli_tree_text(lli_tree_get(options, name));
    for (size_t i = 0; text && i < LLI_COUNT(words); i++)
        if (strcmp(words[i], text) == 0) {
            *out = words[i];
            return true;
        }
    return !text; /* files of older versions do not say: the default */
}

/* From 0 to `most`, but for rounding. */
static bool within(double x, double most) {
    return x >= -1e-9 && x <= most + 1e-9;
}

/* A number from 0 to `most`, or null. */
static bool read_measure(double *out, const lli_tree *value, double most) {
    *out = lli_tree_number(value);
    return lli_tree_is_null(value) || within(*out, most);
}

static bool read_rules(ll_rules *rules, const lli_tree *options) {
    *rules = (ll_rules){.bins = 10, .edges = "left", .aupr = "step", .classifier = "mean", .compat = "none"};
    int64_t bins = lli_tree_whole(lli_tree_get(options, "bins"));
    if (bins > 0 && bins <= LL_BINS_MAX)
        rules->bins = bins;
    rules->costs = lli_tree_true(lli_tree_get(options, "costs"));
    rules->per_class = lli_tree_true(lli_tree_get(options, "per_class"));
    rules->seed = (uint64_t)LLI_MAX(0, lli_tree_whole(lli_tree_get(options, "seed")));
    if (!read_measure(&rules->interval, lli_tree_get(options, "interval"), 1) || isnan(rules->interval))
        rules->interval = 0; /* files of older versions have none */
    if (!read_measure(&rules->risk, lli_tree_get(options, "risk"), 1))
        rules->risk = 0;
    return read_word(&rules->edges, options, "edges") && read_word(&rules->aupr, options, "aupr") &&
           read_word(&rules->classifier, options, "classifier") && read_word(&rules->compat, options, "compat");
}

/* The share `key` of each confidence, into the member at `offset` of each of the structs of `size` bytes. */
static bool read_each(void *structs, size_t size, size_t offset, const lli_tree *tree, const char *key) {
    const lli_tree *object = lli_tree_get(tree, key);
    bool ok = true;
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT && ok; c++) {
        double value;
        const lli_tree *number = lli_tree_get(object, ll_confidence_name(c));
        value = NAN; /* files from before there were scores have none */
        ok = (!number && ll_confidence_needs_scores(c)) || read_measure(&value, number, 1);
        memcpy((char *)structs + (size_t)c * size + offset, &value, sizeof value);
    }
    return ok;
}

static void read_bands(ll_evaluation *e, const lli_tree *bands) {
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const lli_tree *band = lli_tree_get(bands, ll_confidence_name(c));
        ll_selective *s = &e->selective[c];
        s->ties = lli_tree_get(band, "best") != NULL;
        s->best = s->ties ? lli_tree_number(lli_tree_get(band, "best")) : s->aurc;
        s->expected = s->ties ? lli_tree_number(lli_tree_get(band, "expected")) : s->aurc;
        s->worst = s->ties ? lli_tree_number(lli_tree_get(band, "worst")) : s->aurc;
    }
}

static bool read_selective(ll_evaluation *e, const lli_tree *tree) {
    const size_t size = sizeof(ll_selective);
    bool ok = read_each(e->selective, size, offsetof(ll_selective, aurc), tree, "aurc") &&
              read_each(e->selective, size, offsetof(ll_selective, eaurc), tree, "eaurc") &&
              read_each(e->selective, size, offsetof(ll_selective, augrc), tree, "augrc") &&
              read_each(e->selective, size, offsetof(ll_selective, failure_auroc), tree, "failure_auroc");
    read_bands(e, lli_tree_get(tree, "aurc_band"));
    return ok;
}

static bool read_ood(ll_evaluation *e, const lli_tree *ood) {
    const size_t size = sizeof(ll_ood);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        e->ood[c] = (ll_ood){NAN, NAN, NAN, NAN};
    e->base_rate = NAN;
    e->n_out = lli_tree_whole(lli_tree_get(ood, "n"));
    e->has_ood = e->n_out > 0;
    if (!e->has_ood) {
        e->n_out = 0;
        return true;
    }
    e->base_rate = lli_tree_number(lli_tree_get(ood, "base_rate"));
    return read_each(e->ood, size, offsetof(ll_ood, auroc), ood, "auroc") &&
           read_each(e->ood, size, offsetof(ll_ood, aupr_in), ood, "aupr_in") &&
           read_each(e->ood, size, offsetof(ll_ood, aupr_out), ood, "aupr_out") &&
           read_each(e->ood, size, offsetof(ll_ood, fpr95), ood, "fpr95");
}

static bool read_bins(ll_evaluation *e, const lli_tree *bins) {
    int64_t points = 0;
    for (int64_t j = 0; j < e->bins; j++) {
        const lli_tree *bin = lli_tree_at(bins, j);
        e->bin[j] = (ll_bin){.lo = lli_tree_number(lli_tree_get(bin, "lo")),
                             .hi = lli_tree_number(lli_tree_get(bin, "hi")),
                             .n = lli_tree_whole(lli_tree_get(bin, "n")),
                             .accuracy = lli_tree_number(lli_tree_get(bin, "accuracy")),
                             .confidence = lli_tree_number(lli_tree_get(bin, "confidence"))};
        const ll_bin *b = &e->bin[j];
        bool full = b->n == 0 || (within(b->accuracy, 1) && within(b->confidence, 1));
        if (!within(b->lo, 1) || !within(b->hi, 1) || b->lo > b->hi || b->n < 0 || b->n > e->n - points || !full)
            return false;
        points += b->n;
    }
    return lli_tree_is_list(bins) && e->bins <= LL_BINS_MAX;
}

/* [lo, hi] with 0 <= lo <= hi <= most, or null; absent in files of older versions. */
static bool read_interval(ll_interval *out, const lli_tree *value, double most) {
    *out = (ll_interval){NAN, NAN};
    if (!value || lli_tree_is_null(value))
        return true;
    double lo = lli_tree_number(lli_tree_at(value, 0)), hi = lli_tree_number(lli_tree_at(value, 1));
    *out = (ll_interval){lo, hi};
    return lli_tree_is_list(value) && lli_tree_count(value) == 2 && within(lo, most) && within(hi, most) && lo <= hi;
}

static bool read_intervals(ll_evaluation *e, const lli_tree *tree) {
    const lli_tree *ood = lli_tree_get(tree, "ood");
    ll_intervals *I = &e->intervals;
    const struct {
        ll_interval *place;
        const lli_tree *tree;
        const char *key;
    } families[] = {{I->aurc, tree, "aurc"},
                    {I->eaurc, tree, "eaurc"},
                    {I->augrc, tree, "augrc"},
                    {I->failure_auroc, tree, "failure_auroc"},
                    {I->ood_auroc, ood, "auroc"},
                    {I->ood_fpr95, ood, "fpr95"},
                    {I->coverage_at_risk, tree, "coverage_at_risk"}};
    bool ok = read_interval(&I->accuracy, lli_tree_get(tree, "accuracy"), 1) &&
              read_interval(&I->nll, lli_tree_get(tree, "nll"), DBL_MAX) &&
              read_interval(&I->brier, lli_tree_get(tree, "brier"), DBL_MAX) && read_interval(&I->ece, lli_tree_get(tree, "ece"), 2);
    for (size_t f = 0; f < LLI_COUNT(families); f++) {
        const lli_tree *family = lli_tree_get(families[f].tree, families[f].key);
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
            ok = read_interval(&families[f].place[c], lli_tree_get(family, ll_confidence_name(c)), 1) && ok;
    }
    return ok;
}

/* A share, or null, or absent as in files of older versions. */
static bool read_share(double *out, const lli_tree *value) {
    *out = NAN;
    return !value || read_measure(out, value, 1);
}

static bool read_class(ll_class_score *s, const lli_tree *tree, int64_t n) {
    const struct {
        const char *key;
        int64_t *place;
    } counts[] = {{"n", &s->n},
                  {"decided", &s->decided},
                  {"right", &s->right},
                  {"answered", &s->answered},
                  {"answered_right", &s->answered_right},
                  {"answers", &s->answers}};
    for (size_t i = 0; i < LLI_COUNT(counts); i++) {
        *counts[i].place = lli_tree_whole(lli_tree_get(tree, counts[i].key));
        if (*counts[i].place < 0 || *counts[i].place > n)
            return false;
    }
    return read_share(&s->precision, lli_tree_get(tree, "precision")) && read_share(&s->recall, lli_tree_get(tree, "recall")) &&
           read_share(&s->coverage, lli_tree_get(tree, "coverage")) && read_share(&s->risk, lli_tree_get(tree, "risk"));
}

static bool read_classes(ll_evaluation *e, const lli_tree *tree) {
    const lli_tree *majority = lli_tree_get(tree, "majority"), *per_class = lli_tree_get(tree, "per_class");
    const lli_tree *classes = lli_tree_get(per_class, "classes");
    e->majority = lli_tree_whole(lli_tree_get(majority, "class"));
    e->class_cut = lli_tree_number(lli_tree_get(per_class, "cut"));
    bool ok = read_share(&e->majority_accuracy, lli_tree_get(majority, "accuracy")) && e->majority < LLI_MAX(e->classes, 1);
    for (int64_t k = 0; e->by_class && k < e->classes && ok; k++)
        ok = read_class(&e->by_class[k], lli_tree_at(classes, k), e->n);
    return ok;
}

static bool read_more(ll_evaluation *e, const lli_tree *tree) {
    const lli_tree *calibration = lli_tree_get(tree, "calibration"), *coverage = lli_tree_get(tree, "coverage_at_risk");
    bool ok = read_share(&e->ece_p, lli_tree_get(calibration, "ece_p"));
    e->l2_debiased = lli_tree_number(lli_tree_get(calibration, "l2_debiased"));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        ok = read_share(&e->coverage_at_risk[c], lli_tree_get(coverage, ll_confidence_name(c))) && ok;
    return ok && read_intervals(e, lli_tree_get(tree, "intervals")) && read_classes(e, tree);
}

static bool read_all(ll_evaluation *e, const lli_tree *tree) {
    e->n = lli_tree_whole(lli_tree_get(tree, "n"));
    e->errors = lli_tree_whole(lli_tree_get(tree, "errors"));
    e->classes = LLI_MAX(0, lli_tree_whole(lli_tree_get(tree, "classes")));
    const struct {
        const char *key;
        double *place, most;
    } numbers[] = {{"accuracy", &e->accuracy, 1}, {"nll", &e->nll, DBL_MAX}, {"brier", &e->brier, 2},
                   {"ece", &e->ece, 1},           {"mce", &e->mce, 1},       {"min_aurc", &e->min_aurc, 1}};
    bool ok = true;
    for (size_t i = 0; i < LLI_COUNT(numbers) && ok; i++) {
        const lli_tree *value = lli_tree_get(tree, numbers[i].key);
        ok = read_measure(numbers[i].place, value, numbers[i].most) || (!value && i > 0); /* files of older versions lack some */
    }
    e->cost = lli_tree_number(lli_tree_get(tree, "cost")); /* of any sign */
    ok = ok && e->n > 0 && e->n <= POINTS_MAX && e->errors >= 0 && e->errors <= e->n && e->classes <= INT32_MAX;
    /* What n and errors say, in other words: a change in one of the three shows. */
    return ok && fabs(e->accuracy - (double)(e->n - e->errors) / (double)e->n) < 1e-9 &&
           read_rules(&e->rules, lli_tree_get(tree, "options")) && read_bins(e, lli_tree_get(tree, "bins")) && read_selective(e, tree) &&
           read_ood(e, lli_tree_get(tree, "ood")) && read_more(e, tree);
}

/* Room for the lists of the file. */
static ll_status make_room(ll_evaluation *e, ll_context *ctx, const lli_tree *tree) {
    const lli_tree *classes = lli_tree_get(lli_tree_get(tree, "per_class"), "classes");
    int64_t bins = lli_tree_count(lli_tree_get(tree, "bins")), count = lli_tree_count(classes);
    e->bins = LLI_MIN(bins, LL_BINS_MAX + 1); /* one more is too many */
    if (count > 0 && count == lli_tree_whole(lli_tree_get(tree, "classes")))
        LLI_TRY(lli_memory_new(ctx, &e->by_class, count, sizeof *e->by_class));
    return lli_memory_new(ctx, &e->bin, e->bins, sizeof *e->bin);
}

ll_status ll_evaluation_read(ll_evaluation **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    *out = NULL;
    ll_evaluation *evaluation = NULL;
    lli_tree *tree = NULL;
    ll_status status;
    LLI_DO(lli_tree_read(&tree, ctx, path));
    LLI_DO(lli_memory_new(ctx, &evaluation, 1, sizeof *evaluation));
    LLI_DO(make_room(evaluation, ctx, tree));
    if (!read_all(evaluation, tree))
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not an evaluation; expected what lastlayer evaluate --json prints", path));
    *out = evaluation;
    evaluation = NULL;
done:
    ll_evaluation_free(evaluation);
    lli_tree_free(tree);
    return status;
}
