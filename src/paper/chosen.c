/* SPDX-License-Identifier: MIT */
/* Finds, reads and evaluates the predictions of a chosen trial. */
#include "paper/chosen.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/file.h"

static const char *meta_of(const ll_predictions *points, const char *key) {
    for (int64_t i = 0; i < ll_predictions_meta_count(points); i++)
        if (strcmp(ll_predictions_meta_key(points, i), key) == 0)
            return ll_predictions_meta_value(points, i);
    return "";
}

ll_status lli_chosen_read(lli_chosen *out, ll_context *ctx, const char *store, const char *protocol, const ll_trial *trial) {
    lli_text path;
    ll_status status;
    *out = (lli_chosen){0};
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/best/%s-%s.npz", store, protocol, trial->method);
    LLI_DO(path.status);
    if (!lli_file_exists(path.data))
        goto done;
    LLI_DO(ll_predictions_read(&out->points, ctx, path.data, NULL));
    if (strcmp(meta_of(out->points, "trial"), trial->name) != 0) { /* chosen by another rule */
        lli_chosen_release(out);
        goto done;
    }
    const ll_outcome *unknown = ll_predictions_view(ll_predictions_out(out->points));
    LLI_DO(ll_evaluate(&out->evaluation, ctx, ll_predictions_view(out->points), unknown, NULL));
done:
    lli_text_release(&path);
    if (status != LL_OK)
        lli_chosen_release(out);
    return status;
}

void lli_chosen_release(lli_chosen *chosen) {
    ll_predictions_free(chosen->points);
    ll_evaluation_free(chosen->evaluation);
    *chosen = (lli_chosen){0};
}

ll_interval lli_chosen_interval(const lli_chosen *chosen, const char *metric) {
    const ll_interval none = {NAN, NAN};
    if (!chosen->evaluation)
        return none;
    const ll_intervals *found = &chosen->evaluation->intervals;
    const struct {
        const char *metric;
        ll_interval interval;
    } rows[] = {{"accuracy", found->accuracy},
                {"nll", found->nll},
                {"aurc_sr", found->aurc[LL_CONFIDENCE_SR]},
                {"aurc_std", found->aurc[LL_CONFIDENCE_STD]},
                {"auroc_sr", found->ood_auroc[LL_CONFIDENCE_SR]},
                {"auroc_std", found->ood_auroc[LL_CONFIDENCE_STD]},
                {"auroc_hq", found->ood_auroc[LL_CONFIDENCE_HQ]}};
    for (size_t i = 0; i < LLI_COUNT(rows); i++)
        if (strcmp(rows[i].metric, metric) == 0)
            return rows[i].interval;
    return none;
}
