/* SPDX-License-Identifier: MIT */
/* What the product does with a network that a reader accepted. */
#ifndef TESTS_FUZZ_USE_NETWORK_H
#define TESTS_FUZZ_USE_NETWORK_H

#include "base/memory.h"
#include "fuzz.h"
#include "interop/trained.h"

/* One row through its representation; then it is written, and what was written must be read again. */
static inline void fuzz_use_network(const ll_network *n) {
    ll_context *ctx = fuzz_context();
    const lli_model *m = n->model;
    float *x = NULL, *z = NULL, *work = NULL;
    ll_network *again = NULL;
    size_t size;
    int64_t count;
    fuzz_use_text(ll_network_text(n));
    fuzz_use_text(ll_network_images(n).classes);
    ll_network_holdout(n, &count);
    ll_network_epochs(n, &count);
    if (!fuzz_ok(lli_memory_new(ctx, &x, m->D, sizeof *x)) || !fuzz_ok(lli_memory_new(ctx, &z, m->features, sizeof *z)) ||
        !fuzz_ok(lli_memory_new(ctx, &work, m->ops->represent_floats(m, 1, 1), sizeof *work)))
        goto done;
    for (int64_t d = 0; d < m->D; d++)
        x[d] = (float)(d % 2);
    lli_rows rows = {.features = x, .N = 1, .D = m->D};
    rows = lli_trained_rows(n, &rows);
    fuzz_ok(m->ops->represent(ctx, m, z, n->theta, work, &rows, 0, 1, NULL));
    if (!fuzz_ok(ll_network_write(ctx, "again", n)))
        goto done;
    const unsigned char *bytes = fuzz_file_written(&size);
    fuzz_file("again", bytes, size);
    if (!fuzz_ok(ll_network_read(&again, ctx, "again")))
        abort();
done:
    ll_network_free(again);
    lli_memory_free(x);
    lli_memory_free(z);
    lli_memory_free(work);
}

#endif
