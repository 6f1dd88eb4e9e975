/* SPDX-License-Identifier: MIT */
/* What is the same for every model. */
#include "model/model.h"

#include "base/hash.h"
#include "base/memory.h"
#include "kernels/kernels.h"

void lli_model_normals(const lli_model *model, float *xi, lli_stream stream, int64_t first, int64_t count) {
    if (model->ops->normals)
        model->ops->normals(model, xi, stream, first, count);
    else
        model->kernels->normals(xi, stream, first, count);
}

ll_status lli_model_hash(ll_context *ctx, char *out, const lli_model *model, const float *theta) {
    float *tensors[LLI_TENSORS_MAX], *scratch;
    int64_t floats = lli_model_tensor_floats(model);
    LLI_TRY(lli_memory_new(ctx, &scratch, floats, sizeof *scratch));
    lli_model_place_tensors(tensors, model, scratch);
    model->ops->unpack(model, tensors, theta);
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, scratch, (size_t)floats * sizeof *scratch);
    lli_hash_text(&hash, out);
    lli_memory_free(scratch);
    return LL_OK;
}
