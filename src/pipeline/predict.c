/* SPDX-License-Identifier: MIT */
/* From an ensemble and a data set to predictions, in memory or in a file. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/costs.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/team.h"
#include "formats/file.h"
#include "formats/format.h"
#include "data/row_list.h"
#include "predict/answers.h"
#include "predict/predictions.h"
#include "store/parts.h"

void ll_predict_options_init(ll_predict_options *options, size_t struct_size) {
    const ll_predict_options defaults = {.classifier = "mean", .by = "sr", .threshold = NAN, .link = "mc"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_predict_options, member)

static const ll_option table[] = {
    {"no-probs", 0, LL_OPTION_FLAG, AT(no_probs), NULL, NULL, 0, 0, false, false, NULL,
     "leave out probs [N,K]; nll and brier cannot be computed then"},
    {"classifier", 0, LL_OPTION_CHOICE, AT(classifier), "RULE", "mean|votes", 0, 0, false, false, "mean",
     "label = class of the largest mean probability, or of most votes"},
    {"by", 0, LL_OPTION_CHOICE, AT(by), "CONFIDENCE", LL_CONFIDENCE_NAMES, 0, 0, false, false, "sr",
     "the confidence that `threshold` applies to"},
    {"threshold", 0, LL_OPTION_REAL, AT(threshold), "C", NULL, -INFINITY, INFINITY, false, false, "none",
     "add abstain: true where the confidence is below C", LL_OPTION_UNSET_NAN},
    {"members", 0, LL_OPTION_TEXT, AT(members), "ROWS", NULL, 0, 0, false, false, "none",
     "rows, like 0,5,10:20, for which the answer of each member is kept"},
    {"row-offset", 0, LL_OPTION_INT, AT(row_offset), "ROW", NULL, 0, 1e15, false, false, "0",
     "index of the first row; it selects the masks of dropout"},
    {"block", 0, LL_OPTION_INT, AT(block), "ROWS", NULL, 1, 1 << 20, false, false, "256, networks 32 to 1024",
     "rows predicted at once; does not change the result", LL_OPTION_UNSET_ZERO},
    {"link", 0, LL_OPTION_CHOICE, AT(link), "HOW", LLI_LINK_NAMES, 0, 0, false, false, "mc",
     "laplace: how Gaussian logits become probabilities: by S draws for each row, or by a closed form, which counts as one member"},
};

const ll_option *ll_predict_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_dataset *data, const ll_predict_options *o) {
    if (!isnan(o->threshold) && e->plan.S == 1 && ll_confidence_needs_members(ll_confidence_find(o->by)))
        return lli_fail(ctx, LL_ERR_USAGE, "`by %s` needs at least two members and this ensemble has one; use `by sr`", o->by);
    ll_confidence by = ll_confidence_find(o->by);
    if (!isnan(o->threshold) && ll_confidence_needs_scores(by) && !(e->plan.scores.which & LLI_SCORES_BIT(by)))
        return lli_fail(ctx, LL_ERR_USAGE, "`by %s` is a score that the ensemble was not fitted with; fit with `scores %s`, or use `by sr`",
                        o->by, o->by);
    if (o->costs && strcmp(o->classifier, "votes") == 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`classifier votes` and `costs` both decide the class; give one of them");
    LLI_TRY(lli_predict_check_rows(ctx, e, &data->rows));
    return lli_dataset_check_labels(ctx, data, e->plan.K, "ensemble");
}

/* A pass with all that it borrows. */
typedef struct job {
    ll_predict_options options;
    ll_ensemble ensemble; /* a view of the caller's */
    lli_predict_request request;
    int64_t *rows; /* whose members are kept; a part keeps its share of them */
    double *costs;
    lli_provenance provenance;
    lli_predict_plan plan;
} job;

static void job_free(job *j) {
    if (!j)
        return;
    lli_memory_free(j->rows);
    lli_memory_free(j->costs);
    lli_provenance_release(&j->provenance);
    lli_memory_free(j);
}

/* The ensemble as the link sees it: a closed form is one member, for which nothing was calibrated or certified. */
static ll_status set_link(ll_context *ctx, ll_ensemble *out, const ll_ensemble *e, const ll_predict_options *o) {
    lli_link link = strcmp(o->link, "probit") == 0 ? LLI_LINK_PROBIT : strcmp(o->link, "bridge") == 0 ? LLI_LINK_BRIDGE : LLI_LINK_MC;
    *out = *e;
    if (link == LLI_LINK_MC)
        return LL_OK;
    if (!e->plan.gaussian.structure)
        return lli_fail(ctx, LL_ERR_USAGE, "`link %s` is for ensembles of laplace, and this one is of %s; leave it out", o->link,
                        e->plan.method);
    *out = lli_ensemble_prefix(e, 1);
    out->plan.gaussian.link = link;
    out->plan.calibration = out->plan.cut = NULL;
    if (e->plan.calibration || e->plan.cut)
        lli_log(ctx, LL_LOG_WARNING, "the calibration of the ensemble is not used: it was made for `link mc`, and this is `link %s`",
                o->link);
    return LL_OK;
}

/* `table`: the path of a file that holds one row per point and nothing else; NULL: there is room for everything. */
static ll_status job_new(job **out, ll_context *ctx, const ll_ensemble *given, const ll_dataset *data, const ll_predict_options *options,
                         const char *to_table, const lli_share *part) {
    job *j;
    ll_status status;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, &j, 1, sizeof *j));
    ll_predict_options *o = &j->options;
    *o = ll_predict_options_default();
    LLI_DO(LLI_OPTION_TAKE(ctx, ll_predict_options, o, options, table, LLI_COUNT(table)));
    LLI_DO(set_link(ctx, &j->ensemble, given, o));
    const ll_ensemble *e = &j->ensemble;
    LLI_DO(check(ctx, e, data, o));
    LLI_DO(lli_row_list_parse(ctx, &j->rows, &j->request.R, o->members, data->rows.N));
    if (o->costs)
        LLI_DO(lli_costs_read(&j->costs, ctx, o->costs, e->plan.K));
    if (to_table && j->request.R)
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "%s: a table cannot hold `members`; write .npz", to_table));
    if (to_table && o->out)
        lli_log(ctx, LL_LOG_NOTE, "%s is a table and cannot hold out-of-distribution rows; write .npz to keep them", to_table);
    j->request.probs = !o->no_probs;
    j->request.running = data->labels && !to_table;
    j->request.row_offset = o->row_offset;
    j->request.block = o->block;
    j->request.part = *part;
    j->request.rows = j->rows ? j->rows + lli_share_begin(part, j->request.R) : NULL;
    j->request.R = lli_share_end(part, j->request.R) - lli_share_begin(part, j->request.R);
    j->request.rule = (lli_predict_rule){.by_votes = strcmp(o->classifier, "votes") == 0,
                                         .costs = j->costs,
                                         .cuts = !isnan(o->threshold),
                                         .by = ll_confidence_find(o->by),
                                         .threshold = o->threshold};
    LLI_DO(lli_answers_describe(ctx, &j->provenance, e, data, &j->request.rule));
    LLI_DO(lli_answers_certified(ctx, &j->request.rule, e, lli_provenance_get(&j->provenance, "ensemble_sha256")));
    lli_predict_plan_init(&j->plan, e, data, to_table ? NULL : o->out, &j->request, to_table != NULL);
    j->plan.provenance = &j->provenance;
    *out = j;
    j = NULL;
done:
    job_free(j);
    return status;
}

static void tell_abstained(ll_context *ctx, const job *j, int part, const ll_dataset *data) {
    const lli_predict_rule *rule = &j->request.rule;
    if (!rule->cuts || !data)
        return;
    int64_t begin, rows = lli_team_several(ctx) ? data->rows.N : lli_predict_range(&begin, &j->request, data->rows.N);
    if (rows == 0)
        return;
    lli_text cut;
    lli_text_init(&cut, ctx);
    lli_text_add(&cut, rule->cut ? "the certified cut" : "%g", rule->threshold);
    if (cut.status == LL_OK)
        lli_log(ctx, LL_LOG_NOTE, "abstains on %" PRId64 " of %" PRId64 " %srows (%.2f %%), where %s < %s", j->plan.abstained[part], rows,
                part ? "out-of-distribution " : "", 100 * (double)j->plan.abstained[part] / (double)rows, ll_confidence_name(rule->by),
                cut.data);
    lli_text_release(&cut);
}

ll_status ll_predict(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                     const ll_predict_options *options) {
    LLI_NEED(ctx, out, ensemble, data);
    *out = NULL;
    job *j;
    LLI_TRY(job_new(&j, ctx, ensemble, data, options, NULL, &(lli_share){0}));
    ll_status status = lli_predict_collect(out, ctx, &j->plan);
    if (status == LL_OK) {
        tell_abstained(ctx, j, 0, data);
        tell_abstained(ctx, j, 1, j->plan.out);
    }
    job_free(j);
    return status;
}

/* What must be equal in the parts of predictions, beside the provenance of the whole. */
static ll_status describe_part(ll_context *ctx, lli_provenance *out, const job *j, const ll_dataset *data) {
    const ll_dataset *outside = j->plan.out;
    LLI_TRY(lli_parts_describe(ctx, out, &j->provenance, &j->request.part, LLI_PARTS_PREDICTIONS));
    LLI_TRY(lli_provenance_add_number(ctx, out, LLI_PARTS_TOTAL, (double)data->rows.N));
    LLI_TRY(lli_provenance_add(ctx, out, "part_labels_sha256", data->labels ? data->labels_hash : "none"));
    LLI_TRY(lli_provenance_add(ctx, out, "part_out_sha256", outside ? outside->features_hash : "none"));
    for (size_t i = 0; i < LLI_COUNT(table); i++)
        if (table[i].offset != AT(block))
            LLI_TRY(lli_provenance_add_option(ctx, out, LLI_PARTS_PREFIX, &table[i], &j->options));
    return LL_OK;
}

/* What the ranks of one run must have in common: all of the above, but for the number of the part. */
static ll_status compare_ranks(ll_context *ctx, const job *j, const lli_provenance *of_part) {
    int64_t number = j->provenance.count + 1;
    LLI_TRY(lli_team_same(ctx, "files or options", of_part->pairs, number));
    return lli_team_same(ctx, "files or options", of_part->pairs + number + 1, of_part->count - number - 1);
}

/* Into `path`, or the part I of N of `name`. */
static ll_status write_predictions(ll_context *ctx, const char *path, const char *name, const ll_ensemble *ensemble, const ll_dataset *data,
                                   const ll_predict_options *options, const lli_share *part) {
    lli_sink *sink = NULL;
    lli_provenance of_part = {0};
    char *part_path = NULL;
    job *j;
    ll_status status;
    LLI_TRY(job_new(&j, ctx, ensemble, data, options, lli_file_sink_is_table(path) ? path : NULL, part));
    if (part->count) {
        LLI_DO(lli_file_sink_check(ctx, path));
        LLI_DO(lli_parts_path(&part_path, ctx, name, part));
        LLI_DO(describe_part(ctx, &of_part, j, data));
        LLI_DO(compare_ranks(ctx, j, &of_part));
    }
    const lli_provenance *meta = part->count ? &of_part : &j->provenance;
    LLI_DO(
        lli_file_sink_open(&sink, ctx, part->count ? part_path : path, j->plan.list.arrays, j->plan.list.count, meta->pairs, meta->count));
    LLI_DO(lli_predict_into(ctx, &j->plan, sink));
    lli_sink *complete = sink;
    sink = NULL;
    LLI_DO(lli_sink_commit(complete, ctx));
    LLI_DO(lli_team_agree(ctx, LL_OK));
    LLI_DO(ctx->team->table->sum(ctx->team, ctx, j->plan.abstained, LLI_COUNT(j->plan.abstained)));
    tell_abstained(ctx, j, 0, data);
    tell_abstained(ctx, j, 1, j->plan.out);
done:
    lli_sink_abandon(sink);
    if (status != LL_OK && part_path && lli_team_several(ctx)) /* it does not outlive the run */
        lli_file_remove(part_path);
    lli_provenance_release(&of_part);
    lli_memory_free(part_path);
    job_free(j);
    return status;
}

/* The first rank, when all have written their rows. */
static ll_status join_ranks(ll_context *ctx, const char *path, const char *ranks) {
    lli_parts parts;
    ll_bundle **bundles = NULL;
    LLI_TRY(lli_parts_of_team(&parts, ctx, ranks));
    ll_status status = lli_parts_open(&bundles, ctx, &parts);
    if (status == LL_OK)
        status = lli_parts_join_predictions(ctx, path, bundles, parts.count);
    lli_parts_close(bundles, parts.count);
    lli_parts_remove(&parts);
    lli_parts_release(&parts);
    return status;
}

/* Each rank predicts a block of rows, as a part. */
static ll_status write_by_ranks(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                                const ll_predict_options *options) {
    const lli_share part = lli_team_share(ctx);
    lli_parts left = {0};
    char *ranks;
    ll_status status;
    if (lli_file_is_device(path))
        return lli_fail(ctx, LL_ERR_USAGE, "%s is no file: several ranks write their rows beside it; name a file", path);
    LLI_TRY(lli_parts_of_ranks(&ranks, ctx, path));
    if (lli_team_first(ctx))
        LLI_DO(lli_parts_left(&left, ctx, ranks));
    lli_parts_remove(&left);
    LLI_DO(write_predictions(ctx, path, ranks, ensemble, data, options, &part));
    LLI_DO(lli_team_first(ctx) ? join_ranks(ctx, path, ranks) : LL_OK);
done:
    lli_parts_release(&left);
    lli_memory_free(ranks);
    return status;
}

ll_status ll_predict_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                           const ll_predict_options *options) {
    LLI_NEED(ctx, path, ensemble, data);
    if (lli_team_several(ctx))
        return write_by_ranks(ctx, path, ensemble, data, options);
    return write_predictions(ctx, path, path, ensemble, data, options, &(lli_share){0});
}

ll_status ll_predict_part_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                                const ll_predict_options *options, int64_t part, int64_t parts) {
    LLI_NEED(ctx, path, ensemble, data);
    lli_share taken;
    LLI_TRY(lli_parts_take(&taken, ctx, part, parts));
    if (lli_team_several(ctx))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`part` is for processes that do not talk to each other; several ranks divide the work themselves");
    return write_predictions(ctx, path, path, ensemble, data, options, &taken);
}

ll_status ll_predictions_write(ll_context *ctx, const char *path, const ll_predictions *predictions) {
    LLI_NEED(ctx, path, predictions);
    const ll_predictions *p = predictions;
    bool to_table = lli_file_sink_is_table(path);
    int64_t metas = ll_predictions_meta_count(p);
    lli_schema_list *list = NULL;
    ll_meta *meta = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &list, 1, sizeof *list));
    LLI_DO(lli_memory_new(ctx, &meta, metas, sizeof *meta));
    for (int64_t i = 0; i < metas; i++)
        meta[i] = (ll_meta){ll_predictions_meta_key(p, i), ll_predictions_meta_value(p, i)};
    lli_predictions_list(list, p, "", to_table);
    if (p->out && !to_table)
        lli_predictions_list(list, p->out, LLI_SCHEMA_OUT, true);
    LLI_DO(ll_bundle_write(ctx, path, list->arrays, list->count, meta, metas));
done:
    lli_memory_free(list);
    lli_memory_free(meta);
    return status;
}
