/* SPDX-License-Identifier: MIT */
/* The layers of a network, and the text that describes them. Only network.c and sequence.c know this struct. */
#ifndef LLI_MODEL_SEQUENCE_H
#define LLI_MODEL_SEQUENCE_H

#include "model/layers.h"

enum { LLI_SEQUENCE_MAX = 128 };

typedef struct lli_sequence {
    int count;
    lli_layer layer[LLI_SEQUENCE_MAX]; /* the last one is the dense layer of the head */
    int masks;                         /* places of dropout so far */
} lli_sequence;

/* The layers that `text` describes for this input, each planned. LL_ERR_USAGE for any other text, with the grammar in the sentence. */
ll_status lli_sequence_parse(ll_context *ctx, lli_sequence *out, const char *text, lli_extent in, int64_t K) LL_CHECK_RESULT;

#endif
