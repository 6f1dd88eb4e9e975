/* SPDX-License-Identifier: MIT */
/* PATH.partial: where everything lies, how it begins and ends. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "formats/format.h"
#include "formats/safetensors.h"
#include "store/partial_work.h"
#include "store/parts.h"

enum { TASKS_MAX = 64 }; /* more tasks keep no checkpoints: their members are the progress */

ll_status lli_partial_refuse(ll_context *ctx, const char *path) {
    return lli_fail(ctx, LL_ERR_USAGE,
                    "%s.partial was begun with other options, other data or another version, so it cannot be continued; use the same ones, "
                    "or delete it to start over",
                    path);
}

ll_status lli_partial_open(lli_partial **out, ll_context *ctx, const char *path, lli_outfile_mode mode) {
    *out = NULL;
    lli_partial *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    p->store.ops = &lli_partial_ops;
    ll_status status;
    LLI_DO(lli_memory_text(ctx, &p->path, path));
    LLI_DO(lli_outfile_open(&p->file, &p->found, ctx, path, ".partial", mode));
    *out = p;
    p = NULL;
done:
    if (p)
        lli_partial_abandon(ctx, p, status);
    return status;
}

lli_store *lli_partial_store(lli_partial *p) {
    return &p->store;
}

/* A run that was killed before its header was there has not begun: the file is a fresh one. */
static ll_status check_begun(ll_context *ctx, lli_partial *p) {
    uint64_t length = 0;
    int64_t have;
    LLI_TRY(lli_outfile_size(&have, ctx, p->file));
    if (have >= (int64_t)sizeof length)
        LLI_TRY(lli_outfile_read_at(ctx, p->file, 0, &length, sizeof length));
    p->found = length > 0;
    return LL_OK;
}

/* The interrupted run must have begun with the very same header: same options, data, version. */
static ll_status check_same_run(ll_context *ctx, lli_partial *p, const lli_text *header, int64_t size) {
    char *old = NULL;
    int64_t have;
    LLI_TRY(lli_outfile_size(&have, ctx, p->file));
    p->complete = have == p->end; /* only finishing cuts the journal off */
    bool same = have >= size || p->complete;
    if (same) {
        LLI_TRY(lli_memory_new(ctx, &old, header->length, 1));
        ll_status status = lli_outfile_read_at(ctx, p->file, 0, old, (size_t)header->length);
        same = status == LL_OK && memcmp(old, header->data, (size_t)header->length) == 0;
        lli_memory_free(old);
        LLI_TRY(status);
    }
    if (same)
        return LL_OK;
    return lli_partial_refuse(ctx, p->path);
}

/* Which members of the interrupted run are complete? */
static ll_status find_done(ll_context *ctx, lli_partial *p) {
    static const lli_fingerprint not_written;
    lli_fingerprint *records;
    LLI_TRY(lli_memory_new(ctx, &records, p->stored, sizeof *records));
    ll_status status = lli_outfile_read_at(ctx, p->file, p->offsets[p->tensors], records, (size_t)p->stored * sizeof *records);
    for (int64_t member = 0; status == LL_OK && member < p->stored; member++)
        if (memcmp(&records[member], &not_written, sizeof not_written) != 0)
            status = lli_partial_work_check(ctx, p, member, &records[member], &p->member_done[member]);
    lli_memory_free(records);
    return status;
}

/* Where everything lies; *size of the file while it is under construction. */
static ll_status lay_out(ll_context *ctx, lli_partial *p, lli_text *header, int64_t *size, const lli_ensemble_plan *plan, int64_t floats,
                         int64_t tasks) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    int64_t count = lli_ensemble_arrays(arrays, plan);
    p->tensors = plan->model->tensors;
    for (int i = 0; i < p->tensors; i++)
        p->bytes[i] = (size_t)plan->model->tensor[i].count * sizeof(float);
    p->bytes[p->tensors] = sizeof(lli_fingerprint);
    p->stored = plan->stored;
    p->floats = floats;
    p->tasks = tasks <= TASKS_MAX ? tasks : 0;
    LLI_TRY(lli_safetensors_header(header, p->offsets, &p->end, ctx, arrays, count, plan->provenance.pairs, plan->provenance.count));
    p->slots = (p->end + 63) / 64 * 64;
    *size = p->slots + 2 * p->tasks * lli_partial_work_slot_bytes(p);
    LLI_TRY(lli_memory_new(ctx, &p->journals, p->tasks, sizeof *p->journals));
    for (int64_t i = 0; i < p->tasks; i++)
        p->journals[i].time = lli_clock_seconds();
    return lli_memory_new(ctx, &p->member_done, p->stored, sizeof *p->member_done);
}

/* The arrays that are not by member: what the plan knows already. */
static ll_status write_known(ll_context *ctx, lli_partial *p, const lli_ensemble_plan *plan) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    int64_t count = lli_ensemble_arrays(arrays, plan);
    for (int64_t i = lli_ensemble_by_member(plan); i < count; i++)
        LLI_TRY(lli_outfile_write_at(ctx, p->file, p->offsets[i], arrays[i].array.data,
                                     (size_t)lli_array_count(&arrays[i].array) * ll_dtype_size(arrays[i].array.dtype)));
    return LL_OK;
}

ll_status lli_partial_begin(ll_context *ctx, lli_partial *p, const lli_ensemble_plan *plan, int64_t floats, int64_t tasks) {
    lli_text header;
    int64_t size = 0;
    lli_text_init(&header, ctx);
    ll_status status;
    LLI_DO(lay_out(ctx, p, &header, &size, plan, floats, tasks));
    if (p->found)
        LLI_DO(check_begun(ctx, p));
    if (p->found) {
        LLI_DO(check_same_run(ctx, p, &header, size));
        if (p->complete)
            goto done;
        LLI_DO(find_done(ctx, p));
        /* These have no record of their own: known from the options, they are put down again. */
        LLI_DO(write_known(ctx, p, plan));
        goto done;
    }
    /* The size first, the header's length last: a file that starts with it has all its room. */
    LLI_DO(lli_outfile_truncate(ctx, p->file, size));
    LLI_DO(write_known(ctx, p, plan));
    LLI_DO(lli_outfile_write_at(ctx, p->file, 8, header.data + 8, (size_t)header.length - 8));
    LLI_DO(lli_outfile_write_at(ctx, p->file, 0, header.data, 8));
done:
    lli_text_release(&header);
    return status;
}

bool lli_partial_complete(const lli_partial *p) {
    return p->complete;
}

static void release(lli_partial *p) {
    lli_memory_free(p->path);
    lli_memory_free(p->member_done);
    lli_memory_free(p->journals);
    lli_memory_free(p);
}

ll_status lli_partial_commit(ll_context *ctx, lli_partial *p) {
    lli_outfile_keep(p->file, true);
    ll_status status = lli_outfile_truncate(ctx, p->file, p->end);
    if (status == LL_OK)
        status = lli_outfile_commit(ctx, p->file);
    else
        lli_outfile_abandon(p->file);
    release(p);
    return status;
}

/* Rows of the sink: the members that are done, then what the plan knows, then which members these are. */
static ll_status copy_part(ll_context *ctx, lli_partial *p, lli_sink *sink, const ll_named_array *arrays, int64_t count,
                           const int64_t *members, int64_t n) {
    char *tensor = NULL;
    ll_status status = LL_OK;
    for (int i = 0; i <= p->tensors; i++) {
        LLI_DO(lli_memory_new(ctx, &tensor, (int64_t)p->bytes[i], 1));
        for (int64_t j = 0; j < n; j++) {
            LLI_DO(lli_outfile_read_at(ctx, p->file, lli_partial_work_offset(p, i, members[j]), tensor, p->bytes[i]));
            LLI_DO(lli_sink_write(sink, ctx, i, j, 1, tensor));
        }
        lli_memory_free(tensor);
        tensor = NULL;
    }
    for (int64_t i = p->tensors + 1; i < count; i++)
        LLI_DO(lli_sink_write(sink, ctx, i, 0, arrays[i].array.shape[0], arrays[i].array.data));
done:
    lli_memory_free(tensor);
    return status;
}

static ll_status write_part(ll_context *ctx, lli_partial *p, const lli_ensemble_plan *plan, const lli_share *part) {
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX + 1];
    int64_t *members = NULL, n = 0, count = lli_ensemble_arrays(arrays, plan);
    lli_provenance meta = {0};
    lli_sink *sink = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &members, p->stored, sizeof *members));
    LLI_DO(find_done(ctx, p));
    for (int64_t i = 0; i < p->stored; i++)
        if (p->member_done[i])
            members[n++] = i;
    for (int i = 0; i < lli_ensemble_by_member(plan); i++)
        arrays[i].array.shape[0] = n;
    arrays[count++] = (ll_named_array){LLI_PARTS_MEMBERS, ll_array_view(members, LL_DTYPE_I64, 1, &n)};
    LLI_DO(lli_parts_describe(ctx, &meta, &plan->provenance, part, LLI_PARTS_ENSEMBLE));
    LLI_DO(lli_provenance_add_number(ctx, &meta, LLI_PARTS_TOTAL, (double)p->stored));
    LLI_DO(lli_provenance_add_number(ctx, &meta, LLI_PARTS_TENSORS, lli_ensemble_by_member(plan)));
    LLI_DO(lli_file_sink_open(&sink, ctx, p->path, arrays, count, meta.pairs, meta.count));
    LLI_DO(copy_part(ctx, p, sink, arrays, count, members, n));
    lli_sink *complete = sink;
    sink = NULL;
    LLI_DO(lli_sink_commit(complete, ctx));
done:
    lli_sink_abandon(sink);
    lli_provenance_release(&meta);
    lli_memory_free(members);
    return status;
}

ll_status lli_partial_commit_part(ll_context *ctx, lli_partial *p, const lli_ensemble_plan *plan, const lli_share *part) {
    ll_status status = write_part(ctx, p, plan, part);
    lli_outfile_keep(p->file, status != LL_OK);
    lli_outfile_abandon(p->file);
    release(p);
    return status;
}

static bool holds_number(ll_context *ctx, lli_partial *p, int64_t at) {
    uint64_t number = 0;
    return lli_outfile_read_at(ctx, p->file, at, &number, sizeof number) == LL_OK && number;
}

/* Is there anything in the file that a resume could use? Other ranks write into it as well. */
static bool reached(ll_context *ctx, lli_partial *p) {
    for (int64_t i = 0; p->slots && i < p->stored; i++)
        if (holds_number(ctx, p, lli_partial_work_offset(p, p->tensors, i)))
            return true;
    for (int64_t i = 0; p->journals && i < 2 * p->tasks; i++)
        if (holds_number(ctx, p, p->slots + i * lli_partial_work_slot_bytes(p)))
            return true;
    return false;
}

void lli_partial_abandon(ll_context *ctx, lli_partial *p, ll_status why) {
    if (p->file) {
        ll_context quiet; /* the sentence of the failure that led here stays */
        lli_context_child(&quiet, ctx);
        lli_outfile_keep(p->file, why != LL_ERR_DIVERGED && (p->found || reached(&quiet, p)));
        lli_outfile_abandon(p->file);
    }
    release(p);
}
