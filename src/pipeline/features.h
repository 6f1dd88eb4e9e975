/* SPDX-License-Identifier: MIT */
/* The parts of a file of encoded features. */
#ifndef LLI_PIPELINE_FEATURES_H
#define LLI_PIPELINE_FEATURES_H

#include "data/dataset.h"

typedef struct lli_features {
    ll_dataset *train, *val, *test, *out; /* NULL where the file has no such part; train is always there, with labels */
    ll_head *head;                        /* W and b, or NULL */
} lli_features;

ll_status lli_features_read(lli_features *features, ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* Refuses a file that lastlayer encode made of another network, or of other images. */
ll_status lli_features_check(ll_context *ctx, const char *path, const ll_network *network, const ll_encode_data *data) LL_CHECK_RESULT;
void lli_features_release(lli_features *features);

#endif
