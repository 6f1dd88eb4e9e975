/* SPDX-License-Identifier: MIT */
/* An experiment of the paper under way, and the tables it ends in. */
#ifndef LLI_PAPER_REPRODUCE_H
#define LLI_PAPER_REPRODUCE_H

#include "base/text.h"
#include "lastlayer-paper.h"
#include "paper/experiment.h"
#include "paper/reproduction.h"

enum { LLI_TASK_SELECTIVE, LLI_TASK_OOD, LLI_TASKS };
enum { LLI_SCOPES_MAX = 4 };                   /* 1, 2, 3 layers on features, or the last layer and the full network */
extern const char *const lli_tasks[LLI_TASKS]; /* "selective" "ood" */

typedef struct lli_reproduce {
    ll_reproduce_options options;
    lli_experiment experiment;
    uint64_t seeds[LLI_SEEDS_MAX];
    int64_t seed_count;
    int tasks;      /* 1, or both */
    int64_t layers; /* 1..layers dense layers on features */
    bool full;      /* also the whole network */
    bool unknown;   /* given features with out-of-distribution rows: their trials make tables of both tasks */
    ll_images *images[LLI_TASKS];
    lli_text trials[LLI_SEEDS_MAX][LLI_TASKS][LLI_SCOPES_MAX]; /* names of those that the grids ask for: a store may hold more */
} lli_reproduce;

/* "last", "full", "layers-2": the rows of a table, and the folder of their store. */
const char *lli_reproduce_scope(const lli_reproduce *r, int64_t layers, bool full);

/* "", "-quick", "-given", "-quick-given": what follows NAME in the name of the folder. */
const char *lli_reproduce_suffix(const lli_reproduce *r);
/* The images of a task, read if they are not; nothing where features are given. */
ll_status lli_reproduce_images(ll_context *ctx, lli_reproduce *r, int task) LL_CHECK_RESULT;
/* The search of a grid. */
ll_search_options lli_reproduce_search(ll_fit_options *fit, const lli_reproduce *r, int64_t seed, const lli_experiment_grid *grid);

/* Reads the stores and writes FOLDER/NAME/tables.md, .tex, .csv, .json and the figures; *out = the Markdown, or with `latex` the LaTeX. */
ll_status lli_reproduce_tables(char **out, ll_context *ctx, const lli_reproduce *r) LL_CHECK_RESULT;

/* Writes FOLDER/NAME/figures/FIGURE.svg of the trials that the honest protocol chose; `stores` holds the folder of each row's first
 * trial. */
ll_status lli_reproduce_figures(ll_context *ctx, const lli_reproduce *r, const lli_reproduced_row *rows, const char *const *stores,
                                int64_t count) LL_CHECK_RESULT;

#endif
