/* SPDX-License-Identifier: MIT */
/* Compares every method of the page with the first, where both are of the same points. */
#include "report/noise.h"

#include <string.h>

#include "base/memory.h"

static bool same_points(const ll_outcome *a, const ll_outcome *b) {
    return a->n > 0 && a->n == b->n && memcmp(a->truth, b->truth, (size_t)a->n * sizeof *a->truth) == 0;
}

ll_status lli_noise_init(lli_noise *noise, ll_context *ctx, const lli_page *page) {
    const ll_rules *rules = &page->methods[0].evaluation->rules;
    const lli_contrast_plan plan = {.by = LL_CONFIDENCE_SR, .level = rules->interval, .risk = rules->risk, .seed = rules->seed};
    lli_contrast_side *sides = NULL;
    ll_difference *differences = NULL;
    ll_status status;
    *noise = (lli_noise){0};
    LLI_DO(lli_memory_new(ctx, &noise->within, page->count, sizeof *noise->within));
    LLI_DO(lli_memory_new(ctx, &differences, page->count, LL_METRIC_COUNT * sizeof *differences));
    LLI_DO(lli_memory_new(ctx, &sides, page->count, sizeof *sides));
    for (int64_t m = 0; m < page->count; m++)
        if (same_points(&page->methods[0].points, &page->methods[m].points)) {
            sides[m].points = &page->methods[m].points;
            noise->tested += m > 0;
        }
    LLI_DO(lli_contrast_rows(differences, ctx, sides, page->count, &plan));
    for (int64_t m = 1; m < page->count; m++)
        for (int k = 0; k < LL_METRIC_COUNT; k++) {
            const char *word = differences[m * LL_METRIC_COUNT + k].word;
            noise->within[m][k] = word && strcmp(word, "within noise") == 0;
        }
done:
    lli_memory_free(differences);
    lli_memory_free(sides);
    return status;
}

void lli_noise_release(lli_noise *noise) {
    lli_memory_free(noise->within);
    *noise = (lli_noise){0};
}
