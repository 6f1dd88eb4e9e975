/* SPDX-License-Identifier: MIT */
/* From files to the page: reads predictions, names and images, evaluates, and writes what the report room makes of them. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/file.h"
#include "metrics/evaluate.h"
#include "pipeline/class_names.h"
#include "pipeline/report_inputs.h"
#include "predict/predictions.h"
#include "report/page.h"

void ll_report_options_init(ll_report_options *options, size_t struct_size) {
    const ll_report_options defaults = {.title = "How sure is it?"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_report_options, member)

static const ll_option table[] = {
    {.name = "labels",
     .type = LL_OPTION_TEXT,
     .offset = AT(labels),
     .arg = "FILE",
     .help = "true labels [N]; may be left out when the predictions hold them"},
    {.name = "title",
     .type = LL_OPTION_TEXT,
     .offset = AT(title),
     .arg = "TEXT",
     .standard = "How sure is it?",
     .help = "what stands above the page"},
    {.name = "class-names",
     .type = LL_OPTION_TEXT,
     .offset = AT(class_names),
     .arg = "FILE",
     .help = "a text file with the name of one class per line"},
    {.name = "images",
     .type = LL_OPTION_TEXT,
     .offset = AT(images),
     .arg = "FILE",
     .help = "the pictures of the points, u8 [N,H,W] or [N,H,W,3]: FILE or FILE:NAME; small copies go into the page"},
};

const ll_option *ll_report_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

/* One input with all it needs while the page is made. */
typedef struct entry {
    ll_predictions *points, *out_points;
    ll_evaluation *evaluation;
    ll_bundle *ensemble; /* instead of points: only its provenance is shown */
    ll_meta *meta;
    int64_t meta_count;
    char *name;
    double *running;
    int64_t *member_row;
} entry;

typedef struct job {
    lli_report_inputs inputs;
    entry *entries; /* [count] */
    int64_t count;
    lli_page_method methods[LLI_REPORT_INPUTS_MAX];
    lli_page_source sources[LLI_REPORT_INPUTS_MAX];
    lli_page page;
    lli_class_names names;
    ll_bundle *images;
} job;

static void release(job *j) {
    for (int64_t i = 0; i < j->count; i++) {
        entry *e = &j->entries[i];
        ll_predictions_free(e->points);
        ll_predictions_free(e->out_points);
        ll_bundle_free(e->ensemble);
        void *blocks[] = {e->evaluation, e->meta, e->name, e->running, e->member_row};
        for (size_t b = 0; b < LLI_COUNT(blocks); b++)
            lli_memory_free(blocks[b]);
    }
    lli_memory_free(j->entries);
    lli_class_names_release(&j->names);
    ll_bundle_free(j->images);
    lli_report_inputs_release(&j->inputs);
    lli_memory_free(j);
}

static ll_status copy_meta(ll_context *ctx, entry *e, const ll_bundle *bundle) {
    e->meta_count = bundle ? ll_bundle_meta_count(bundle) : 0;
    LLI_TRY(lli_memory_new(ctx, &e->meta, e->meta_count, sizeof *e->meta));
    for (int64_t i = 0; i < e->meta_count; i++)
        e->meta[i] = (ll_meta){ll_bundle_meta_key(bundle, i), ll_bundle_meta_value(bundle, i)};
    return LL_OK;
}

static const char *meta_of(const entry *e, const char *key) {
    for (int64_t i = 0; i < e->meta_count; i++)
        if (strcmp(e->meta[i].key, key) == 0)
            return e->meta[i].value;
    return NULL;
}

/* The file's name without folder and ending. */
static ll_status stem(ll_context *ctx, char **out, const char *path) {
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
    size_t length = dot && dot > start ? (size_t)(dot - start) : strlen(start);
    LLI_TRY(lli_memory_new(ctx, out, (int64_t)length + 1, 1));
    memcpy(*out, start, length);
    return LL_OK;
}

/* As given; else the method that the file tells, unless another has that name; else the file's own. */
static ll_status name_entry(ll_context *ctx, job *j, entry *e, const ll_report_input *input) {
    if (input->name)
        return lli_memory_text(ctx, &e->name, input->name);
    const char *method = meta_of(e, "method");
    for (int64_t m = 0; method && m < j->page.count; m++)
        if (strcmp(j->methods[m].name, method) == 0)
            method = NULL;
    return method ? lli_memory_text(ctx, &e->name, method) : stem(ctx, &e->name, input->file);
}

static ll_status open_points(ll_predictions **out, ll_context *ctx, ll_report_kind kind, const char *file, const char *labels) {
    return kind == LL_REPORT_PREDICTIONS ? ll_predictions_read(out, ctx, file, labels)
                                         : ll_predictions_from(out, ctx, file, kind == LL_REPORT_LOGITS, labels);
}

/* True for a file of fit; the bundle is kept then. */
static ll_status open_ensemble(ll_context *ctx, entry *e, const ll_report_input *input) {
    if (input->kind != LL_REPORT_PREDICTIONS)
        return LL_OK;
    LLI_TRY(ll_bundle_read(&e->ensemble, ctx, input->file));
    const char *format = lli_bundle_meta(e->ensemble, "format");
    if (ll_bundle_find(e->ensemble, "label") >= 0 || !format || strncmp(format, "lastlayer-ensemble", 18) != 0) {
        ll_bundle_free(e->ensemble);
        e->ensemble = NULL;
    }
    return LL_OK;
}

/* running [S,3] as it is in the file; absent or of another shape: not there. */
static ll_status take_running(ll_context *ctx, entry *e, const ll_bundle *bundle, lli_page_method *m) {
    int64_t at = bundle ? ll_bundle_find(bundle, "running") : -1;
    ll_array a = at >= 0 ? ll_bundle_array(bundle, at) : (ll_array){0};
    if (at < 0 || a.rank != 2 || a.shape[1] != 3 || a.shape[0] < 1)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &e->running, 3 * a.shape[0], sizeof *e->running));
    lli_array_to_f64(e->running, &a, 0, 3 * a.shape[0]);
    m->running = e->running;
    m->S = a.shape[0];
    return LL_OK;
}

/* member_pmax [R,S], member_label [R,S] and member_row [R], where all fit together. */
static ll_status take_members(ll_context *ctx, entry *e, const ll_bundle *bundle, lli_page_method *m) {
    static const char *const names[] = {"member_pmax", "member_label", "member_row"};
    ll_array a[3];
    for (int i = 0; i < 3; i++) {
        int64_t at = bundle ? ll_bundle_find(bundle, names[i]) : -1;
        if (at < 0)
            return LL_OK;
        a[i] = ll_bundle_array(bundle, at);
    }
    int64_t R = a[0].shape[0], S = a[0].rank == 2 ? a[0].shape[1] : 0;
    bool fits = S > 0 && (m->S == 0 || m->S == S) && a[0].dtype == LL_DTYPE_F32 && a[1].dtype == LL_DTYPE_I32 && a[1].rank == 2 &&
                a[1].shape[0] == R && a[1].shape[1] == S && a[2].rank == 1 && a[2].shape[0] == R && lli_array_is_integer(a[2].dtype);
    if (!fits)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &e->member_row, R, sizeof *e->member_row));
    for (int64_t r = 0; r < R; r++) {
        bool whole;
        e->member_row[r] = lli_array_integer(&a[2], r, &whole);
        if (!whole || e->member_row[r] < 0 || e->member_row[r] >= m->points.n)
            return lli_fail(ctx, LL_ERR_DATA, "%s: member_row %" PRId64 " is not one of the %" PRId64 " rows", m->name, r, m->points.n);
    }
    m->S = S;
    m->R = R;
    m->member_pmax = a[0].data;
    m->member_label = a[1].data;
    m->member_row = e->member_row;
    return LL_OK;
}

static int64_t members_of(const entry *e, const ll_outcome *points) {
    const char *samples = meta_of(e, "samples");
    int64_t S = 0;
    for (const char *p = samples; p && *p >= '0' && *p <= '9' && S < INT32_MAX; p++)
        S = 10 * S + (*p - '0');
    return S ? S : points->confidence[LL_CONFIDENCE_STD] ? 0 : 1;
}

static ll_status add_method(ll_context *ctx, job *j, entry *e, const ll_report_input *input, const char *labels) {
    LLI_TRY(open_points(&e->points, ctx, input->kind, input->file, labels));
    const ll_bundle *bundle = input->kind == LL_REPORT_PREDICTIONS ? e->points->held[0] : NULL;
    LLI_TRY(copy_meta(ctx, e, bundle));
    LLI_TRY(name_entry(ctx, j, e, input));
    lli_page_method *m = &j->methods[j->page.count];
    *m = (lli_page_method){.name = e->name, .points = *ll_predictions_view(e->points), .meta = e->meta, .meta_count = e->meta_count};
    if (!m->points.truth)
        return lli_fail(ctx, LL_ERR_USAGE, "%s holds no true labels; give --labels FILE", input->file);
    if (input->ood)
        LLI_TRY(open_points(&e->out_points, ctx, input->kind, input->ood, NULL));
    else if (input->kind == LL_REPORT_PREDICTIONS)
        LLI_TRY(ll_predictions_read_out(&e->out_points, ctx, input->file));
    if (e->out_points) {
        m->out_points = ll_predictions_view(e->out_points);
    }
    LLI_TRY(lli_memory_new(ctx, &e->evaluation, 1, sizeof *e->evaluation));
    LLI_TRY(lli_evaluate(e->evaluation, ctx, &m->points, m->out_points, NULL, NULL));
    m->evaluation = e->evaluation;
    LLI_TRY(take_running(ctx, e, bundle, m));
    LLI_TRY(take_members(ctx, e, bundle, m));
    if (!m->S)
        m->S = members_of(e, &m->points);
    j->page.count++;
    return LL_OK;
}

static bool is_evaluation(const ll_report_input *input) {
    size_t length = strlen(input->file);
    return input->kind == LL_REPORT_PREDICTIONS && length > 5 && strcmp(input->file + length - 5, ".json") == 0;
}

/* The numbers of an evaluation; its points are not known any more. */
static ll_status add_evaluation(ll_context *ctx, job *j, entry *e, const ll_report_input *input) {
    if (input->ood)
        return lli_fail(ctx, LL_ERR_USAGE, "%s is an evaluation, which --ood cannot add to; evaluate its predictions with --ood",
                        input->file);
    LLI_TRY(ll_evaluation_read(&e->evaluation, ctx, input->file));
    LLI_TRY(input->name ? lli_memory_text(ctx, &e->name, input->name) : stem(ctx, &e->name, input->file));
    j->methods[j->page.count++] = (lli_page_method){
        .name = e->name, .evaluation = e->evaluation, .points = {.classes = e->evaluation->classes}};
    return LL_OK;
}

static ll_status add(ll_context *ctx, job *j, entry *e, const ll_report_input *input, const char *labels) {
    if (is_evaluation(input))
        return add_evaluation(ctx, j, e, input);
    LLI_TRY(open_ensemble(ctx, e, input));
    if (!e->ensemble)
        return add_method(ctx, j, e, input, labels);
    LLI_TRY(copy_meta(ctx, e, e->ensemble));
    LLI_TRY(input->name ? lli_memory_text(ctx, &e->name, input->name) : stem(ctx, &e->name, input->file));
    j->sources[j->page.source_count++] = (lli_page_source){e->name, e->meta, e->meta_count};
    return LL_OK;
}

static int64_t classes_of(const job *j) {
    int64_t K = 0;
    for (int64_t m = 0; m < j->page.count; m++)
        K = LLI_MAX(K, j->methods[m].points.classes);
    return K;
}

static ll_status read_names(ll_context *ctx, job *j, const char *path) {
    LLI_TRY(lli_class_names_read(&j->names, ctx, path, classes_of(j)));
    j->page.class_names = j->names.list;
    j->page.class_count = j->names.count;
    return LL_OK;
}

static ll_status read_images(ll_context *ctx, job *j, const char *where) {
    char text[LLI_ARRAY_TEXT];
    ll_array *a = &j->page.images;
    LLI_TRY(ll_array_read(&j->images, a, ctx, where, (const char *const[]){"images", "x_test", "x", NULL}));
    if (a->rank == 4 && a->shape[3] == 1)
        a->rank = 3;
    if (a->dtype != LL_DTYPE_U8 || !(a->rank == 3 || (a->rank == 4 && a->shape[3] == 3)) || a->shape[1] < 1 || a->shape[2] < 1)
        return lli_fail(ctx, LL_ERR_DATA, "the images %s are %s; expected u8 [N,H,W] or [N,H,W,3]", where, lli_array_text(text, a));
    for (int64_t m = 0; m < j->page.count; m++)
        if (j->methods[m].points.n && j->methods[m].points.n != a->shape[0])
            return lli_fail(ctx, LL_ERR_DATA, "there are %" PRId64 " images in %s, but %s has %" PRId64 " points", a->shape[0], where,
                            j->methods[m].name, j->methods[m].points.n);
    return LL_OK;
}

static ll_status write_page(ll_context *ctx, const char *path, const lli_page *page) {
    lli_text text;
    lli_outfile *file = NULL;
    ll_status status;
    lli_text_init(&text, ctx);
    LLI_DO(lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(lli_page_html(&text, page));
    LLI_DO(lli_outfile_write_at(ctx, file, 0, text.data, (size_t)text.length));
    lli_outfile *ready = file;
    file = NULL;
    LLI_DO(lli_outfile_commit(ctx, ready));
done:
    lli_outfile_abandon(file);
    lli_text_release(&text);
    return status;
}

ll_status ll_report_write(ll_context *ctx, const char *path, const ll_report_input *inputs, int64_t count,
                          const ll_report_options *options) {
    LLI_NEED(ctx, path, inputs);
    ll_report_options o = ll_report_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_report_options, &o, options, table, LLI_COUNT(table)));
    if (count < 1 || count > LLI_REPORT_INPUTS_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "a report takes 1 to %d files; found %" PRId64, LLI_REPORT_INPUTS_MAX, count);
    job *j;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &j, 1, sizeof *j));
    LLI_DO(lli_report_inputs_expand(&j->inputs, ctx, inputs, count));
    const ll_report_input *files = j->inputs.list;
    LLI_DO(lli_memory_new(ctx, &j->entries, j->inputs.count, sizeof *j->entries));
    j->count = j->inputs.count;
    j->page = (lli_page){.title = o.title ? o.title : "", .command = o.command, .methods = j->methods, .sources = j->sources};
    for (int64_t i = 0; i < j->count; i++)
        LLI_DO(add(ctx, j, &j->entries[i], &files[i], o.labels));
    if (!j->page.count)
        LLI_DO(
            lli_fail(ctx, LL_ERR_USAGE, "%s is an ensemble; a report needs predictions: make them with lastlayer predict", files[0].file));
    int64_t points = 0;
    for (int64_t m = 0; m < j->page.count; m++)
        points += j->methods[m].points.n;
    if (!points && (o.labels || o.images))
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "--%s belongs to points, and an evaluation holds only numbers; leave it out",
                        o.labels ? "labels" : "images"));
    if (o.class_names)
        LLI_DO(read_names(ctx, j, o.class_names));
    if (o.images)
        LLI_DO(read_images(ctx, j, o.images));
    LLI_DO(write_page(ctx, path, &j->page));
done:
    release(j);
    return status;
}
