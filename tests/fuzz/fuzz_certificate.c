/* SPDX-License-Identifier: MIT */
/* Any bytes as a certificate: held against rows, and shown on the page of them. */
#include "fuzz.h"
#include "pipeline/report_certificate.h"

enum { ROWS = 60, CLASSES = 3 };

/* Rows that certify something: the surer half is right. */
static ll_predictions *rows(void) {
    static double probs[ROWS * CLASSES];
    static int32_t truth[ROWS];
    static const int64_t shape[] = {ROWS, CLASSES}, n = ROWS;
    for (int i = 0; i < ROWS; i++) {
        double p = 0.4 + 0.59 * i / ROWS;
        int label = i % CLASSES;
        for (int k = 0; k < CLASSES; k++)
            probs[i * CLASSES + k] = k == label ? p : (1 - p) / (CLASSES - 1);
        truth[i] = i < ROWS / 2 && i % 4 == 0 ? (label + 1) % CLASSES : label;
    }
    const ll_array labels = ll_array_view(truth, LL_DTYPE_I32, 1, &n);
    ll_predictions *p;
    if (!fuzz_ok(ll_predictions_new(&p, fuzz_context(), ll_array_view(probs, LL_DTYPE_F64, 2, shape), false, &labels)))
        abort();
    return p;
}

static void run(const uint8_t *bytes, size_t size) {
    ll_predictions *points = rows();
    char *text = NULL, *page = NULL;
    bool holds = false;
    fuzz_file("fuzz", bytes, size);
    if (fuzz_ok(ll_certificate_verify(&text, &holds, fuzz_context(), "fuzz", points, NULL)))
        fuzz_harmless(text, true);
    lli_report_certificate read;
    if (fuzz_ok(lli_report_certificate_read(&read, fuzz_context(), "fuzz"))) { /* a page takes long: only of those that have a card */
        const ll_report_input input = {.struct_size = sizeof input, .name = "rows", .predictions = points};
        ll_report_options options = ll_report_options_default();
        options.certificate = "fuzz";
        if (!fuzz_ok(ll_report(&page, NULL, fuzz_context(), &input, 1, &options)) || !strstr(page, "id=\"certificate\""))
            abort();
    }
    lli_report_certificate_release(&read);
    ll_text_free(text);
    ll_text_free(page);
    ll_predictions_free(points);
}

FUZZ_TARGET(run)
