/* SPDX-License-Identifier: MIT */
/* What a model of Keras says about its layers, held against what stands between the layers of our networks. */
#ifndef LLI_INTEROP_KERAS_MODEL_H
#define LLI_INTEROP_KERAS_MODEL_H

#include "interop/foreign.h"

/* The arrays of the file `path` are those of `foreign`; `epsilon` is what its batch norms are taken to add to the variance. LL_ERR_DATA
 * names the first layer that ours would not do as Keras does. A file that holds weights alone, as those of PyTorch do, gets a note. */
ll_status lli_keras_model_check(ll_context *ctx, const char *path, const ll_bundle *bundle, const lli_foreign *foreign,
                                double epsilon) LL_CHECK_RESULT;

#endif
