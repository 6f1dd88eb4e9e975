/* SPDX-License-Identifier: MIT */
/* Calibrations in memory: which kind, when it is refused, what is said about it. */
#include "calibrate/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/text.h"
#include "calibrate/scaling.h"
#include "calibrate/temperature.h"

enum { ROWS_PER_CLASS = 50 };

void ll_calibrate_options_init(ll_calibrate_options *options, size_t struct_size) {
    const ll_calibrate_options defaults = {.kind = "temperature"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_calibrate_options, member)

static const ll_option table[] = {
    {"kind", 0, LL_OPTION_CHOICE, AT(kind), "KIND", "temperature|bias|vector", 0, 0, false, false, "temperature",
     "one number for all classes, which keeps the labels; with a shift for each class; or with a scale and a shift for each class"},
    {"force", 0, LL_OPTION_FLAG, AT(force), NULL, NULL, 0, 0, false, false, NULL,
     "calibrate even on the rows of the training, or bias and vector on fewer than 50 rows per class"},
};

const ll_option *ll_calibrate_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

void ll_calibration_free(ll_calibration *c) {
    if (!c)
        return;
    lli_memory_free(c->parameters);
    lli_memory_free(c);
}

const ll_calibration_info *ll_calibration_view(const ll_calibration *c) {
    return c ? &c->info : NULL;
}

ll_array ll_calibration_parameters(const ll_calibration *c) {
    return c ? ll_array_view(c->parameters, LL_DTYPE_F64, 2, (int64_t[]){2, c->info.classes}) : (ll_array){.rank = -1};
}

static ll_status fit_more(ll_context *ctx, ll_calibration *c, const lli_evidence *e, lli_scaling_kind kind, double beta) {
    lli_scaling s;
    LLI_TRY(lli_scaling_fit(ctx, &s, c->parameters, c->parameters + e->K, e, kind, beta));
    c->info.nll = s.nll;
    if (!s.converged)
        lli_log(ctx, LL_LOG_WARNING, "the calibration is not fully converged: after %" PRId64 " iterations the gradient has norm %.2e",
                s.iterations, s.norm);
    return LL_OK;
}

ll_status lli_calibrate_fit(ll_calibration **out, ll_context *ctx, const lli_evidence *e, const ll_calibrate_options *given) {
    *out = NULL;
    ll_calibrate_options o = ll_calibrate_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_calibrate_options, &o, given, table, LLI_COUNT(table)));
    bool more = strcmp(o.kind, "temperature") != 0;
    if (more && !o.force && e->n < ROWS_PER_CLASS * e->K)
        return lli_fail(ctx, LL_ERR_DATA,
                        "`kind %s` needs %d rows per class, %" PRId64 " for %" PRId64 " classes, and there are %" PRId64
                        "; use `kind temperature`, more rows, or `force`",
                        o.kind, ROWS_PER_CLASS, ROWS_PER_CLASS * e->K, e->K, e->n);
    ll_calibration *c = NULL;
    lli_temperature t;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &c, 1, sizeof *c));
    LLI_DO(lli_memory_new(ctx, &c->parameters, 2 * e->K, sizeof(double)));
    LLI_DO(lli_temperature_fit(ctx, &t, e));
    c->info = (ll_calibration_info){
        .kind = more ? strcmp(o.kind, "bias") == 0 ? "bias" : "vector" : "temperature",
        .n = e->n,
        .classes = e->K,
        .temperature = 1 / t.beta,
        .temperature_error = t.error / t.beta / t.beta,
        .nll_before = t.nll_before,
        .nll = t.nll,
        .found = t.end == LLI_TEMPERATURE_FOUND || t.end == LLI_TEMPERATURE_EDGE,
    };
    for (int64_t k = 0; k < e->K; k++)
        c->parameters[k] = t.beta;
    if (!c->info.found)
        lli_log(ctx, LL_LOG_WARNING, "no temperature was found, and it stays 1: %s", lli_temperature_why(t.end));
    if (t.end == LLI_TEMPERATURE_EDGE)
        lli_log(ctx, LL_LOG_WARNING, "the temperature is at the edge of its range, %.3g: look at the scale of the outputs",
                c->info.temperature);
    if (more && c->info.found)
        LLI_DO(fit_more(ctx, c, e, strcmp(o.kind, "bias") == 0 ? LLI_SCALING_BIAS : LLI_SCALING_VECTOR, t.beta));
    *out = c;
    c = NULL;
done:
    ll_calibration_free(c);
    return status;
}

ll_status ll_calibration_text(char **out, ll_context *ctx, const ll_calibration *c, ll_text_form form) {
    LLI_NEED(ctx, out, c);
    *out = NULL;
    LLI_TRY(lli_need_form(ctx, form));
    const ll_calibration_info *i = &c->info;
    lli_text text;
    lli_text_init(&text, ctx);
    if (form == LL_TEXT_JSON) {
        const struct {
            const char *key;
            double value;
        } numbers[] = {
            {"temperature", i->temperature}, {"temperature_error", i->temperature_error}, {"nll_before", i->nll_before}, {"nll", i->nll}};
        lli_text_add(&text, "{\"kind\": \"%s\", \"found\": %s, \"n\": %" PRId64 ", \"classes\": %" PRId64, i->kind,
                     i->found ? "true" : "false", i->n, i->classes);
        for (size_t a = 0; a < LLI_COUNT(numbers); a++) {
            lli_text_add(&text, ", \"%s\": ", numbers[a].key);
            lli_text_json_number(&text, numbers[a].value);
        }
        for (int row = 0; row < 2; row++) {
            lli_text_add(&text, ", \"%s\": [", row ? "shift" : "scale");
            for (int64_t k = 0; k < i->classes; k++) {
                lli_text_add(&text, k ? ", " : "");
                lli_text_json_number(&text, c->parameters[row * i->classes + k]);
            }
            lli_text_add(&text, "]");
        }
        lli_text_add(&text, "}\n");
        return lli_text_take(&text, out);
    }
    lli_text_add(&text, "temperature  %.6g", i->temperature);
    if (i->found && !isnan(i->temperature_error))
        lli_text_add(&text, " +- %.2g", i->temperature_error);
    lli_text_add(&text, "%s\n",
                 !i->found                        ? ""
                 : strcmp(i->kind, "bias") == 0   ? ", and a shift for each class"
                 : strcmp(i->kind, "vector") == 0 ? ", from which a scale and a shift for each class were found"
                                                  : "");
    lli_text_add(&text, "NLL          %.6f before, %.6f after, on the same %" PRId64 " rows\n", i->nll_before, i->nll, i->n);
    return lli_text_take(&text, out);
}
