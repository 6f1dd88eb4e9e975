/* SPDX-License-Identifier: MIT */
/* Any bytes as a certificate: held against rows, and shown as the card of the page. */
#include "fuzz.h"
#include "store/report_certificate.h"
#include "report/certificate_card.h"

enum { ROWS = 60, CLASSES = 3 };

/* Rows that certify something: the surer half is right. Made once. */
static ll_predictions *rows(void) {
    static ll_predictions *made;
    static double probs[ROWS * CLASSES];
    static int32_t truth[ROWS];
    static const int64_t shape[] = {ROWS, CLASSES}, n = ROWS;
    if (made)
        return made;
    for (int i = 0; i < ROWS; i++) {
        double p = 0.4 + 0.59 * i / ROWS;
        int label = i % CLASSES;
        for (int k = 0; k < CLASSES; k++)
            probs[i * CLASSES + k] = k == label ? p : (1 - p) / (CLASSES - 1);
        truth[i] = i < ROWS / 2 && i % 4 == 0 ? (label + 1) % CLASSES : label;
    }
    const ll_array labels = ll_array_view(truth, LL_DTYPE_I32, 1, &n);
    if (!fuzz_ok(ll_predictions_new(&made, fuzz_context(), ll_array_view(probs, LL_DTYPE_F64, 2, shape), false, &labels)))
        abort();
    return made;
}

/* The whole page would take a hundred times as long, and has a test of its own. */
static void show(const lli_page_certificate *certificate) {
    static lli_curve_step cuts[] = {{.cut = 0.9, .accepted = 10}, {.cut = 0.5, .accepted = 40, .marked = 3}};
    static lli_view_series series[1][LL_CONFIDENCE_COUNT] = {[0][LL_CONFIDENCE_SR] = {2, cuts}};
    static const lli_page_method method = {.name = "rows", .points = {.n = ROWS}};
    const lli_page page = {.methods = &method, .count = 1, .certificate = certificate};
    const lli_view view = {.page = &page, .series = series};
    lli_text out;
    lli_text_init(&out, fuzz_context());
    lli_certificate_card_html(&out, &view);
    lli_certificate_card_data(&out, &view);
    char *text;
    if (!fuzz_ok(lli_text_take(&out, &text)) || !strstr(text, "id=\"certificate\""))
        abort();
    ll_text_free(text);
}

static void run(const uint8_t *bytes, size_t size) {
    char *text = NULL;
    bool holds = false;
    fuzz_file("fuzz", bytes, size);
    if (fuzz_ok(ll_certificate_verify(&text, &holds, fuzz_context(), "fuzz", rows(), NULL)))
        fuzz_harmless(text, true);
    lli_report_certificate read;
    if (fuzz_ok(lli_report_certificate_read(&read, fuzz_context(), "fuzz")))
        show(&read.shown);
    lli_report_certificate_release(&read);
    ll_text_free(text);
}

FUZZ_TARGET(run)
