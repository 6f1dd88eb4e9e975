/* SPDX-License-Identifier: MIT */
/* Any bytes as class names; of some the page of a report on three points is made, which takes a hundred times as long. */
#include "fuzz.h"
#include "interop/class_names.h"

static const char table[] = "label,sr,truth,p_0,p_1,p_2\n0,0.5,0,0.5,0.25,0.25\n1,0.75,1,0.25,0.75,0\n2,0.5,1,0.25,0.25,0.5\n";

static void report(void) {
    ll_report_options options = ll_report_options_default();
    options.class_names = "names.txt";
    const ll_report_input input = {.kind = LL_REPORT_PREDICTIONS, .file = "p.csv"};
    fuzz_file("p.csv", table, sizeof table - 1);
    (void)fuzz_ok(ll_report_write(fuzz_context(), "page.html", &input, 1, &options));
}

static void run(const uint8_t *bytes, size_t size) {
    lli_class_names names;
    fuzz_file("names.txt", bytes, size);
    if (fuzz_ok(lli_class_names_read(&names, fuzz_context(), "names.txt", 0)))
        for (int64_t i = 0; i < names.count; i++)
            fuzz_use_text(names.list[i]);
    lli_class_names_release(&names);
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    if (sum % 256 == 5)
        report();
}

FUZZ_TARGET(run)
