/* SPDX-License-Identifier: MIT */
/* What every fuzz target does: hand the bytes to one reader, then look at everything it promised. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/readers.h"

typedef ll_status fuzz_reader(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);

static inline int fuzz_run(fuzz_reader *reader, const char *format, const uint8_t *bytes, size_t size) {
    static ll_context *ctx;
    if (!ctx) {
        ll_context_options options = ll_context_options_default();
        options.threads = 1;
        if (ll_context_new(&ctx, &options) != LL_OK)
            abort();
    }
    ll_bundle *bundle;
    if (lli_bundle_new(&bundle, ctx, format) != LL_OK)
        abort();
    ctx->message[0] = 0;
    ll_status status = reader(ctx, bundle, bytes, size, "fuzz");
    if (status != LL_OK && !ctx->message[0])
        abort(); /* every failure has its sentence */
    double sum = 0;
    for (int64_t i = 0; status == LL_OK && i < ll_bundle_count(bundle); i++) {
        ll_array a = ll_bundle_array(bundle, i);
        if ((uintptr_t)a.data % ll_dtype_size(a.dtype) != 0)
            abort();
        int64_t count = lli_array_count(&a);
        for (int64_t k = 0; k < count; k++) /* the sanitizers watch that all of it is there */
            sum += lli_array_real(&a, k);
    }
    volatile double sink = sum;
    (void)sink;
    ll_bundle_free(bundle);
    return 0;
}

#define FUZZ_TARGET(format, reader)                                                                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);                                                                         \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {                                                                        \
        return fuzz_run(reader, format, bytes, size);                                                                                      \
    }

#endif
