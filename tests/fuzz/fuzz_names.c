/* SPDX-License-Identifier: MIT */
/* Any bytes as the class names of a report on four points; the page is made. */
#include "fuzz.h"

static const char table[] = "label,sr,truth,p_0,p_1,p_2\n0,0.5,0,0.5,0.25,0.25\n1,0.75,1,0.25,0.75,0\n2,0.5,1,0.25,0.25,0.5\n";

static void run(const uint8_t *bytes, size_t size) {
    ll_report_options options = ll_report_options_default();
    options.class_names = "names.txt";
    const ll_report_input input = {.kind = LL_REPORT_PREDICTIONS, .file = "p.csv"};
    fuzz_file("names.txt", bytes, size);
    fuzz_file("p.csv", table, sizeof table - 1);
    (void)fuzz_ok(ll_report_write(fuzz_context(), "page.html", &input, 1, &options));
}

FUZZ_TARGET(run)
