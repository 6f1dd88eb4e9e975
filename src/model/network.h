/* SPDX-License-Identifier: MIT */
/* A network as a model: a sequence of layers described by a short text. docs/math/network.md
 *
 *     mlp:512,20        dense layers of 512 and 20 units with ReLU, then dense K
 *     vgg16             VGG-16 with batch norm for small images; vgg16:width=0.25 has a quarter of its channels,
 *                       and vgg16:dropout=0.3 each of its own dropout rates (.3, .4, .5) times 0.3
 *     head:2            two dense layers on features: L - 1 hidden ones of D units with ReLU, then dense K
 *
 * Every network is a representation (all but the last dense layer) and a softmax head (that layer). Tensors have PyTorch's shapes and the
 * names layers.<i>.weight, .bias, .running_mean, .running_var, where i counts the layers that have parameters. A dense layer on an image
 * reads it in HWC order. */
#ifndef LLI_MODEL_NETWORK_H
#define LLI_MODEL_NETWORK_H

#include "base/context.h"
#include "model/model.h"

typedef struct lli_network lli_network; /* its first member is the lli_model */

/* Input height, width, channels: 1, 1, D for plain features. LL_ERR_USAGE for a text that describes none, with the grammar. */
ll_status lli_network_new(lli_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                          int64_t K) LL_CHECK_RESULT;
void lli_network_free(lli_network *network); /* NULL is fine */
const lli_model *lli_network_model(const lli_network *network);
const char *lli_network_text(const lli_network *network);
/* theta [floats]: kernels uniform in +-sqrt(6 / (in + out)) (Glorot), biases 0; batch norm 1, 0 with statistics 0, 1. */
void lli_network_start(const lli_network *network, float *theta, uint64_t seed, int64_t member);

#endif
