/* SPDX-License-Identifier: MIT */
/* A certificate that was read, against rows: it is made again, by the same functions, and everything must come out the same. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/tree.h"
#include "metrics/certificate.h"

/* The matrix of costs; none: K = 0, and a risk is a share of errors. */
typedef struct cost_matrix {
    double *cost; /* [K,K] */
    int64_t K;
    double least, most;
} cost_matrix;

/* *square is false where it is something else than a square of numbers, or nothing. */
static ll_status read_costs(cost_matrix *out, bool *square, ll_context *ctx, const lli_tree *tree) {
    const lli_tree *costs = lli_tree_get(tree, "costs");
    *square = true;
    *out = (cost_matrix){.least = 0, .most = 1};
    if (!costs || lli_tree_is_null(costs))
        return LL_OK;
    int64_t K = lli_tree_count(costs);
    for (int64_t i = 0; i < K && *square; i++)
        *square = lli_tree_is_list(lli_tree_at(costs, i)) && lli_tree_count(lli_tree_at(costs, i)) == K;
    *square = *square && lli_tree_is_list(costs) && K > 0;
    if (!*square)
        return LL_OK;
    *out = (cost_matrix){.K = K, .least = INFINITY, .most = -INFINITY};
    LLI_TRY(lli_memory_new(ctx, &out->cost, K * K, sizeof *out->cost));
    for (int64_t i = 0; i < K * K && *square; i++) {
        out->cost[i] = lli_tree_number(lli_tree_at(lli_tree_at(costs, i / K), i % K));
        out->least = fmin(out->least, out->cost[i]);
        out->most = fmax(out->most, out->cost[i]);
        *square = isfinite(out->cost[i]);
    }
    return LL_OK;
}

/* A promise, or null. */
static bool read_promise(double *out, const lli_tree *tree, const char *key, double above, double below) {
    const lli_tree *value = lli_tree_get(tree, key);
    *out = lli_tree_number(value);
    return lli_tree_is_null(value) || (*out > above && *out < below);
}

/* What was asked for when it was made; false where the file is no certificate. */
static bool read_options(ll_certify_options *o, const lli_tree *tree, const cost_matrix *costs) {
    const char *by = lli_tree_text(lli_tree_get(tree, "by")), *rule = lli_tree_text(lli_tree_get(tree, "rule"));
    int64_t seed = lli_tree_whole(lli_tree_get(tree, "seed"));
    o->confidence = lli_tree_number(lli_tree_get(tree, "confidence"));
    o->by = by;
    o->rule = rule;
    o->seed = (uint64_t)seed;
    o->per_class = lli_tree_is_list(lli_tree_get(tree, "per_class"));
    bool promised = lli_tree_is_object(tree) && read_promise(&o->risk, tree, "risk", costs->least, costs->most) &&
                    read_promise(&o->coverage, tree, "coverage", 0, 1) && read_promise(&o->out_rate, tree, "out_rate", 0, 1);
    bool risk = !isnan(o->risk), others = !isnan(o->coverage) || !isnan(o->out_rate);
    return promised && (risk || (others && !costs->K)) && !(o->per_class && (!risk || others)) && o->confidence > 0 && o->confidence < 1 &&
           ll_confidence_find(by) < LL_CONFIDENCE_COUNT && rule && (strcmp(rule, "sequence") == 0 || strcmp(rule, "bonferroni") == 0) &&
           seed >= 0 && lli_tree_whole(lli_tree_get(tree, "rule_version")) == LLI_CERTIFICATE_RULE_VERSION;
}

typedef struct findings {
    lli_text text;
    const lli_tree *tree; /* the certificate, or the part of it that is of one class */
    int64_t class;        /* -1: all; of a class only what differs is told */
    int64_t differing;
} findings;

static void tell(findings *f, bool same, const char *what) {
    f->differing += !same;
    if (f->class < 0)
        lli_text_add(&f->text, "%-8s %s", same ? "matches" : "DIFFERS", what);
    else if (!same)
        lli_text_add(&f->text, "DIFFERS  class %" PRId64 ": %s", f->class, what);
}

/* The end of a line that was begun. */
static void end(findings *f, bool same) {
    if (!same || f->class < 0)
        lli_text_add(&f->text, "\n");
}

static void compare_text(findings *f, const char *key, const char *here) {
    const lli_tree *value = lli_tree_get(f->tree, key);
    const char *there = lli_tree_text(value);
    if (lli_tree_is_null(value) || !*here) {
        lli_text_add(&f->text, "%-8s %s: not known %s\n", "-", key, *here ? "to the certificate" : "of these rows");
        return;
    }
    bool same = there && strcmp(there, here) == 0;
    tell(f, same, key);
    if (!same) {
        lli_text_add(&f->text, ": ");
        lli_text_foreign(&f->text, there ? there : "missing");
        lli_text_add(&f->text, " in the certificate, %s here", here);
    }
    end(f, same);
}

/* Numbers are written with 17 digits, so that they read back as they were. */
static void compare_number(findings *f, const char *key, double here) {
    const lli_tree *value = lli_tree_get(f->tree, key);
    double there = lli_tree_number(value);
    bool same = isnan(here) ? !value || lli_tree_is_null(value) : there == here;
    tell(f, same, key);
    if (!same) {
        lli_text_add(&f->text, ": ");
        lli_text_json_number(&f->text, there);
        lli_text_add(&f->text, " in the certificate, ");
        lli_text_json_number(&f->text, here);
        lli_text_add(&f->text, " here");
    }
    end(f, same);
}

/* What all rows and those of one class have both. */
static ll_status compare_cut(findings *f, ll_context *ctx, const ll_certificate_info *i, const lli_certify_result *r) {
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"n", (double)i->n},
                   {"n_proposing", (double)r->n_proposing},
                   {"cut", i->cut},
                   {"accepted", (double)i->accepted},
                   {"errors", (double)i->errors},
                   {"mean_cost", i->mean_cost},
                   {"p_value", i->p_value},
                   {"bound", i->bound}};
    for (size_t k = 0; k < LLI_COUNT(numbers); k++)
        compare_number(f, numbers[k].key, numbers[k].value);
    lli_text exact;
    lli_text_init(&exact, ctx);
    lli_text_add(&exact, "%a", i->cut);
    if (!isnan(i->cut) && exact.status == LL_OK)
        compare_text(f, "cut_hex", exact.data);
    ll_status status = exact.status;
    lli_text_release(&exact);
    bool said = lli_tree_true(lli_tree_get(f->tree, "certified")), same = said == i->certified;
    tell(f, same, "certified");
    if (!same)
        lli_text_add(&f->text, ": %s in the certificate, %s here", said ? "true" : "false", i->certified ? "true" : "false");
    end(f, same);
    return status;
}

static ll_status compare(findings *f, ll_context *ctx, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    compare_text(f, "labels_sha256", c->labels_hash);
    compare_text(f, "rows_sha256", c->rows_hash);
    compare_text(f, "features_sha256", c->features_hash);
    compare_text(f, "ensemble_sha256", c->ensemble_hash);
    compare_number(f, "n_out", (double)i->n_out);
    compare_number(f, "accepted_out", (double)i->accepted_out);
    LLI_TRY(compare_cut(f, ctx, i, &c->result));
    if (!i->classes)
        return LL_OK;
    const lli_tree *classes = lli_tree_get(f->tree, "per_class");
    int64_t before = f->differing;
    if (lli_tree_count(classes) != i->classes) {
        tell(f, false, "per_class");
        lli_text_add(&f->text, ": %" PRId64 " classes in the certificate, %" PRId64 " here\n", lli_tree_count(classes), i->classes);
        return LL_OK;
    }
    findings of_class = *f;
    for (int64_t k = 0; k < i->classes; k++) {
        of_class.class = k;
        of_class.tree = lli_tree_at(classes, k);
        LLI_TRY(compare_cut(&of_class, ctx, &c->class_info[k], &c->class_tests[k]));
    }
    f->text = of_class.text;
    f->differing = of_class.differing;
    if (f->differing == before) {
        tell(f, true, "per_class");
        end(f, true);
    }
    return LL_OK;
}

ll_status ll_certificate_verify(char **out, bool *holds, ll_context *ctx, const char *path, const ll_predictions *points,
                                const ll_predictions *out_points) {
    LLI_NEED(ctx, out, holds, path, points);
    *out = NULL;
    *holds = false;
    lli_tree *tree = NULL;
    ll_certificate *again = NULL;
    cost_matrix costs = {0};
    bool square;
    findings f = {.class = -1};
    ll_certify_options o = ll_certify_options_default();
    ll_status status;
    lli_text_init(&f.text, ctx);
    LLI_DO(lli_tree_read(&tree, ctx, path));
    LLI_DO(read_costs(&costs, &square, ctx, tree));
    if (!square || !read_options(&o, tree, &costs))
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not a certificate; expected what lastlayer certify -o writes", path));
    const ll_array matrix = ll_array_view(costs.cost, LL_DTYPE_F64, 2, (int64_t[]){costs.K, costs.K});
    o.costs = costs.K ? &matrix : NULL;
    LLI_DO(ll_certify_predictions(&again, ctx, points, out_points, &o));
    f.tree = tree;
    LLI_DO(compare(&f, ctx, again));
    bool certified = lli_tree_true(lli_tree_get(tree, "certified"));
    lli_text_add(&f.text,
                 f.differing ? "the certificate does not hold for these rows: %" PRId64 " entries differ\n"
                 : certified ? "the certificate holds: made again from these rows it is the same\n"
                             : "the certificate certifies nothing, and neither do these rows\n",
                 f.differing);
    LLI_DO(f.text.status);
    *holds = f.differing == 0 && certified;
    LLI_DO(lli_text_take(&f.text, out));
done:
    lli_text_release(&f.text);
    ll_certificate_free(again);
    lli_memory_free(costs.cost);
    lli_tree_free(tree);
    return status;
}
