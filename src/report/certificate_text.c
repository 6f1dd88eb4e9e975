/* SPDX-License-Identifier: MIT */
/* A certificate in words. */
#include "report/certificate_text.h"

#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "base/text.h"

static void promised_risk(lli_text *out, const ll_certificate *c) {
    const char *whose = c->info.classes ? "for each class at most" : "at most";
    if (c->costs)
        lli_text_add(out, "%s %g is the mean cost of the %s", whose, c->info.risk,
                     c->info.classes ? "points answered with it" : "answered ones");
    else
        lli_text_add(out, "%s %g of the %s are wrong", whose, c->info.risk, c->info.classes ? "points answered with it" : "answered ones");
}

void lli_certificate_text_statement(lli_text *out, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    const char *between = "";
    lli_text_add(out, "with probability at least %g over the calibration rows, of new points drawn independently from the same source ",
                 i->confidence);
    if (!isnan(i->risk)) {
        promised_risk(out, c);
        between = ", ";
    }
    if (!isnan(i->coverage)) {
        lli_text_add(out, "%sat least %g are answered", between, i->coverage);
        between = ", ";
    }
    if (!isnan(i->out_rate))
        lli_text_add(out, "%sand of out-of-distribution points at most %g are answered", between, i->out_rate);
}

const char lli_certificate_text_conditions[] =
    "new points come from the same source, independently; nothing (temperature, method, confidence, risk) was chosen on the testing rows; "
    "under a shift of the data the promise is void";

static void tested(lli_text *out, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    lli_text_add(out, "promise: ");
    lli_certificate_text_statement(out, c);
    lli_text_add(out, "\ntested on %" PRId64 " rows that did not propose the cut%s: %" PRId64 " answered (%.4f), %" PRId64 " of them wrong",
                 i->n, i->classes ? "s" : "", i->accepted, (double)i->accepted / (double)i->n, i->errors);
    if (c->costs)
        lli_text_add(out, ", mean cost %.6g", i->mean_cost);
    if (!isnan(i->out_rate))
        lli_text_add(out, "; %" PRId64 " of %" PRId64 " out-of-distribution rows answered", i->accepted_out, i->n_out);
    lli_text_add(out, "\n%sp-value %.3g", i->classes ? "largest " : "", i->p_value);
    if (!isnan(i->bound))
        lli_text_add(out, ", upper bound of the risk at this cut %.4f (shown, not promised)", i->bound);
    lli_text_add(out, "\n");
}

static void refused(lli_text *out, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    lli_text_add(out, "none certified: no cut on %s keeps ", ll_confidence_name(i->by));
    lli_text_add(out, isnan(i->risk) ? "what is asked" : c->costs ? "a mean cost of %g" : "a risk of %g", i->risk);
    lli_text_add(out, "%s with confidence %g on these %" PRId64 " rows", i->classes ? " for any class" : "", i->confidence,
                 i->n + c->result.n_proposing);
    if (i->needed)
        lli_text_add(out, "; without an error it needs at least %" PRId64 " answered testing rows%s", i->needed,
                     i->classes ? " of a class" : "");
    lli_text_add(out, "\n");
}

/* A line for each class that is answered, then those that never are. */
static void classes(lli_text *out, const ll_certificate *c) {
    int64_t never = 0;
    lli_text_add(out, "answer when %s >= the cut of the decided class\n%8s  %-22s  %9s  %9s  %6s\n", ll_confidence_name(c->info.by),
                 "class", "cut", "rows", "answered", "wrong");
    for (int64_t k = 0; k < c->info.classes; k++) {
        const ll_certificate_info *i = &c->class_info[k];
        never += !i->certified;
        if (i->certified)
            lli_text_add(out, "%8" PRId64 "  %-22.17g  %9" PRId64 "  %9" PRId64 "  %6" PRId64 "\n", k, i->cut, i->n, i->accepted,
                         i->errors);
    }
    if (!never)
        return;
    lli_text_add(out, "never answered (class: testing rows):");
    for (int64_t k = 0, listed = 0; k < c->info.classes; k++)
        if (!c->class_info[k].certified)
            lli_text_add(out, "%s %" PRId64 ": %" PRId64, listed++ ? "," : "", k, c->class_info[k].n);
    lli_text_add(out, "; without an error a class needs at least %" PRId64 " that are answered\n", c->info.needed);
}

static void plain(lli_text *out, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    if (!i->certified)
        refused(out, c);
    else if (i->classes)
        classes(out, c);
    else
        lli_text_add(out, "answer when %s >= %.17g\n", ll_confidence_name(i->by), i->cut);
    if (i->certified)
        tested(out, c);
    if (c->sgr.found)
        lli_text_add(out, "for comparison, not certified: SGR would answer %" PRId64 " of %" PRId64 " rows, %s >= %.6g\n", c->sgr.accepted,
                     i->n + c->result.n_proposing, ll_confidence_name(i->by), c->sgr.cut);
    if (c->uses > 1)
        lli_text_add(out, "these rows were certified on %" PRId64 " times; the promises hold together with probability %g only\n", c->uses,
                     fmax(0, 1 - (double)c->uses * (1 - i->confidence)));
    else if (c->uses == 0)
        lli_text_add(out, "how often these rows were used before is not known\n");
    lli_text_add(out, "conditions: %s\n", lli_certificate_text_conditions);
}

ll_status lli_certificate_text_promise(char **out, ll_context *ctx, const ll_certificate *c) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_certificate_text_statement(&text, c);
    return lli_text_take(&text, out);
}

ll_status ll_certificate_text(char **out, ll_context *ctx, const ll_certificate *certificate, ll_text_form form) {
    LLI_NEED(ctx, out, certificate);
    *out = NULL;
    LLI_TRY(lli_need_form(ctx, form));
    lli_text text;
    lli_text_init(&text, ctx);
    (form == LL_TEXT_JSON ? lli_certificate_json_add : plain)(&text, certificate);
    return lli_text_take(&text, out);
}
