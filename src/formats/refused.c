/* SPDX-License-Identifier: MIT */
/* Files that lastlayer knows and does not read: one sentence each, with the lines of Python that make one it reads. */
#include "formats/refused.h"

#include <string.h>

static bool ends(const char *path, const char *extension) {
    size_t length = strlen(path), size = strlen(extension);
    return length >= size && strcmp(path + length - size, extension) == 0;
}

ll_status lli_refused_torch(ll_context *ctx, const char *name) {
    return lli_fail(ctx, LL_ERR_FORMAT,
                    "%s: a PyTorch pickle is not read, because loading one can run any code in it; this line of Python converts it: "
                    "import numpy, torch; numpy.savez(\"model.npz\", "
                    "**{k: v.float().numpy() for k, v in torch.load(\"%s\", map_location=\"cpu\").items()})  # makes model.npz",
                    name, name);
}

/* PyTorch's files before 1.6 begin with this number. */
static bool is_old_torch(const unsigned char *bytes, size_t size) {
    return size >= 14 && memcmp(bytes,
                                "\x80\x02\x8a\nl\xfc\x9c"
                                "F\xf9 j\xa8P\x19",
                                14) == 0;
}

ll_status lli_refused_pickle(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle;
    if (is_old_torch(bytes, size) || ends(name, ".pt") || ends(name, ".pth"))
        return lli_refused_torch(ctx, name);
    return lli_fail(ctx, LL_ERR_FORMAT,
                    "%s: a pickle is not read, because loading one can run any code in it; this line of Python makes the head of a linear "
                    "model of scikit-learn: import joblib, numpy; m = joblib.load(\"%s\"); numpy.savez(\"head.npz\", W=m.coef_, "
                    "b=m.intercept_)  # makes head.npz; of an array: numpy.save(\"array.npy\", m)",
                    name, name);
}

ll_status lli_refused_onnx(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle, (void)bytes, (void)size;
    return lli_fail(ctx, LL_ERR_FORMAT,
                    "%s: ONNX is not read; this line of Python takes out its tensors: import numpy, onnx; from onnx import numpy_helper; "
                    "numpy.savez(\"model.npz\", **{t.name: numpy_helper.to_array(t) for t in onnx.load(\"%s\").graph.initializer})  # then "
                    "model.npz:NAME is the weight of the last layer",
                    name, name);
}

ll_status lli_refused_parquet(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle, (void)bytes, (void)size;
    return lli_fail(ctx, LL_ERR_FORMAT,
                    "%s: Parquet is not read; these lines of Python convert it, with your names of its columns: import numpy, pandas; t = "
                    "pandas.read_parquet(\"%s\"); numpy.save(\"features.npy\", numpy.stack(t[\"embedding\"])); "
                    "numpy.save(\"labels.npy\", t[\"label\"])",
                    name, name);
}
