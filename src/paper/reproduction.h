/* SPDX-License-Identifier: MIT */
/* Our numbers beside the paper's. */
#ifndef LLI_PAPER_REPRODUCTION_H
#define LLI_PAPER_REPRODUCTION_H

#include "base/text.h"

enum { LLI_SEEDS_MAX = 16, LLI_REPRODUCED_METRICS = 22 };

/* The columns, in the order of the tables. */
typedef struct lli_reproduced_metric {
    const char *task; /* "selective" or "ood" */
    const char *key;  /* as in lli_selection_metric and the paper's data file */
} lli_reproduced_metric;

extern const lli_reproduced_metric lli_reproduced_metrics[LLI_REPRODUCED_METRICS];

/* One algorithm of one table. NaN = there is no such number. */
typedef struct lli_reproduced_row {
    const char *task, *protocol;
    const char *scope; /* "last" "full" "layers-2" */
    const char *method;
    int64_t seeds;
    const ll_trial *trial[LLI_SEEDS_MAX]; /* that was chosen, by seed */
    double ours[LLI_REPRODUCED_METRICS], spread[LLI_REPRODUCED_METRICS], paper[LLI_REPRODUCED_METRICS];
    ll_interval interval[LLI_REPRODUCED_METRICS]; /* of one seed, over the rows that report; NaN = none */
} lli_reproduced_row;

typedef struct lli_reproduction {
    const char *dataset, *about; /* about: sentences on how it was made, Markdown */
    const uint64_t *seeds;       /* [seed_count] */
    int64_t seed_count;
    const lli_reproduced_row *rows; /* rows of one table stand together */
    int64_t count;
    bool same_task;      /* as the paper's: its network, trained its way. Else a ratio to the paper's numbers means nothing */
    const char *unknown; /* what the out-of-distribution rows are */
} lli_reproduction;

/* form: LL_TEXT_MARKDOWN (also PLAIN), LL_TEXT_CSV (one number per line) or LL_TEXT_JSON. */
ll_status lli_reproduction_text(lli_text *out, const lli_reproduction *reproduction, ll_text_form form) LL_CHECK_RESULT;
#endif
