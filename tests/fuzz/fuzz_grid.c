/* SPDX-License-Identifier: MIT */
/* Any text as the lists of a search, one per line: method, samples, lr, batch size, epochs, dropout, shuffle. */
#include "fuzz.h"
#include "search/grid.h"

static ll_dataset *training_set(void) {
    static const float x[] = {0, 1, 1, 0, 1, 1, 0, 0};
    static const int32_t y[] = {0, 1, 0, 1};
    static ll_dataset *data;
    ll_array labels = ll_array_view(y, LL_DTYPE_I32, 1, (int64_t[]){4});
    if (!data && !fuzz_ok(ll_dataset_new(&data, fuzz_context(), ll_array_view(x, LL_DTYPE_F32, 2, (int64_t[]){4, 2}), &labels, 0)))
        abort();
    return data;
}

static void run(const uint8_t *bytes, size_t size) {
    char text[7][128];
    ll_search_options o = ll_search_options_default();
    ll_fit_options fit = ll_fit_options_default();
    const char **places[] = {&o.method, &o.samples, &o.lr, &o.batch_size, &o.epochs, &o.dropout, &fit.shuffle};
    for (size_t i = 0; i < LLI_COUNT(places) && fuzz_piece(text[i], sizeof text[i], &bytes, &size, '\n'); i++)
        if (text[i][0])
            *places[i] = text[i];
    lli_grid grid;
    int64_t B;
    (void)fuzz_ok(lli_grid_batch_size(&B, fuzz_context(), &o, &fit));
    if (!fuzz_ok(lli_grid_init(&grid, fuzz_context(), &o, &fit, training_set(), false)))
        return;
    for (int64_t r = 0; r < grid.count; r++) {
        fuzz_use_text(grid.runs[r].name);
        for (int64_t t = 1; t < grid.runs[r].trials; t++)
            if (grid.runs[r].samples[t - 1] > grid.runs[r].samples[t])
                abort();
    }
    lli_grid_release(&grid);
}

FUZZ_TARGET(run)
