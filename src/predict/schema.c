/* SPDX-License-Identifier: MIT */
/* One row per array, in the order of files. */
#include "predict/schema.h"

#include <string.h>

#include "base/costs.h"
#include "scores/scores.h"

#define PREDICTION(member) offsetof(ll_prediction, member)
#define OUTCOME(member) offsetof(ll_outcome, member)
#define CONFIDENCE(c) offsetof(ll_prediction, confidence[c]), offsetof(ll_outcome, confidence[c])

/* A score from features. */
#define SCORE(name, c, meaning)                                                                                          \
    {                                                                                                                    \
        {name, LL_DTYPE_F64, "[N]", "fitted with `scores`", meaning}, LLI_WHEN_SCORE *LLI_SCORES_BIT(LL_CONFIDENCE_##c), \
            CONFIDENCE(LL_CONFIDENCE_##c), false, NULL                                                                   \
    }

static void fill_label(void *out, const ll_prediction *a, const lli_predict_rule *rule, int64_t n, int64_t K, double *workspace) {
    int32_t *label = out;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; rule->costs && k < K; k++)
            workspace[k] = (double)a->probs[i * K + k];
        label[i] = rule->costs ? lli_costs_decide(workspace + K, workspace, rule->costs, K) : rule->by_votes ? a->vote[i] : a->label[i];
    }
}

static void fill_truth(void *out, const ll_prediction *a, const lli_predict_rule *rule, int64_t n, int64_t K, double *workspace) {
    (void)rule, (void)K, (void)workspace;
    memcpy(out, a->truth, (size_t)n * sizeof *a->truth);
}

/* The label is the decided one here: its row of the table comes before. */
static bool abstains(const ll_prediction *a, const lli_predict_rule *rule, int64_t i) {
    return a->confidence[rule->by][i] < (rule->cut ? rule->cut[a->label[i]] : rule->threshold);
}

static void fill_abstain(void *out, const ll_prediction *a, const lli_predict_rule *rule, int64_t n, int64_t K, double *workspace) {
    (void)K, (void)workspace;
    uint8_t *abstain = out;
    for (int64_t i = 0; i < n; i++)
        abstain[i] = abstains(a, rule, i);
}

static void fill_answer(void *out, const ll_prediction *a, const lli_predict_rule *rule, int64_t n, int64_t K, double *workspace) {
    (void)K, (void)workspace;
    int32_t *answer = out;
    for (int64_t i = 0; i < n; i++)
        answer[i] = abstains(a, rule, i) ? LLI_ANSWER_UNKNOWN : a->label[i];
}

static const lli_field table[] = {
    {{"probs", LL_DTYPE_F32, "[N,K]", "unless `no-probs`", "mean probability over members"},
     LLI_WHEN_PROBS,
     PREDICTION(probs),
     OUTCOME(probs),
     false,
     NULL},
    {{"label", LL_DTYPE_I32, "[N]", "always",
      "the decided class: argmax of the mean probability (`classifier` votes: of the votes; with "
      "`costs`: the class of least expected cost)"},
     0,
     PREDICTION(label),
     OUTCOME(label),
     true,
     fill_label},
    {{"vote", LL_DTYPE_I32, "[N]", "always", "argmax of the votes"}, 0, PREDICTION(vote), OUTCOME(vote), true, NULL},
    {{"sr", LL_DTYPE_F64, "[N]", "always", "largest mean probability"}, 0, CONFIDENCE(LL_CONFIDENCE_SR), false, NULL},
    {{"std", LL_DTYPE_F64, "[N]", "with two members or more", "minus the standard deviation over members of p(label)"},
     LLI_WHEN_MEMBERS,
     CONFIDENCE(LL_CONFIDENCE_STD),
     false,
     NULL},
    {{"hq", LL_DTYPE_F64, "[N]", "with two members or more", "minus the entropy of the votes"},
     LLI_WHEN_MEMBERS,
     CONFIDENCE(LL_CONFIDENCE_HQ),
     false,
     NULL},
    {{"maxmin", LL_DTYPE_F64, "[N]", "with two members or more", "minus the range over members of p(label)"},
     LLI_WHEN_MEMBERS,
     CONFIDENCE(LL_CONFIDENCE_MAXMIN),
     false,
     NULL},
    {{"entropy", LL_DTYPE_F64, "[N]", "always", "minus the entropy of the mean probability"},
     0,
     CONFIDENCE(LL_CONFIDENCE_ENTROPY),
     false,
     NULL},
    {{"mi", LL_DTYPE_F64, "[N]", "with two members or more", "minus the mutual information of label and member"},
     LLI_WHEN_MEMBERS,
     CONFIDENCE(LL_CONFIDENCE_MI),
     false,
     NULL},
    {{"margin", LL_DTYPE_F64, "[N]", "always", "largest minus second largest mean probability"},
     0,
     CONFIDENCE(LL_CONFIDENCE_MARGIN),
     false,
     NULL},
    SCORE("msp", MSP, "largest probability by theta*"),
    SCORE("energy", ENERGY, "log of the sum of the exponentials of theta*'s logits"),
    SCORE("maxlogit", MAXLOGIT, "largest logit of theta*"),
    SCORE("mds", MDS, "minus the squared Mahalanobis distance to the nearest class"),
    SCORE("mds++", MDS_UNIT, "mds of z divided by its length"),
    SCORE("rmds", RMDS, "mds plus the squared Mahalanobis distance to the mean of all training rows"),
    SCORE("rmds++", RMDS_UNIT, "rmds of z divided by its length"),
    SCORE("knn", KNN, "minus the distance of z divided by its length to the 50th nearest row of the bank"),
    SCORE("vim", VIM, "energy minus alpha times the length outside the main directions of the training rows"),
    {{"sr_tail", LL_DTYPE_F64, "[N]", "always", "1 - sr without cancellation"}, 0, PREDICTION(sr_tail), OUTCOME(sr_tail), false, NULL},
    {{"sr_logtail", LL_DTYPE_F64, "[N]", "always", "logarithm of 1 - sr; ranks points whose sr rounds to 1, for any gap between logits"},
     0,
     PREDICTION(sr_logtail),
     OUTCOME(sr_logtail),
     false,
     NULL},
    {{"margin_logtail", LL_DTYPE_F64, "[N]", "always", "logarithm of 1 - margin, likewise"},
     0,
     PREDICTION(margin_logtail),
     OUTCOME(margin_logtail),
     false,
     NULL},
    {{"log_true", LL_DTYPE_F64, "[N]", "with labels", "logarithm of the mean probability of the true class, which NLL is made of"},
     LLI_WHEN_TRUTH,
     PREDICTION(log_true),
     OUTCOME(log_true),
     false,
     NULL},
    {{"truth", LL_DTYPE_I32, "[N]", "with labels", "the true class"}, LLI_WHEN_TRUTH, 0, OUTCOME(truth), true, fill_truth},
    {{"abstain", LL_DTYPE_BOOL, "[N]", "with `threshold` or a certificate",
      "the confidence `by`, or that of the certificate, is below the cut"},
     LLI_WHEN_THRESHOLD,
     0,
     0,
     false,
     fill_abstain},
    {{"answer", LL_DTYPE_I32, "[N]", "with `threshold` or a certificate", "label, or -1 (unknown) where abstain is true"},
     LLI_WHEN_THRESHOLD,
     0,
     0,
     false,
     fill_answer},
    {{"row", LL_DTYPE_I64, "[N]", "from a comparison, where half of the test rows chose",
      "its number among the test rows, of which only those that report are here"},
     LLI_WHEN_PICKED,
     0,
     0,
     false,
     NULL},
    {{"running", LL_DTYPE_F64, "[S,3]", "with labels", "accuracy, NLL and Brier of the first s members"},
     LLI_WHEN_RUNNING,
     0,
     0,
     false,
     NULL},
    {{"member_pmax", LL_DTYPE_F32, "[R,S]", "with `members`", "largest probability of each member"}, LLI_WHEN_CHOSEN, 0, 0, false, NULL},
    {{"member_label", LL_DTYPE_I32, "[R,S]", "with `members`", "its class"}, LLI_WHEN_CHOSEN, 0, 0, true, NULL},
    {{"member_row", LL_DTYPE_I64, "[R]", "with `members`", "the rows, in the order asked for"}, LLI_WHEN_CHOSEN, 0, 0, false, NULL},
};

_Static_assert(LLI_COUNT(table) <= LLI_FIELDS_MAX, "more rows than LLI_FIELDS_MAX");

int lli_schema_count(void) {
    return (int)LLI_COUNT(table);
}

const lli_field *lli_schema_get(int i) {
    return &table[i];
}

int lli_schema_find(const char *name) {
    int i = (int)LLI_COUNT(table);
    while (--i >= 0 && strcmp(table[i].info.name, name) != 0)
        ;
    return i;
}

size_t ll_field_count(void) {
    return LLI_COUNT(table);
}

const ll_field *ll_field_get(size_t i) {
    return i < LLI_COUNT(table) ? &table[i].info : NULL;
}

int lli_schema_shape(int64_t shape[LLI_FIELD_AXES], const lli_field *field, const lli_schema_sizes *sizes) {
    int axes = 0;
    for (const char *p = field->info.shape; *p; p++)
        if (*p == 'N' || *p == 'K' || *p == 'S' || *p == 'R' || (*p >= '1' && *p <= '9'))
            shape[axes++] = *p == 'N' ? sizes->N : *p == 'K' ? sizes->K : *p == 'S' ? sizes->S : *p == 'R' ? sizes->R : *p - '0';
    return axes;
}

bool lli_schema_by_row(const lli_field *field) {
    return field->info.shape[1] == 'N';
}

int64_t lli_schema_add(lli_schema_list *list, const char *prefix, const lli_field *field, ll_array array) {
    char *name = list->names[list->count];
    size_t length = strlen(prefix);
    memcpy(name, prefix, length);
    memcpy(name + length, field->info.name, strlen(field->info.name) + 1);
    list->arrays[list->count] = (ll_named_array){name, array};
    return list->count++;
}
