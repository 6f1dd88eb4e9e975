/* SPDX-License-Identifier: MIT */
/* The paper's own numbers: paper.csv, every table of it and the numbers of its text. */
#ifndef LLI_PAPER_PAPER_H
#define LLI_PAPER_PAPER_H

#include "base/context.h"

extern const char lli_asset_paper[]; /* paper.csv, made into C by tools/embed.py when the library is built */

/* dataset mnist cifar10 cifar100 imagenet; task selective or ood; scope last, full, layers-1..3; method point for SGD-PE; metric like
 * accuracy, aurc_sr, min_aurc, ratio_aurc, auroc_std, max_aupr_in. NaN where the paper has no such number. */
double lli_paper_value(const char *dataset, const char *task, const char *scope, const char *method, const char *metric);

#endif
