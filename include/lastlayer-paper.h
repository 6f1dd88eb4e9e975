/* SPDX-License-Identifier: MIT */
/* The experiments of the paper that lastlayer implements, from images to tables. A library of its own (liblastlayer-paper.a), which the
 * command links and nobody else needs: it is not part of the interface of liblastlayer, and may change with every version. Conventions are
 * those of lastlayer.h. */
#ifndef LASTLAYER_PAPER_H
#define LASTLAYER_PAPER_H

#include "lastlayer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ll_reproduce_options {
    size_t struct_size;
    bool quick, full;    /* a short version; everything. Neither: the last layer, on the paper's grids */
    const char *seeds;   /* list: one run each, from the network on */
    const char *data;    /* folder of the images; NULL = by name */
    const char *network; /* a trained network, instead of training */
    const char *net;     /* another network to train than the paper's; NULL = its */
    int64_t epochs;      /* of that training; 0 = the paper's */
    const char *full_lr, *full_samples, *full_epochs, *full_dropout; /* another grid for the full network; NULL = the paper's */
    const char *features;                                            /* encoded features, instead of images */
    const char *results;                                             /* folder: what is made goes to RESULTS/NAME */
    bool latex;                                                      /* the text is LaTeX instead of Markdown */
} ll_reproduce_options;

LL_DEFAULTS(ll_reproduce_options)
LL_API const ll_option *ll_reproduce_options_table(size_t *count);
/* One experiment, those of the paper ("mnist", "cifar10", "cifar100", "imagenet") and others made like them ("fashion", "quickdraw",
 * "clinc150"), from images to tables beside the paper's numbers: trains, encodes, searches, writes RESULTS/NAME/tables.md, .tex, .csv and
 * .json and the figures as SVG. What the folder holds is not made again: after a kill the same call goes on. *out = the Markdown, or the
 * LaTeX, to free with ll_text_free. */
LL_API ll_status ll_reproduce(char **out, ll_context *ctx, const char *name, const ll_reproduce_options *options) LL_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
