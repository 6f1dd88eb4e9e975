/* SPDX-License-Identifier: MIT */
/* How chains have mixed, in words and as JSON. */
#include <inttypes.h>
#include <math.h>

#include "base/abi.h"
#include "base/memory.h"
#include "metrics/diagnosis.h"
#include "report/table.h"

enum { WORST = 3 };

static void plain(lli_text *out, const ll_diagnosis_info *i) {
    lli_table t;
    lli_text_add(out,
                 "%s: %" PRId64 " members of %" PRId64 " chain%s, judged by p(label) on the %" PRId64
                 " rows of smallest margin among %" PRId64 "\n\n",
                 i->method, i->members, i->chains, i->chains == 1 ? "" : "s", i->rows, i->among);
    lli_table_init(&t, out->ctx, "lrr");
    lli_table_cell(&t, "");
    lli_table_cell(&t, "median");
    lli_table_cell(&t, "worst row");
    const struct {
        const char *name;
        double median, worst;
    } lines[] = {{"R-hat", i->rhat_median, i->rhat_most},
                 {"ESS, bulk", i->bulk_median, i->bulk_least},
                 {"ESS, tail", i->tail_median, i->tail_least}};
    for (size_t l = i->chains > 1 ? 0 : 1; l < LLI_COUNT(lines); l++) {
        lli_table_cell(&t, lines[l].name);
        lli_table_number(&t, lines[l].median);
        lli_table_number(&t, lines[l].worst);
    }
    lli_table_write(&t, out, LL_TEXT_PLAIN);
    lli_table_release(&t);
    if (i->chains > 1)
        lli_text_add(out, "\nR-hat is above %.4g on %" PRId64 " of %" PRId64 " rows: %s\n", i->rhat_limit, i->above, i->rows,
                     i->apart ? "the chains have not met" : "no sign that the chains differ");
    else
        lli_text_add(out, "\nOne chain has no R-hat: it cannot tell a chain that has arrived from one that is stuck\n");
    if (isnan(i->bulk_median))
        lli_text_add(out, "All members say the same on these rows: there is nothing to judge\n");
    else
        lli_text_add(out, "%" PRId64 " members are worth about %.3g independent ones%s\n", i->members, i->bulk_median,
                     i->repeating ? ": they repeat each other" : "");
}

static void json_list(lli_text *out, const char *key, const double *x, int64_t n) {
    lli_text_add(out, ",\n  \"%s\": [", key);
    for (int64_t r = 0; r < n; r++) {
        lli_text_add(out, r ? ", " : "");
        lli_text_json_number(out, x[r]);
    }
    lli_text_add(out, "]");
}

static void json_pair(lli_text *out, const char *key, const char *first, double a, const char *second, double b) {
    lli_text_add(out, ",\n  \"%s\": {\"%s\": ", key, first);
    lli_text_json_number(out, a);
    lli_text_add(out, ", \"%s\": ", second);
    lli_text_json_number(out, b);
    lli_text_add(out, "}");
}

/* The next row of the worst ones, by R-hat, or by bulk where there is one chain; -1: there is none. */
static int64_t next_worst(const ll_diagnosis *d, const int64_t *before, int64_t count) {
    int64_t worst = -1;
    for (int64_t r = 0; r < d->info.rows; r++) {
        bool seen = isnan(d->bulk[r]);
        for (int64_t i = 0; i < count; i++)
            seen = seen || before[i] == r;
        bool worse = worst < 0 || (d->info.chains > 1 ? d->rhat[r] > d->rhat[worst] : d->bulk[r] < d->bulk[worst]);
        if (!seen && worse)
            worst = r;
    }
    return worst;
}

static void json(lli_text *out, const ll_diagnosis *d) {
    const ll_diagnosis_info *i = &d->info;
    lli_text_json_pair(out, "{\n  ", "method", i->method);
    lli_text_add(out,
                 ",\n  \"members\": %" PRId64 ", \"chains\": %" PRId64 ", \"rows\": %" PRId64 ", \"among\": %" PRId64
                 ", \"above\": %" PRId64 ",\n  \"rhat_limit\": ",
                 i->members, i->chains, i->rows, i->among, i->above);
    lli_text_json_number(out, i->rhat_limit);
    json_pair(out, "rhat", "median", i->rhat_median, "most", i->rhat_most);
    json_pair(out, "bulk", "median", i->bulk_median, "least", i->bulk_least);
    json_pair(out, "tail", "median", i->tail_median, "least", i->tail_least);
    lli_text_add(out, ",\n  \"apart\": %s, \"repeating\": %s,\n  \"row\": [", i->apart ? "true" : "false", i->repeating ? "true" : "false");
    for (int64_t r = 0; r < i->rows; r++)
        lli_text_add(out, "%s%" PRId64, r ? ", " : "", d->row[r]);
    lli_text_add(out, "]");
    json_list(out, "row_rhat", d->rhat, i->rows);
    json_list(out, "row_bulk", d->bulk, i->rows);
    json_list(out, "row_tail", d->tail, i->rows);
    lli_text_add(out, ",\n  \"worst\": [");
    int64_t worst[WORST], count = 0, r;
    while (count < WORST && (r = next_worst(d, worst, count)) >= 0) {
        lli_text_add(out, "%s\n    {\"row\": %" PRId64, count ? "," : "", d->row[r]);
        json_list(out, "draws", d->draws + r * i->members, i->members);
        lli_text_add(out, "}");
        worst[count++] = r;
    }
    lli_text_add(out, "]\n}\n");
}

ll_status ll_diagnosis_text(char **out, ll_context *ctx, const ll_diagnosis *diagnosis, ll_text_form form) {
    LLI_NEED(ctx, out, diagnosis);
    *out = NULL;
    if (form != LL_TEXT_PLAIN && form != LL_TEXT_JSON)
        return lli_fail(ctx, LL_ERR_USAGE, "a diagnosis is plain text or JSON");
    lli_text text;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON)
        json(&text, diagnosis);
    else
        plain(&text, &diagnosis->info);
    return lli_text_take(&text, out);
}
