/* SPDX-License-Identifier: MIT */
/* Any bytes as an ensemble file; one that is accepted predicts a row. */
#include "fuzz.h"
#include "use_ensemble.h"

static void run(const uint8_t *bytes, size_t size) {
    fuzz_file("fuzz", bytes, size);
    ll_ensemble *ensemble;
    if (fuzz_ok(ll_ensemble_read(&ensemble, fuzz_context(), "fuzz")))
        fuzz_use_ensemble(ensemble);
    ll_ensemble_free(ensemble);
}

FUZZ_TARGET(run)
