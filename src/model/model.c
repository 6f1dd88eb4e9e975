/* SPDX-License-Identifier: MIT */
/* What is the same for every model. */
#include "model/model.h"

#include "kernels/kernels.h"

void lli_model_normals(const lli_model *model, float *xi, lli_stream stream, int64_t first, int64_t count) {
    if (model->ops->normals)
        model->ops->normals(model, xi, stream, first, count);
    else
        model->kernels->normals(xi, stream, first, count);
}
