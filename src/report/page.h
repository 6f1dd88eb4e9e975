/* SPDX-License-Identifier: MIT */
/* The page people look at: one self-contained HTML file of one or several outcomes. It asks the network for nothing. */
#ifndef LLI_REPORT_PAGE_H
#define LLI_REPORT_PAGE_H

#include "base/text.h"
#include "metrics/diagnosis.h"

#define LLI_RECOMMENDED_KEY "recommended"       /* in the metadata of predictions of a comparison: the name of the row to take */
#define LLI_RECOMMENDATION_KEY "recommendation" /* and why */
#define LLI_GROUP_KEY "group"                   /* of the method, in the table of the comparison */
#define LLI_BYTES_KEY "stored_bytes"            /* of the ensemble */

/* One column of the comparison. Only the evaluation must be there; a method without points (n = 0) has its numbers, and no curves. */
typedef struct lli_page_method {
    const char *name;
    ll_outcome points;               /* with truth */
    const ll_outcome *out_points;    /* out-of-distribution, or NULL */
    const ll_evaluation *evaluation; /* of these points */
    int64_t S;                       /* members; 0 = unknown */
    const double *running;           /* [S,3] accuracy, NLL, Brier of the first s members, or NULL */
    int64_t R;                       /* points whose members are known one by one */
    const float *member_pmax;        /* [R,S] or NULL */
    const int32_t *member_label;     /* [R,S] or NULL */
    const int64_t *member_row;       /* [R] rows of points */
    const ll_meta *meta;             /* provenance */
    int64_t meta_count;
    const int64_t *row; /* [n] numbers of the points in the set that images are of; NULL: they are those of the set */
} lli_page_method;

/* What else the page shows, with the file it comes from. */
typedef struct lli_page_source {
    const char *name;
    const ll_meta *meta;
    int64_t meta_count;
} lli_page_source;

/* The cut of a decided class. */
typedef struct lli_page_class_cut {
    bool certified; /* false: never answered */
    double cut;
    int64_t n, accepted, errors;
} lli_page_class_cut;

/* A cut with a promise, for the first method. Texts are of the file. */
typedef struct lli_page_certificate {
    bool certified;
    bool costs; /* the risk is a mean cost */
    ll_confidence by;
    double cut;                          /* NaN where there is not one for all classes */
    const lli_page_class_cut *class_cut; /* [classes] or NULL */
    int64_t classes;
    double confidence, risk;             /* risk is NaN where none is promised */
    int64_t n, accepted, errors, needed; /* on the testing rows */
    const char *statement, *conditions;
    const char *text; /* the whole JSON */
} lli_page_certificate;

/* How the chains of a method went. */
typedef struct lli_page_diagnosis {
    const char *name;
    const lli_diagnosis_traces *traces;
} lli_page_diagnosis;

typedef struct lli_page {
    const char *title;
    const char *command;            /* that made the page, or NULL */
    const lli_page_method *methods; /* [count], count >= 1 */
    int64_t count;
    const char *const *class_names; /* [class_count]; classes beyond are called by their number */
    int64_t class_count;
    ll_array images;                /* u8 [N,H,W] or [N,H,W,3]; data NULL = none */
    const lli_page_source *sources; /* ensembles given beside the predictions */
    int64_t source_count;
    const lli_page_certificate *certificate; /* or NULL */
    const lli_page_diagnosis *diagnoses;
    int64_t diagnosis_count;
} lli_page;

/* The text of the page. Size: at most some hundred thousand bytes, whatever N. */
ll_status lli_page_html(lli_text *out, const lli_page *page) LL_CHECK_RESULT;

#endif
