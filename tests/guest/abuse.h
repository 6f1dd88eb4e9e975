/* SPDX-License-Identifier: MIT */
/* What the programs of abuse have in common: things that work, and how a case is told. */
#ifndef TESTS_GUEST_ABUSE_H
#define TESTS_GUEST_ABUSE_H

#include "guest.h"

static ll_context *ctx; /* a new one for each case, so that its sentence is of that case */
static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];
static ll_dataset *data;
static ll_head *head;
static ll_ensemble *ensemble;
static ll_network *network;
static ll_predictions *predictions;

static inline void fresh(void) {
    ll_context_free(ctx);
    ctx = context_of(1);
}

static inline void refused(const char *call, ll_status expected, ll_status status) {
    char why[1200];
    const char *sentence = ll_context_message(ctx);
    snprintf(why, sizeof why, "%s, \"%s\"; expected %s and a sentence", ll_status_name(status), sentence, ll_status_name(expected));
    tap(status == expected && strlen(sentence) > 10, call, why);
}

#define AS(expected, call) (fresh(), refused(#call, expected, (call)))
#define USAGE(call) AS(LL_ERR_USAGE, call)
#define SAME(is) tap((is), #is, "it is not")

/* Without a context there is a status and no place for a sentence. */
#define MUTE(call) tap((call) == LL_ERR_USAGE, #call, "expected LL_ERR_USAGE")

static inline ll_array view(ll_dtype dtype, int rank, int64_t a, int64_t b) {
    int64_t shape[LL_ARRAY_RANK_MAX] = {a, b};
    return ll_array_view(z, dtype, rank, shape);
}

static const ll_array good = {z, LL_DTYPE_F32, 2, {GUEST_N, GUEST_D}};

static inline void abuse_begin(void) {
    ctx = context_of(1);
    guest_rows(z, y);
    data = guest_dataset(ctx, z, y);
    ensemble = guest_ensemble(ctx, data);
    must(ll_head_solve(&head, ctx, data, NULL), ctx);
    ll_train_options train = ll_train_options_default("mlp:4");
    train.epochs = 1;
    must(ll_train(&network, ctx, data, &train), ctx);
    ll_array labels = guest_view(y, LL_DTYPE_I32, GUEST_N, 0);
    must(ll_predictions_new(&predictions, ctx, good, true, &labels), ctx);
}

static inline int abuse_end(void) {
    ll_predictions_free(predictions);
    ll_network_free(network);
    ll_head_free(head);
    ll_ensemble_free(ensemble);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}

#endif
