/* SPDX-License-Identifier: MIT */
/* From a stored certificate to answers, and these as a table with the names of classes. */
#include "predict/answers.h"

#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"

ll_status lli_answers_describe(ll_context *ctx, lli_provenance *out, const ll_ensemble *ensemble, const ll_dataset *data,
                               const lli_predict_rule *rule) {
    const lli_provenance *from = &ensemble->plan.provenance;
    char hash[LLI_HASH_TEXT], rows[LLI_HASH_TEXT];
    for (int64_t i = 0; i < from->count; i++)
        LLI_TRY(lli_provenance_add(ctx, out, from->pairs[i].key, from->pairs[i].value));
    for (int i = 0; lli_certificate_entries[i]; i++)
        LLI_TRY(lli_provenance_set(ctx, out, lli_certificate_entries[i], NULL));
    LLI_TRY(lli_provenance_set(ctx, out, LLI_DIAGNOSIS_JSON, NULL));
    LLI_TRY(lli_provenance_set(ctx, out, LLI_CLASS_NAMES, NULL));
    if (ensemble->plan.cut) /* a certificate is held against it */
        LLI_TRY(lli_ensemble_hash_anew(ctx, ensemble, hash));
    else
        lli_ensemble_hash(ensemble, hash);
    if (data->labels) /* a certificate may be made of these answers */
        LLI_TRY(lli_dataset_known_hash(rows, ctx, data));
    LLI_TRY(lli_provenance_set(ctx, out, LLI_ANSWERS_ROWS, data->labels ? rows : data->features_hash));
    LLI_TRY(lli_provenance_set(ctx, out, LLI_ANSWERS_ENSEMBLE, hash));
    return lli_provenance_set(ctx, out, LLI_ANSWERS_LABEL, rule->costs ? "costs" : rule->by_votes ? "votes" : "mean");
}

ll_status lli_answers_certified(ll_context *ctx, lli_predict_rule *rule, const ll_ensemble *ensemble, const char *hash) {
    const lli_ensemble_plan *plan = &ensemble->plan;
    const char *by = lli_provenance_get(&plan->provenance, LLI_CERTIFICATE_BY);
    const char *made_for = lli_provenance_get(&plan->provenance, LLI_CERTIFICATE_ENSEMBLE);
    if (!plan->cut)
        return LL_OK;
    if (rule->cuts) {
        lli_log(ctx, LL_LOG_NOTE, "the certified cut of the ensemble is not used: `threshold` is given, and promises nothing");
        return LL_OK;
    }
    if (rule->by_votes || rule->costs) {
        lli_log(ctx, LL_LOG_WARNING,
                "the certificate of the ensemble is not used: it holds for labels by the mean probability, and these are decided by %s",
                rule->costs ? "costs" : "votes");
        return LL_OK;
    }
    if (!made_for || strcmp(made_for, hash) != 0) {
        lli_log(ctx, LL_LOG_WARNING, "the certificate of the ensemble is not used: the ensemble was changed after it; certify again");
        return LL_OK;
    }
    rule->by = ll_confidence_find(by);
    if (rule->by == LL_CONFIDENCE_COUNT || (plan->S == 1 && ll_confidence_needs_members(rule->by)) ||
        (ll_confidence_needs_scores(rule->by) && !(plan->scores.which & LLI_SCORES_BIT(rule->by))))
        return lli_fail(ctx, LL_ERR_DATA, "the certificate of the ensemble cuts %.40s, which its predictions do not have; certify again",
                        by ? by : "nothing");
    const char *promise = lli_provenance_get(&plan->provenance, LLI_CERTIFICATE_STATEMENT);
    lli_log(ctx, LL_LOG_NOTE, "answers by a certificate: %s", promise ? promise : "its promise is missing");
    rule->cuts = true;
    rule->cut = plan->cut;
    return LL_OK;
}

const char *ll_ensemble_certificate(const ll_ensemble *e) {
    return e && e->plan.cut ? lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_JSON) : NULL;
}

const char *ll_ensemble_promise(const ll_ensemble *e) {
    return e && e->plan.cut ? lli_provenance_get(&e->plan.provenance, LLI_CERTIFICATE_STATEMENT) : NULL;
}

/* What a table calls the classes: escaped, quoted where commas need it; numbers where there are no names. */
typedef struct naming {
    lli_text text; /* names, each with its NUL */
    int64_t *at;   /* [K] where they begin */
} naming;

static void naming_release(naming *n) {
    lli_text_release(&n->text);
    lli_memory_free(n->at);
}

static void add_quoted(lli_text *out, const char *name) {
    lli_text_append(out, "\"", 1);
    for (; *name; name++)
        lli_text_append(out, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
    lli_text_append(out, "\"", 1);
}

/* A line of the record. */
static void add_name(lli_text *out, const char *line) {
    lli_text raw, safe;
    lli_text_init(&raw, out->ctx);
    lli_text_init(&safe, out->ctx);
    lli_text_append(&raw, line, (int64_t)strcspn(line, "\n"));
    if (raw.data)
        lli_text_foreign(&safe, raw.data);
    if (safe.data && strpbrk(safe.data, ",\""))
        add_quoted(out, safe.data);
    else if (safe.data)
        lli_text_append(out, safe.data, safe.length);
    if (out->status == LL_OK)
        out->status = raw.status ? raw.status : safe.status;
    lli_text_release(&raw);
    lli_text_release(&safe);
}

static ll_status naming_init(naming *n, ll_context *ctx, const ll_ensemble *e) {
    const char *line = lli_provenance_get(&e->plan.provenance, LLI_CLASS_NAMES);
    n->at = NULL;
    lli_text_init(&n->text, ctx);
    LLI_TRY(lli_memory_new(ctx, &n->at, e->plan.K, sizeof *n->at));
    for (int64_t k = 0; k < e->plan.K; k++) {
        n->at[k] = n->text.length;
        if (line)
            add_name(&n->text, line);
        else
            lli_text_add(&n->text, "%" PRId64, k);
        lli_text_append(&n->text, "", 1);
        line = line ? strchr(line, '\n') : NULL;
        line = line ? line + 1 : NULL;
    }
    return n->text.status;
}

static void add_row(lli_text *out, const naming *n, const ll_predictions *p, const int32_t *answer, ll_confidence by, int64_t i) {
    int32_t label = p->view.label[i];
    lli_text_add(out, "%" PRId64 ",%d,%s,%.17g", i, (int)label, n->text.data + n->at[label], p->view.confidence[by][i]);
    if (answer)
        lli_text_add(out, ",%s", answer[i] == LLI_ANSWER_UNKNOWN ? "unknown" : n->text.data + n->at[answer[i]]);
    lli_text_add(out, "\n");
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_predictions *p, const int32_t *answer, ll_confidence by) {
    if ((int)by < 0 || by >= LL_CONFIDENCE_COUNT || !p->view.confidence[by])
        return lli_fail(ctx, LL_ERR_USAGE, "these predictions have no confidence %s",
                        (int)by < 0 || by >= LL_CONFIDENCE_COUNT ? "of this number" : ll_confidence_name(by));
    for (int64_t i = 0; i < p->view.n; i++)
        if (p->view.label[i] < 0 || p->view.label[i] >= e->plan.K || (answer && (answer[i] < LLI_ANSWER_UNKNOWN || answer[i] >= e->plan.K)))
            return lli_fail(ctx, LL_ERR_DATA, "row %" PRId64 " of the predictions has a class beyond the %" PRId64 " of the ensemble", i,
                            e->plan.K);
    return LL_OK;
}

ll_status ll_answers_text(char **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_predictions *predictions, ll_confidence by) {
    LLI_NEED(ctx, out, ensemble, predictions);
    *out = NULL;
    const int32_t *answer = predictions->field[lli_schema_find("answer")].data;
    if (by == LL_CONFIDENCE_COUNT)
        by = ensemble->plan.cut ? ll_confidence_find(lli_provenance_get(&ensemble->plan.provenance, LLI_CERTIFICATE_BY)) : LL_CONFIDENCE_SR;
    LLI_TRY(check(ctx, ensemble, predictions, answer, by));
    naming names;
    lli_text text;
    lli_text_init(&text, ctx);
    ll_status status = naming_init(&names, ctx, ensemble);
    lli_text_add(&text, "row,label,class,%s%s\n", ll_confidence_name(by), answer ? ",answer" : "");
    for (int64_t i = 0; i < predictions->view.n && status == LL_OK && text.status == LL_OK; i++)
        add_row(&text, &names, predictions, answer, by, i);
    naming_release(&names);
    if (status == LL_OK)
        return lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}
