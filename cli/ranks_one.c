/* SPDX-License-Identifier: MIT */
/* A command that one process runs. */
#include "ranks.h"

const ll_option ranks_table[1];
const size_t ranks_count = 0;

ll_status ranks_start(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return LL_OK;
}

bool ranks_first(void) {
    return true;
}

int ranks_threads(void) {
    return 0;
}

ll_status ranks_join(ll_context *ctx, bool together, double deadline) {
    (void)ctx, (void)together, (void)deadline;
    return LL_OK;
}

ll_status ranks_leave(ll_context *ctx, ll_status status) {
    (void)ctx;
    return status;
}

void ranks_end(void) {
}
