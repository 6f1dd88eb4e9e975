/* SPDX-License-Identifier: MIT */
/* The parts of a file of encoded features. */
#ifndef LLI_INTEROP_ENCODED_H
#define LLI_INTEROP_ENCODED_H

#include "data/dataset.h"

struct ll_encoded {
    ll_bundle *bundle;                    /* that the parts lie in */
    ll_dataset *train, *val, *test, *out; /* NULL where it has no such part */
    ll_head *head;                        /* W and b, or NULL */
};

/* Takes the bundle over, also on failure. */
ll_status lli_encoded_new(ll_encoded **out, ll_context *ctx, ll_bundle *bundle) LL_CHECK_RESULT;
/* ll_encoded_read of a file to train on: refuses one without features_train and labels_train. */
ll_status lli_encoded_read_training(ll_encoded **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* Refuses a file that lastlayer encode made of another network, or of other images. */
ll_status lli_encoded_check(ll_context *ctx, const char *path, const ll_network *network, const ll_encode_data *data) LL_CHECK_RESULT;

#endif
