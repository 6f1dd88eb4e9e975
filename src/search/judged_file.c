/* SPDX-License-Identifier: MIT */
/* The predictions behind a row of a comparison as a file: of the rows that report, with what was recommended. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page.h"
#include "search/judge.h"

enum { MORE = 5 }; /* entries beside the provenance */

/* place[i]: number of row i of the test set in the file, -1 where it chose. */
static void find_places(int64_t *place, const lli_judge *j) {
    for (int64_t i = 0; i < j->test->rows.N; i++)
        place[i] = -1;
    for (int64_t i = j->choosing; i < j->test->rows.N; i++)
        place[j->halves[i]] = i - j->choosing;
}

/* The answers of members for those of the wanted rows that report, under their new numbers. */
static ll_status pick_members(ll_context *ctx, ll_predictions *to, const ll_predictions *all, const int64_t *place) {
    ll_array rows = ll_predictions_array(all, "member_row");
    const int64_t *row = rows.data;
    void *new_row, *pmax, *label;
    for (int64_t r = 0; rows.rank == 1 && r < rows.shape[0]; r++)
        to->sizes.R += place[row[r]] >= 0;
    if (rows.rank == 1 && to->sizes.R < rows.shape[0])
        lli_log(ctx, LL_LOG_NOTE, "%" PRId64 " of the %" PRId64 " rows of `members` report and are kept; the others chose", to->sizes.R,
                rows.shape[0]);
    if (!to->sizes.R)
        return LL_OK;
    LLI_TRY(lli_predictions_own(&new_row, ctx, to, "member_row"));
    LLI_TRY(lli_predictions_own(&pmax, ctx, to, "member_pmax"));
    LLI_TRY(lli_predictions_own(&label, ctx, to, "member_label"));
    const char *from_pmax = ll_predictions_array(all, "member_pmax").data, *from_label = ll_predictions_array(all, "member_label").data;
    size_t p = (size_t)to->sizes.S * sizeof(float), l = (size_t)to->sizes.S * sizeof(int32_t), at = 0;
    for (int64_t r = 0; r < rows.shape[0]; r++)
        if (place[row[r]] >= 0) {
            ((int64_t *)new_row)[at] = place[row[r]];
            memcpy((char *)pmax + at * p, from_pmax + (size_t)r * p, p);
            memcpy((char *)label + at * l, from_label + (size_t)r * l, l);
            at++;
        }
    return LL_OK;
}

/* The half that reports. `running`, which is over all rows, is left out. */
static ll_status pick_half(ll_predictions **out, ll_context *ctx, const lli_judge *j, ll_predictions *all) {
    int64_t n = j->test->rows.N - j->choosing, *place = NULL;
    void *row;
    ll_status status;
    LLI_DO(lli_predictions_pick(out, ctx, all, j->halves + j->choosing, n));
    LLI_DO(lli_predictions_own(&row, ctx, *out, "row"));
    memcpy(row, j->halves + j->choosing, (size_t)n * sizeof(int64_t));
    LLI_DO(lli_memory_new(ctx, &place, j->test->rows.N, sizeof *place));
    find_places(place, j);
    LLI_DO(pick_members(ctx, *out, all, place));
    (*out)->out = all->out;
    all->out = NULL;
done:
    lli_memory_free(place);
    return status;
}

/* `points` with the provenance of `all`, and beside it the row's group and bytes, and what the comparison recommends. */
static ll_status write_file(ll_context *ctx, const lli_judge *j, const ll_compare_row *row, const char *path, const ll_predictions *points,
                            const ll_predictions *all) {
    int64_t count = ll_predictions_meta_count(all);
    bool recommends = j->out->recommendation.row >= 0;
    lli_schema_list *list = NULL;
    ll_meta *meta = NULL;
    lli_text name, why, bytes;
    ll_status status;
    lli_text_init(&name, ctx);
    lli_text_init(&why, ctx);
    lli_text_init(&bytes, ctx);
    lli_text_add(&bytes, "%" PRId64, row->bytes);
    LLI_DO(bytes.status);
    LLI_DO(lli_memory_new(ctx, &list, 1, sizeof *list));
    LLI_DO(lli_memory_new(ctx, &meta, count + MORE, sizeof *meta));
    for (int64_t i = 0; i < count; i++)
        meta[i] = (ll_meta){ll_predictions_meta_key(all, i), ll_predictions_meta_value(all, i)};
    if (recommends) {
        lli_comparison_text_name(&name, &j->out->rows[j->out->recommendation.row]);
        lli_comparison_text_because(&why, j->out);
        LLI_DO(name.status);
        LLI_DO(why.status);
        meta[count++] = (ll_meta){LLI_RECOMMENDED_KEY, name.data};
        meta[count++] = (ll_meta){LLI_RECOMMENDATION_KEY, why.data};
    }
    meta[count++] = (ll_meta){LLI_GROUP_KEY, row->group};
    meta[count++] = (ll_meta){LLI_BYTES_KEY, bytes.data};
    meta[count++] = (ll_meta){"chosen_on", lli_comparison_text_from(j->out->from)};
    lli_predictions_list(list, points, "", false);
    if (points->out)
        lli_predictions_list(list, points->out, LLI_SCHEMA_OUT, true);
    LLI_DO(ll_bundle_write(ctx, path, list->arrays, list->count, meta, count));
done:
    lli_text_release(&name);
    lli_text_release(&why);
    lli_text_release(&bytes);
    lli_memory_free(list);
    lli_memory_free(meta);
    return status;
}

ll_status lli_judge_write(ll_context *ctx, const lli_judge *j, int64_t row, ll_ensemble *ensemble) {
    const ll_compare_options *o = &j->options;
    ll_predict_options options = ll_predict_options_default();
    ll_predictions *all = NULL, *half = NULL;
    lli_text path;
    ll_status status;
    options.members = o->members;
    options.out = o->out;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/", o->predictions);
    lli_comparison_text_name(&path, &j->out->rows[row]);
    lli_text_add(&path, ".npz");
    LLI_DO(path.status);
    LLI_DO(ll_ensemble_set_calibration(ctx, ensemble, j->calibrations[row]));
    LLI_DO(ll_predict(&all, ctx, ensemble, j->test, &options));
    if (j->halves)
        LLI_DO(pick_half(&half, ctx, j, all));
    LLI_DO(write_file(ctx, j, &j->out->rows[row], path.data, half ? half : all, all));
done:
    lli_text_release(&path);
    ll_predictions_free(half);
    ll_predictions_free(all);
    return status;
}
