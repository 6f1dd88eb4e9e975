/* SPDX-License-Identifier: MIT */
/* The draws of predict/member_draws.h, judged by metrics/diagnosis.h. */
#include "pipeline/diagnose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "metrics/diagnosis.h"
#include "predict/member_draws.h"

enum { CANDIDATES = 2000, ROWS = 200 };

/* Chains are recorded where there are several. */
static int64_t chains_of(const ll_ensemble *e) {
    const char *text = lli_provenance_get(&e->plan.provenance, "chains");
    int64_t chains = text ? strtoll(text, NULL, 10) : 1;
    return chains >= 1 && chains <= e->plan.S && e->plan.S % chains == 0 ? chains : 1;
}

lli_diagnose_can lli_diagnose_check(const ll_ensemble *e) {
    if (!ll_method_uses(e->plan.method, "chains") || e->plan.stored != e->plan.S)
        return LLI_DIAGNOSE_NO_CHAINS;
    return e->plan.S / chains_of(e) < LLI_MIXING_DRAWS_MIN ? LLI_DIAGNOSE_SHORT : LLI_DIAGNOSE_YES;
}

/* What helps depends on what the chains are: steps, which may be more or larger, or draws that hardly follow each other. */
static void warn(ll_context *ctx, const ll_diagnosis_info *i) {
    bool steps = ll_method_uses(i->method, "thin");
    if (i->apart && steps)
        lli_log(ctx, LL_LOG_WARNING,
                "the %" PRId64 " chains of %s have not met: R-hat is above %.4g on %" PRId64 " of %" PRId64
                " rows; use a larger `thin` or `burn-in`, or on a head `method hmc`",
                i->chains, i->method, i->rhat_limit, i->above, i->rows);
    else if (i->apart)
        lli_log(ctx, LL_LOG_WARNING,
                "the %" PRId64 " chains of %s have not met: R-hat is above %.4g on %" PRId64 " of %" PRId64 " rows; give more `samples`",
                i->chains, i->method, i->rhat_limit, i->above, i->rows);
    if (i->repeating && steps)
        lli_log(ctx, LL_LOG_WARNING,
                "the %" PRId64
                " members of %s are worth about %.3g independent ones: they follow each other closely; use a larger `thin` or "
                "`lr`, or on a head `method hmc`",
                i->members, i->method, i->bulk_median);
    else if (i->repeating)
        lli_log(ctx, LL_LOG_WARNING,
                "the %" PRId64 " members of %s are worth about %.3g independent ones: they follow each other closely; give more `samples`",
                i->members, i->method, i->bulk_median);
}

ll_status lli_diagnose(ll_diagnosis **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data, int64_t candidates) {
    lli_member_draws draws;
    *out = NULL;
    LLI_TRY(lli_member_draws_init(&draws, ctx, ensemble, data, candidates, ROWS));
    LLI_TRY(lli_diagnosis_new(out, ctx, ensemble->plan.method, chains_of(ensemble), draws.S, draws.R, draws.among, draws.row, draws.p));
    warn(ctx, &(*out)->info);
    return LL_OK;
}

ll_status ll_diagnose(ll_diagnosis **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data) {
    LLI_NEED(ctx, out, ensemble, data);
    *out = NULL;
    lli_diagnose_can can = lli_diagnose_check(ensemble);
    if (can == LLI_DIAGNOSE_NO_CHAINS)
        return lli_fail(
            ctx, LL_ERR_USAGE,
            "the members of %s do not follow each other, so there is no chain to diagnose; give an ensemble of sgd, sgld, hmc or "
            "another sampler",
            ensemble->plan.method);
    if (can == LLI_DIAGNOSE_SHORT)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "a chain needs at least %d members to be diagnosed, and this ensemble has %" PRId64 " in %" PRId64
                        " chain%s; fit with more `samples`",
                        LLI_MIXING_DRAWS_MIN, ensemble->plan.S, chains_of(ensemble), chains_of(ensemble) == 1 ? "" : "s");
    return lli_diagnose(out, ctx, ensemble, data, CANDIDATES);
}

ll_status ll_ensemble_set_diagnosis(ll_context *ctx, ll_ensemble *ensemble, const ll_diagnosis *diagnosis) {
    LLI_NEED(ctx, ensemble, diagnosis);
    const ll_diagnosis_info *i = &diagnosis->info;
    if (strcmp(i->method, ensemble->plan.method) != 0 || i->members != ensemble->plan.S || i->chains != chains_of(ensemble))
        return lli_fail(ctx, LL_ERR_DATA,
                        "the diagnosis is of %" PRId64 " members of %.40s in %" PRId64 " chains, and the ensemble has %" PRId64
                        " of %.40s in %" PRId64 "; give the ensemble that was diagnosed",
                        i->members, i->method, i->chains, ensemble->plan.S, ensemble->plan.method, chains_of(ensemble));
    char *json = NULL;
    ll_status status;
    LLI_DO(ll_diagnosis_text(&json, ctx, diagnosis, LL_TEXT_JSON));
    LLI_DO(lli_provenance_set(ctx, &ensemble->plan.provenance, LLI_DIAGNOSIS_JSON, json));
done:
    ll_text_free(json);
    return status;
}

const char *ll_ensemble_diagnosis(const ll_ensemble *ensemble) {
    return ensemble ? lli_provenance_get(&ensemble->plan.provenance, LLI_DIAGNOSIS_JSON) : NULL;
}
