/* SPDX-License-Identifier: MIT */
/* A trained network and its file: .safetensors with the tensors layers.<i>.weight and so on in PyTorch's shapes, and besides
 *
 *     holdout  i64 [n]    rows of the training set that were not trained on; absent without any
 *     epochs   f64 [E,4]  per epoch lr, training NLL, held-out NLL, held-out accuracy
 *
 * The metadata say the rest: format, net, input (height x width x channels), shift and scale of bytes, classes (original ids), kept_epoch,
 * the options and hashes that decide its numbers. */
#ifndef LLI_INTEROP_TRAINED_H
#define LLI_INTEROP_TRAINED_H

#include "base/rows.h"
#include "ensemble/ensemble.h"
#include "model/network.h"

#define LLI_NETWORK_FORMAT "lastlayer-network-1"

struct ll_network {
    lli_network *net;
    const lli_model *model;
    float *theta;                    /* [model->floats] */
    int64_t height, width, channels; /* of its input; 1, 1, D for plain features */
    float shift, scale;              /* x = (byte - shift) * scale */
    int32_t *classes;                /* [K] original ids */
    int64_t *holdout;                /* [holdout_count], ascending */
    int64_t holdout_count;
    ll_epoch *epochs; /* [epoch_count] */
    int64_t epoch_count, kept_epoch;
    lli_provenance provenance; /* all the metadata */
};

/* A network in two steps, so that the tensors of a file can be compared with its shapes before they take memory: its model, then room for
 * parameters and classes, all zero; the rest is for the caller to fill. */
ll_status lli_trained_plan(ll_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                           int64_t K) LL_CHECK_RESULT;
ll_status lli_trained_alloc(ll_context *ctx, ll_network *network) LL_CHECK_RESULT;
/* Both. */
ll_status lli_trained_make(ll_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                           int64_t K) LL_CHECK_RESULT;
/* The first entries of its metadata: format, version, net, input, shift, scale, classes. */
ll_status lli_trained_record(ll_context *ctx, ll_network *network) LL_CHECK_RESULT;
/* Room for every tensor in `block`, to free, and where each begins. */
ll_status lli_trained_tensors(ll_context *ctx, float **block, float *tensors[LLI_TENSORS_MAX], const lli_model *model) LL_CHECK_RESULT;
/* The options by which it was trained, as its metadata say; what they do not say is as usual for such a network. Texts are borrowed. */
ll_status lli_trained_recipe(ll_context *ctx, ll_train_options *out, const ll_network *network) LL_CHECK_RESULT;
/* Refuses a file, `path`, whose metadata are no such options. */
ll_status lli_trained_check_recipe(ll_context *ctx, const ll_network *network, const char *path) LL_CHECK_RESULT;
/* Refuses held-out rows that `data`, the rows it was trained on, do not have; warns where it held out rows of other data. */
ll_status lli_trained_check_held(ll_context *ctx, const ll_network *network, const ll_dataset *data) LL_CHECK_RESULT;
/* Where `data` are the rows that the network was trained on: copies of those it saw and (unless held_out is NULL) of those it held out.
 * Else both are NULL. */
ll_status lli_trained_split(ll_dataset **training, ll_dataset **held_out, ll_context *ctx, const ll_dataset *data,
                            const ll_network *network) LL_CHECK_RESULT;
/* Refuses rows that the network cannot take; `what` begins the sentence. */
ll_status lli_trained_check_rows(ll_context *ctx, const ll_network *network, const lli_rows *rows, const char *what) LL_CHECK_RESULT;
/* The rows as this network sees them: bytes with its own shift and scale. */
lli_rows lli_trained_rows(const ll_network *network, const lli_rows *rows);

#endif
