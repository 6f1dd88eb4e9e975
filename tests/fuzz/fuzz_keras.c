/* SPDX-License-Identifier: MIT */
/* Any bytes as a .keras, in whose archive stands what the program that reads HDF5 would answer (files.c); a network that is accepted
 * encodes a row. */
#include "fuzz.h"
#include "use_network.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_import_options options = ll_import_options_default();
    options.shift = 1;
    options.scale = 0.5;
    fuzz_file("fuzz.keras", bytes, size);
    ll_network *network;
    if (fuzz_ok(ll_network_import(&network, fuzz_context(), "fuzz.keras", NULL, &options)))
        fuzz_use_network(network);
    ll_network_free(network);
}

FUZZ_TARGET(run)
