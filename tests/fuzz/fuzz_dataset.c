/* SPDX-License-Identifier: MIT */
/* Any bytes as features with labels, as a head, and as images. */
#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    ll_context *ctx = fuzz_context();
    fuzz_file(FUZZ_FILE, bytes, size);
    ll_dataset *data;
    ll_head *head;
    ll_images *images;
    (void)fuzz_ok(ll_dataset_read(&data, ctx, FUZZ_FILE ":x", FUZZ_FILE ":labels", 0));
    ll_dataset_free(data);
    if (fuzz_ok(ll_head_read(&head, ctx, FUZZ_FILE, NULL, 3, LL_HEAD_LAYOUT_AUTO))) {
        ll_array W = ll_head_weight_view(head), b = ll_head_bias_view(head);
        fuzz_use_array(&W);
        fuzz_use_array(&b);
        ll_head_free(head);
    }
    ll_images_options options = ll_images_options_default();
    options.classes = "first:2";
    (void)fuzz_ok(ll_images_read(&images, ctx, FUZZ_FILE, &options));
    ll_images_free(images);
}

FUZZ_TARGET(run)
