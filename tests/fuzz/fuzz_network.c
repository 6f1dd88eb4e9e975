/* SPDX-License-Identifier: MIT */
/* Any bytes as a network file; one that is accepted encodes a row and is written again. */
#include "fuzz.h"
#include "use_network.h"

static void run(const uint8_t *bytes, size_t size) {
    fuzz_file("fuzz", bytes, size);
    ll_network *network;
    if (fuzz_ok(ll_network_read(&network, fuzz_context(), "fuzz")))
        fuzz_use_network(network);
    ll_network_free(network);
}

FUZZ_TARGET(run)
