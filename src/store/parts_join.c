/* SPDX-License-Identifier: MIT */
/* Ensembles and predictions out of their parts: the bytes of the run that was not divided. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/format.h"
#include "store/parts.h"

/* The provenance of the whole: all entries but those of parts. */
static ll_status whole_meta(lli_provenance *out, ll_context *ctx, const ll_bundle *part) {
    for (int64_t i = 0; i < part->meta_count; i++)
        if (strncmp(part->meta[i].key, LLI_PARTS_PREFIX, strlen(LLI_PARTS_PREFIX)) != 0)
            LLI_TRY(lli_provenance_add(ctx, out, part->meta[i].key, part->meta[i].value));
    return LL_OK;
}

static ll_status commit(ll_context *ctx, lli_sink **sink) {
    lli_sink *complete = *sink;
    *sink = NULL;
    return lli_sink_commit(complete, ctx);
}

static ll_status fail_damaged(ll_context *ctx, const ll_bundle *part) {
    return lli_fail(ctx, LL_ERR_FORMAT, "%s is damaged: its arrays are not those of a part; make it again", ll_bundle_path(part));
}

/* ---- an ensemble ---- */

/* Puts the members of a part into their places; `seen` [total]. */
static ll_status put_members(ll_context *ctx, lli_sink *sink, const ll_bundle *part, int64_t tensors, int64_t total, bool *seen) {
    const lli_bundle_item *which = &part->items[part->count - 1];
    const int64_t *members = which->data;
    int64_t n = which->shape[0];
    for (int64_t j = 0; j < n; j++) {
        if (members[j] < 0 || members[j] >= total || seen[members[j]])
            return fail_damaged(ctx, part);
        seen[members[j]] = true;
    }
    for (int64_t i = 0; i < tensors; i++) {
        const lli_bundle_item *item = &part->items[i];
        int64_t bytes = sink->arrays[i].row_bytes;
        if (item->shape[0] != n)
            return fail_damaged(ctx, part);
        for (int64_t j = 0; j < n; j++)
            LLI_TRY(lli_sink_write(sink, ctx, i, members[j], 1, (const char *)item->data + j * bytes));
    }
    return LL_OK;
}

/* The arrays behind the tensors are the same in every part. */
static ll_status put_known(ll_context *ctx, lli_sink *sink, ll_bundle *const *parts, int64_t count, int64_t tensors) {
    for (int64_t i = tensors; i < sink->count; i++) {
        const lli_bundle_item *item = &parts[0]->items[i];
        size_t bytes = (size_t)(item->shape[0] * sink->arrays[i].row_bytes);
        for (int64_t p = 1; p < count; p++)
            if (parts[p]->items[i].shape[0] != item->shape[0] || memcmp(parts[p]->items[i].data, item->data, bytes) != 0)
                return fail_damaged(ctx, parts[p]);
        LLI_TRY(lli_sink_write(sink, ctx, i, 0, item->shape[0], item->data));
    }
    return LL_OK;
}

ll_status lli_parts_join_ensemble(ll_context *ctx, const char *path, ll_bundle *const *parts, int64_t count) {
    const ll_bundle *first = parts[0];
    int64_t total = lli_parts_number(first, LLI_PARTS_TOTAL), tensors = lli_parts_number(first, LLI_PARTS_TENSORS);
    int64_t arrays = first->count - 1;
    ll_named_array specs[LLI_ENSEMBLE_ARRAYS_MAX];
    lli_provenance meta = {0};
    lli_sink *sink = NULL;
    bool *seen = NULL;
    ll_status status;
    if (total < 1 || tensors < 1 || tensors > arrays || arrays > LLI_ENSEMBLE_ARRAYS_MAX ||
        strcmp(first->items[arrays].name, LLI_PARTS_MEMBERS) != 0 || first->items[arrays].dtype != LL_DTYPE_I64)
        return fail_damaged(ctx, first);
    LLI_DO(lli_memory_new(ctx, &seen, total, sizeof *seen));
    for (int64_t i = 0; i < arrays; i++) {
        specs[i] = (ll_named_array){first->items[i].name, ll_bundle_array(first, i)};
        if (i < tensors)
            specs[i].array.shape[0] = total;
    }
    LLI_DO(whole_meta(&meta, ctx, first));
    LLI_DO(lli_file_sink_open(&sink, ctx, path, specs, arrays, meta.pairs, meta.count));
    for (int64_t p = 0; p < count; p++)
        LLI_DO(put_members(ctx, sink, parts[p], tensors, total, seen));
    for (int64_t i = 0; i < total; i++)
        if (!seen[i])
            LLI_DO(lli_fail(ctx, LL_ERR_DATA, "%s: member %" PRId64 " of %" PRId64 " is in none of the %" PRId64 " parts", path, i, total,
                            count));
    LLI_DO(put_known(ctx, sink, parts, count, tensors));
    LLI_DO(commit(ctx, &sink));
done:
    lli_sink_abandon(sink);
    lli_provenance_release(&meta);
    lli_memory_free(seen);
    return status;
}

/* ---- predictions ---- */

/* In a part the sums over rows, `running`, are one for each tile: [tiles,S,3]. */
static bool is_tiles(const lli_bundle_item *item) {
    return item->rank == 3 && item->dtype == LL_DTYPE_F64;
}

/* Adds the tiles in their order, as the run that was not divided does. */
static ll_status put_running(ll_context *ctx, lli_sink *sink, int64_t array, ll_bundle *const *parts, int64_t count, int64_t rows) {
    const lli_bundle_item *first = &parts[0]->items[array];
    int64_t S = first->shape[1], width = S * first->shape[2];
    double *running;
    LLI_TRY(lli_memory_new(ctx, &running, width, sizeof *running));
    for (int64_t p = 0; p < count; p++) {
        const lli_bundle_item *item = &parts[p]->items[array];
        for (int64_t tile = 0; tile < item->shape[0]; tile++)
            for (int64_t i = 0; i < width; i++)
                running[i] += ((const double *)item->data)[tile * width + i];
    }
    for (int64_t i = 0; i < width; i++)
        running[i] /= (double)rows;
    ll_status status = lli_sink_write(sink, ctx, array, 0, S, running);
    lli_memory_free(running);
    return status;
}

/* Rows of one part behind those of the parts before it: all arrays side by side, block by block, as a table wants them. */
static ll_status put_rows(ll_context *ctx, lli_sink *sink, const ll_bundle *part) {
    enum { BLOCK = 4096 };
    int64_t most = 0;
    for (int64_t i = 0; i < part->count; i++)
        most = LLI_MAX(most, is_tiles(&part->items[i]) ? 0 : part->items[i].shape[0]);
    for (int64_t row = 0; row < most; row += BLOCK)
        for (int64_t i = 0; i < part->count; i++) {
            const lli_bundle_item *item = &part->items[i];
            int64_t n = LLI_MIN((int64_t)BLOCK, item->shape[0] - row);
            if (is_tiles(item) || n <= 0)
                continue;
            LLI_TRY(lli_cancel_check(ctx));
            LLI_TRY(lli_sink_write(sink, ctx, i, sink->arrays[i].done, n, (const char *)item->data + row * sink->arrays[i].row_bytes));
        }
    return LL_OK;
}

static void lay_out(ll_named_array *specs, ll_bundle *const *parts, int64_t count) {
    const ll_bundle *first = parts[0];
    for (int64_t i = 0; i < first->count; i++) {
        specs[i] = (ll_named_array){first->items[i].name, ll_bundle_array(first, i)};
        ll_array *array = &specs[i].array;
        if (is_tiles(&first->items[i])) {
            *array = ll_array_view(NULL, LL_DTYPE_F64, 2, array->shape + 1);
            continue;
        }
        for (int64_t p = 1; p < count; p++)
            array->shape[0] += parts[p]->items[i].shape[0];
    }
}

ll_status lli_parts_join_predictions(ll_context *ctx, const char *path, ll_bundle *const *parts, int64_t count) {
    const ll_bundle *first = parts[0];
    int64_t rows = lli_parts_number(first, LLI_PARTS_TOTAL);
    ll_named_array *specs = NULL;
    lli_provenance meta = {0};
    lli_sink *sink = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &specs, first->count, sizeof *specs));
    lay_out(specs, parts, count);
    if (rows < 1 || first->count < 1 || specs[0].array.shape[0] != rows)
        LLI_DO(fail_damaged(ctx, first));
    LLI_DO(whole_meta(&meta, ctx, first));
    LLI_DO(lli_file_sink_open(&sink, ctx, path, specs, first->count, meta.pairs, meta.count));
    for (int64_t p = 0; p < count; p++)
        LLI_DO(put_rows(ctx, sink, parts[p]));
    for (int64_t i = 0; i < first->count; i++)
        if (is_tiles(&first->items[i]))
            LLI_DO(put_running(ctx, sink, i, parts, count, rows));
    LLI_DO(commit(ctx, &sink));
done:
    lli_sink_abandon(sink);
    lli_provenance_release(&meta);
    lli_memory_free(specs);
    return status;
}
