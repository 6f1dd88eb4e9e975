/* SPDX-License-Identifier: MIT */
/* The table of layer types. */
#include "model/layers.h"

#include <string.h>

static const lli_layer_kind *const kinds[] = {&lli_layer_dense, &lli_layer_relu,      &lli_layer_dropout,
                                              &lli_layer_conv,  &lli_layer_batchnorm, &lli_layer_maxpool};

const lli_layer_kind *lli_layer_kind_of(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}
