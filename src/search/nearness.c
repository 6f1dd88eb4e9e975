/* SPDX-License-Identifier: MIT */
/* The ratio is a necessary sign: a wrong shape of the right width passes. */
#include "search/nearness.h"

#include <math.h>
#include <string.h>

#include "methods/method.h"
#include "methods/virial.h"

#define PRODUCTS 2e9   /* multiply-adds of a pass over the rows */
#define TOLERANCE 0.15 /* of a ratio that is near 1 */
#define PASSES 10      /* members that lli_virial_ratio looks at */

ll_status lli_nearness_add(ll_context *ctx, lli_nearness *n, const char *name, const ll_ensemble *e, const ll_dataset *data,
                           const lli_theta_star *star, double tau) {
    bool chain = strcmp(lli_method_find(e->plan.method)->info.group, LLI_GROUP_SAMPLERS) == 0 && e->plan.stored > 1;
    double d = (double)star->model->K * (double)(star->model->D + 1), ratio;
    if (!chain || star->network || !(tau > 0) || 2 * (double)data->rows.N * d > PRODUCTS)
        return LL_OK;
    LLI_TRY(lli_virial_ratio(ctx, &ratio, e, data, star, tau));
    n->rows++;
    if (fabs(ratio - 1) <= TOLERANCE + 3 * sqrt(2 / (d * PASSES)))
        lli_text_add(&n->names, "%s%s (%.3g)", n->names.length ? ", " : "", name, ratio);
    return n->names.status;
}

void lli_nearness_tell(ll_context *ctx, const lli_nearness *n) {
    if (n->names.length)
        lli_log(ctx, LL_LOG_NOTE,
                "samplers as wide as the posterior of the head: %s. In brackets the virial ratio, which is 1 for the posterior: a sign "
                "that draws must have, no proof",
                n->names.data);
    else if (n->rows)
        lli_log(ctx, LL_LOG_NOTE,
                "no sampler here is as wide as the posterior of the head; for that use `method hmc`, or `method sgld` with "
                "`precondition kfac`, `lr 0.02` and `batch-size 1024`");
}
