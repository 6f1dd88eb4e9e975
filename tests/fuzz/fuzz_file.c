/* SPDX-License-Identifier: MIT */
/* Any bytes in a file of any name: which format it is, its reader, and one array of it. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    static const char *const paths[] = {FUZZ_FILE, "a.npy", "a.npz", "a.safetensors", "a.idx", "a.idx.gz", "a.csv", "a.bin", "a.png"};
    static const char *const names[] = {"x", "labels", NULL};
    if (size == 0)
        return;
    const char *path = paths[bytes[0] % LLI_COUNT(paths)];
    fuzz_file(path, bytes + 1, size - 1);
    ll_bundle *bundle;
    ll_array array;
    if (fuzz_ok(ll_bundle_read(&bundle, fuzz_context(), path)))
        fuzz_use_bundle(bundle);
    ll_bundle_free(bundle);
    if (fuzz_ok(ll_array_read(&bundle, &array, fuzz_context(), bytes[0] & 128 ? FUZZ_FILE ":x" : path, names)))
        fuzz_use_array(&array);
    ll_bundle_free(bundle);
}

FUZZ_TARGET(run)
