/* SPDX-License-Identifier: MIT */
/* The stages of an experiment, and how long each will take. */
#ifndef LLI_PAPER_STAGES_H
#define LLI_PAPER_STAGES_H

#include "paper/reproduce.h"

typedef enum lli_stage_kind { LLI_STAGE_FEATURES, LLI_STAGE_LAST, LLI_STAGE_FULL } lli_stage_kind;

typedef struct lli_stage {
    lli_stage_kind kind;
    int64_t seed, layers; /* seed: its place in the list */
    int task;
    double seconds; /* expected */
} lli_stage;

enum { LLI_STAGES_MAX = LLI_SEEDS_MAX * LLI_TASKS * 5 };

/* All stages in order. Opens the images, if there are any, to time a few steps on them. */
ll_status lli_stages_plan(lli_stage *stages, int64_t *count, ll_context *ctx, lli_reproduce *r) LL_CHECK_RESULT;
/* A note on the stage that begins, of `count`, with the seconds left in all. */
void lli_stages_tell(ll_context *ctx, const lli_reproduce *r, const lli_stage *stage, int64_t number, int64_t count, double left);

#endif
