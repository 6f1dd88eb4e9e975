/* SPDX-License-Identifier: MIT */
/* Rules in words. They follow the options in use, so that a number made another way says so. */
#include "report/metric_rule.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINE = 100, INDENT = 15 }; /* columns of a wrapped sentence, and of the titles before it */

static const struct {
    const char *key, *title;
} names[LLI_RULE_COUNT] = {
    [LLI_RULE_ACCURACY] = {"accuracy", "accuracy"},
    [LLI_RULE_NLL] = {"nll", "NLL"},
    [LLI_RULE_BRIER] = {"brier", "Brier"},
    [LLI_RULE_ECE] = {"ece", "ECE"},
    [LLI_RULE_MCE] = {"mce", "MCE"},
    [LLI_RULE_AURC] = {"aurc", "AURC"},
    [LLI_RULE_AURC_BAND] = {"aurc_band", "tie band"},
    [LLI_RULE_EAURC] = {"eaurc", "E-AURC"},
    [LLI_RULE_AUGRC] = {"augrc", "AUGRC"},
    [LLI_RULE_FAILURE_AUROC] = {"failure_auroc", "failure AUROC"},
    [LLI_RULE_COVERAGE_AT_RISK] = {"coverage_at_risk", "coverage"},
    [LLI_RULE_ECE_P] = {"ece_p", "ECE p"},
    [LLI_RULE_L2_DEBIASED] = {"l2_debiased", "debiased L2"},
    [LLI_RULE_MAJORITY] = {"majority", "majority"},
    [LLI_RULE_PER_CLASS] = {"per_class", "per class"},
    [LLI_RULE_INTERVALS] = {"intervals", "intervals"},
    [LLI_RULE_MIN_AURC] = {"min_aurc", "min AURC"},
    [LLI_RULE_COST] = {"cost", "cost"},
    [LLI_RULE_AUROC] = {"auroc", "AUROC"},
    [LLI_RULE_AUPR_IN] = {"aupr_in", "AUPR-in"},
    [LLI_RULE_AUPR_OUT] = {"aupr_out", "AUPR-out"},
    [LLI_RULE_FPR95] = {"fpr95", "FPR95"},
    [LLI_RULE_BASE_RATE] = {"base_rate", "base rate"},
};

const char *lli_metric_rule_key(lli_metric_rule rule) {
    return names[rule].key;
}

const char *lli_metric_rule_title(lli_metric_rule rule) {
    return names[rule].title;
}

bool lli_metric_rule_applies(lli_metric_rule rule, const ll_evaluation *e) {
    if (rule == LLI_RULE_COST)
        return !isnan(e->cost);
    if (rule == LLI_RULE_PER_CLASS)
        return e->rules.per_class && e->by_class;
    if (rule == LLI_RULE_INTERVALS || rule == LLI_RULE_ECE_P)
        return e->rules.interval > 0;
    if (rule == LLI_RULE_MAJORITY)
        return !isnan(e->majority_accuracy);
    return rule < LLI_RULE_AUROC || e->has_ood;
}

static bool is(const char *word, const char *value) {
    return word && strcmp(word, value) == 0;
}

static const char *classifier(const ll_evaluation *e) {
    if (!isnan(e->cost))
        return "the class of least expected cost";
    return is(e->rules.classifier, "votes") ? "argmax of the members' votes" : "argmax of the mean probability";
}

static void bins(lli_text *out, const ll_evaluation *e, bool brosse) {
    if (is(e->rules.edges, "mass"))
        lli_text_add(out, "at most %" PRId64 " bins of equally many points by sr, ties kept together", e->rules.bins);
    else
        lli_text_add(out, "%" PRId64 " equal-width bins %s", e->rules.bins,
                     is(e->rules.edges, "right") ? "(a,b] of sr, the first closed at 0"
                     : brosse                    ? "[a,b) of sr"
                                                 : "[a,b) of sr, the last closed at 1");
    lli_text_add(out, "%s", brosse ? ", points with sr = 1 in no bin" : "");
}

static const char *interpolation(const ll_evaluation *e, bool brosse) {
    return brosse                           ? "trapezoids between thresholds, no anchor at recall 0"
           : is(e->rules.aupr, "trapezoid") ? "trapezoids between thresholds, from recall 0 and precision 1"
                                            : "average precision (step interpolation)";
}

/* Of the numbers that came with intervals; false: it is another's. */
static bool interval_text(lli_text *out, lli_metric_rule rule, const ll_evaluation *e) {
    double risk = 100 * e->rules.risk;
    switch (rule) {
    case LLI_RULE_COVERAGE_AT_RISK:
        lli_text_add(out,
                     "largest share of points that one cut of the confidence answers with at most %g %% of them wrong, on these "
                     "points; on new ones expect somewhat worse",
                     risk);
        return true;
    case LLI_RULE_ECE_P:
        lli_text_add(out, "share of 2000 draws of the labels from sr whose ECE is at least this one; small: not calibrated");
        return true;
    case LLI_RULE_L2_DEBIASED:
        lli_text_add(out, "mean over points of the squared gap of their bin, less what chance adds to it; about 0, also below, if "
                          "calibrated");
        return true;
    case LLI_RULE_MAJORITY: lli_text_add(out, "accuracy of always deciding the class with most points"); return true;
    case LLI_RULE_PER_CLASS:
        lli_text_add(out,
                     "precision: right ones of the points decided to be of the class; recall: right ones of its points; at the cut "
                     "of sr for a risk of %g %%: coverage, answered ones of its points, risk, wrong ones of these, and answers that name "
                     "it",
                     risk);
        return true;
    case LLI_RULE_INTERVALS:
        lli_text_add(out,
                     "%g %%: accuracy by Wilson; NLL, Brier by sd/sqrt(n); AURC, E-AURC, AUGRC by influence functions; AUROC by "
                     "DeLong; coverage, FPR95 by 2000 bootstraps of seed %" PRIu64 "; ECE by their reflection",
                     100 * e->rules.interval, e->rules.seed);
        return true;
    default: return false;
    }
}

void lli_metric_rule_text(lli_text *out, lli_metric_rule rule, const ll_evaluation *e) {
    bool brosse = is(e->rules.compat, "brosse");
    if (interval_text(out, rule, e))
        return;
    switch (rule) {
    case LLI_RULE_ACCURACY: lli_text_add(out, "share of points whose decided class (%s) is the true one", classifier(e)); break;
    case LLI_RULE_NLL:
        lli_text_add(out, "mean of -ln p(true class), in nats; infinite, null in JSON, if a true class has probability 0");
        break;
    case LLI_RULE_BRIER:
        lli_text_add(out, "mean over points of the sum over classes of (p - 1{true class})^2%s", brosse ? ", divided by K" : "");
        break;
    case LLI_RULE_ECE:
        lli_text_add(out, "sum over bins of (share of points) x |accuracy of the most probable class - mean sr|; ");
        bins(out, e, brosse);
        break;
    case LLI_RULE_MCE: lli_text_add(out, "largest |accuracy - mean sr| over the bins of ECE that hold a point"); break;
    case LLI_RULE_AURC:
        lli_text_add(out, "mean over points of the error rate among points of at least their confidence; %s",
                     brosse ? "tied points in random order (expectation); hq with the errors of the votes" : "tied points share one value");
        break;
    case LLI_RULE_AURC_BAND:
        lli_text_add(out, "AURC for the best and worst order inside ties and its expectation over random orders");
        break;
    case LLI_RULE_EAURC: lli_text_add(out, "AURC minus the least AURC that this number of errors allows"); break;
    case LLI_RULE_AUGRC:
        lli_text_add(out, "area under (accepted errors)/n over coverage, trapezoids between distinct confidences from (0,0)");
        break;
    case LLI_RULE_FAILURE_AUROC:
        lli_text_add(out, "chance that a right point (positive class) has more confidence than a wrong one, ties worth 1/2");
        break;
    case LLI_RULE_MIN_AURC: lli_text_add(out, "least AURC over sr, std, hq%s", brosse ? ", maxmin" : ""); break;
    case LLI_RULE_COST: lli_text_add(out, "mean cost of the decisions, each the class of least expected cost"); break;
    case LLI_RULE_AUROC:
        lli_text_add(out, "chance that an in-distribution point (positive class) has more confidence than an out one, ties worth 1/2");
        break;
    case LLI_RULE_AUPR_IN:
        lli_text_add(out, "area under precision over recall, in-distribution points positive; %s", interpolation(e, brosse));
        break;
    case LLI_RULE_AUPR_OUT:
        lli_text_add(out, "area under precision over recall, out-of-distribution points positive; %s", interpolation(e, brosse));
        break;
    case LLI_RULE_FPR95:
        lli_text_add(out,
                     "share of out points accepted at the first threshold that accepts 95 %% of the in-distribution points (positive)");
        break;
    case LLI_RULE_BASE_RATE: lli_text_add(out, "share of in-distribution points: the AUPR-in of guessing"); break;
    default: break;
    }
}

/* Words of `sentence`, broken at LINE. */
static void add_wrapped(lli_text *out, const char *sentence) {
    int column = INDENT;
    for (const char *word = sentence; *word;) {
        int length = (int)strcspn(word, " ");
        if (column > INDENT && column + 1 + length > LINE) {
            lli_text_add(out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        lli_text_add(out, "%s%.*s", column > INDENT ? " " : "", length, word);
        column += length + (column > INDENT);
        word += length + (word[length] == ' ');
    }
    lli_text_append(out, "\n", 1);
}

void lli_metric_rule_note(lli_text *out, const char *title, const char *sentence, ll_text_form form) {
    if (form == LL_TEXT_MARKDOWN) {
        lli_text_add(out, "- **%s**: %s\n", title, sentence);
        return;
    }
    lli_text_add(out, "%-*s", INDENT, title);
    add_wrapped(out, sentence);
}

void lli_metric_rule_add(lli_text *out, lli_metric_rule rule, const ll_evaluation *e, ll_text_form form) {
    lli_text sentence;
    lli_text_init(&sentence, out->ctx);
    lli_metric_rule_text(&sentence, rule, e);
    if (sentence.status == LL_OK)
        lli_metric_rule_note(out, lli_metric_rule_title(rule), sentence.data, form);
    else
        out->status = sentence.status;
    lli_text_release(&sentence);
}
