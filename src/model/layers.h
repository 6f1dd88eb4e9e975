/* SPDX-License-Identifier: MIT */
/* The layer types there are, one file each. layers.c has the table. */
#ifndef LLI_MODEL_LAYERS_H
#define LLI_MODEL_LAYERS_H

#include "model/layer.h"

extern const lli_layer_kind lli_layer_dense;
extern const lli_layer_kind lli_layer_relu;
extern const lli_layer_kind lli_layer_dropout;
extern const lli_layer_kind lli_layer_conv;
extern const lli_layer_kind lli_layer_batchnorm;
extern const lli_layer_kind lli_layer_maxpool;

#endif
