/* SPDX-License-Identifier: MIT */
/* A command that the processes of mpirun run together. Rank 0 speaks; the others say nothing, unless rank 0 is lost. */
#include <stdio.h>

#include "lastlayer-cluster.h"
#include "ranks.h"
#include "term.h"

static ll_cluster *cluster;

/* clang-format off */
const ll_option ranks_table[] = {
    {.name = "deadline", .type = LL_OPTION_REAL, .offset = offsetof(ranks_args, deadline), .arg = "SECONDS", .min = 1, .max = 1e6,
     .standard = "60", .help = "end the job when a rank has said nothing for so long: it died, or the network to it did"},
};
/* clang-format on */
const size_t ranks_count = COUNT(ranks_table);

ll_status ranks_start(int *argc, char ***argv) {
    char why[256];
    cluster = ll_cluster_start(why, sizeof why, argc, argv);
    if (!cluster)
        return complain(LL_ERR_INTERNAL, "%s", why);
    if (!ranks_first()) {
        term_silence();
        if (!freopen("/dev/null", "w", stdout))
            return complain(LL_ERR_WRITE, "/dev/null cannot be opened");
    }
    return LL_OK;
}

bool ranks_first(void) {
    return !cluster || ll_cluster_rank(cluster) == 0;
}

int ranks_threads(void) {
    return ll_cluster_threads(cluster);
}

ll_status ranks_join(ll_context *ctx, bool together, double deadline) {
    ll_cluster_deadline(cluster, deadline);
    return together ? ll_cluster_join(cluster, ctx) : LL_OK;
}

ll_status ranks_leave(ll_context *ctx, ll_status status) {
    return ll_cluster_leave(cluster, ctx, status);
}

void ranks_end(void) {
    if (cluster)
        ll_cluster_end(cluster);
}
