/* SPDX-License-Identifier: MIT */
/* From predictions, names and images, of files or in memory, to the page: evaluates them and takes what the report room makes of them. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/file.h"
#include "formats/text_file.h"
#include "metrics/evaluate.h"
#include "interop/class_names.h"
#include "interop/diagnosis_file.h"
#include "store/report_inputs.h"
#include "store/report_certificate.h"
#include "predict/predictions.h"
#include "report/page.h"

void ll_report_options_init(ll_report_options *options, size_t struct_size) {
    const ll_report_options defaults = {.title = "How sure is it?"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_report_options, member)

/* clang-format off */
static const ll_option table[] = {
    {.name = "labels", .type = LL_OPTION_TEXT, .offset = AT(labels), .arg = "FILE",
     .help = "true labels [N]; may be left out when the predictions hold them"},
    {.name = "title", .type = LL_OPTION_TEXT, .offset = AT(title), .arg = "TEXT", .standard = "How sure is it?",
     .help = "the title of the page"},
    {.name = "class-names", .type = LL_OPTION_TEXT, .offset = AT(class_names), .arg = "FILE",
     .help = "a text file with the name of one class per line"},
    {.name = "images", .type = LL_OPTION_TEXT, .offset = AT(images), .arg = "FILE",
     .help = "the pictures of the points, u8 [N,H,W] or [N,H,W,3]: FILE or FILE:NAME; small copies go into the page"},
    {.name = "certificate", .type = LL_OPTION_TEXT, .offset = AT(certificate), .arg = "FILE",
     .help = "what lastlayer certify --json printed for the first method: shown as a card, and its cut beside that of the desk"},
};
/* clang-format on */

const ll_option *ll_report_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

/* One input with all it needs while the page is made. */
typedef struct entry {
    const ll_predictions *points;
    ll_predictions *read, *out_points; /* the points, where they are of a file; and those of a file of their own */
    ll_evaluation *evaluation;
    ll_bundle *ensemble; /* instead of points: its provenance is shown, and its chains */
    lli_diagnosis_traces *traces;
    ll_meta *meta;
    int64_t meta_count;
    char *name;
} entry;

typedef struct job {
    lli_report_inputs inputs;
    entry *entries; /* [count] */
    int64_t count;
    lli_page_method methods[LLI_REPORT_INPUTS_MAX];
    lli_page_source sources[LLI_REPORT_INPUTS_MAX];
    lli_page_diagnosis diagnoses[LLI_REPORT_INPUTS_MAX];
    lli_page page;
    lli_class_names names;
    ll_bundle *images;
    lli_report_certificate certificate;
    void *dense; /* the images, where those of the caller have strides */
} job;

static void release(job *j) {
    for (int64_t i = 0; i < j->count; i++) {
        entry *e = &j->entries[i];
        ll_predictions_free(e->read);
        ll_predictions_free(e->out_points);
        ll_bundle_free(e->ensemble);
        ll_evaluation_free(e->evaluation);
        lli_diagnosis_file_free(e->traces);
        void *blocks[] = {e->meta, e->name};
        for (size_t b = 0; b < LLI_COUNT(blocks); b++)
            lli_memory_free(blocks[b]);
    }
    lli_memory_free(j->entries);
    lli_class_names_release(&j->names);
    ll_bundle_free(j->images);
    lli_report_certificate_release(&j->certificate);
    lli_memory_free(j->dense);
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

/* As given; else the method named in the file, unless another has that name; else the file's own. */
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
    if (input->kind != LL_REPORT_PREDICTIONS || input->predictions)
        return LL_OK;
    LLI_TRY(ll_bundle_read(&e->ensemble, ctx, input->file));
    const char *format = lli_bundle_meta(e->ensemble, "format");
    if (ll_bundle_find(e->ensemble, "label") >= 0 || !format || strncmp(format, "lastlayer-ensemble", 18) != 0) {
        ll_bundle_free(e->ensemble);
        e->ensemble = NULL;
    }
    return LL_OK;
}

/* What the predictions hold of their members. */
static void take_members(const ll_predictions *p, lli_page_method *m) {
    ll_array running = ll_predictions_array(p, "running"), pmax = ll_predictions_array(p, "member_pmax");
    ll_array label = ll_predictions_array(p, "member_label"), row = ll_predictions_array(p, "member_row");
    m->row = ll_predictions_array(p, "row").data;
    if (running.rank == 2) {
        m->running = running.data;
        m->S = running.shape[0];
    }
    if (pmax.rank == 2 && label.rank == 2 && row.rank == 1) {
        m->S = pmax.shape[1];
        m->R = pmax.shape[0];
        m->member_pmax = pmax.data;
        m->member_label = label.data;
        m->member_row = row.data;
    }
}

static int64_t members_of(const entry *e, const ll_outcome *points) {
    const char *samples = meta_of(e, "samples");
    int64_t S = 0;
    for (const char *p = samples; p && *p >= '0' && *p <= '9' && S < INT32_MAX; p++)
        S = 10 * S + (*p - '0');
    return S ? S : points->confidence[LL_CONFIDENCE_STD] ? 0 : 1;
}

static ll_status add_method(ll_context *ctx, job *j, entry *e, const ll_report_input *input, const char *labels) {
    if (input->predictions && labels)
        return lli_fail(ctx, LL_ERR_USAGE, "`labels` belongs to files; predictions in memory have labels of their own");
    if (!input->predictions)
        LLI_TRY(open_points(&e->read, ctx, input->kind, input->file, labels));
    e->points = input->predictions ? input->predictions : e->read;
    LLI_TRY(copy_meta(ctx, e, e->points->bundle));
    LLI_TRY(name_entry(ctx, j, e, input));
    lli_page_method *m = &j->methods[j->page.count];
    *m = (lli_page_method){.name = e->name, .points = *ll_predictions_view(e->points), .meta = e->meta, .meta_count = e->meta_count};
    if (!m->points.truth)
        return lli_fail(ctx, LL_ERR_USAGE, "%s holds no true labels; give `labels FILE`", input->file);
    if (input->ood)
        LLI_TRY(open_points(&e->out_points, ctx, input->kind, input->ood, NULL));
    m->out_points = ll_predictions_view(e->out_points ? e->out_points : ll_predictions_out(e->points));
    LLI_TRY(lli_memory_new(ctx, &e->evaluation, 1, sizeof *e->evaluation));
    LLI_TRY(lli_evaluate(e->evaluation, ctx, &m->points, m->out_points, NULL, NULL));
    m->evaluation = e->evaluation;
    take_members(e->points, m);
    if (!m->S)
        m->S = members_of(e, &m->points);
    j->page.count++;
    return LL_OK;
}

static bool is_json(const ll_report_input *input) {
    size_t length = strlen(input->file);
    return input->kind == LL_REPORT_PREDICTIONS && !input->predictions && length > 5 && strcmp(input->file + length - 5, ".json") == 0;
}

/* The diagnosis in `json`, which is in the file (NULL: all of it), where there is one. */
static ll_status add_traces(ll_context *ctx, job *j, entry *e, const ll_report_input *input, const char *json) {
    LLI_TRY(lli_diagnosis_file_read(&e->traces, ctx, input->file, json));
    if (e->traces && !e->name)
        LLI_TRY(lli_memory_text(ctx, &e->name, input->name ? input->name : e->traces->method));
    if (e->traces)
        j->diagnoses[j->page.diagnosis_count++] = (lli_page_diagnosis){e->name, e->traces};
    return LL_OK;
}

/* A diagnosis, or the numbers of an evaluation, whose points are not known any more. */
static ll_status add_json(ll_context *ctx, job *j, entry *e, const ll_report_input *input) {
    LLI_TRY(add_traces(ctx, j, e, input, NULL));
    if (e->traces)
        return LL_OK;
    if (input->ood)
        return lli_fail(ctx, LL_ERR_USAGE, "%s is an evaluation, to which `ood` cannot be added; run evaluate with `ood` instead",
                        input->file);
    LLI_TRY(ll_evaluation_read(&e->evaluation, ctx, input->file));
    LLI_TRY(input->name ? lli_memory_text(ctx, &e->name, input->name) : stem(ctx, &e->name, input->file));
    j->methods[j->page.count++] = (lli_page_method){
        .name = e->name, .evaluation = e->evaluation, .points = {.classes = e->evaluation->classes}};
    return LL_OK;
}

static ll_status add(ll_context *ctx, job *j, entry *e, const ll_report_input *input, const char *labels) {
    if (is_json(input))
        return add_json(ctx, j, e, input);
    LLI_TRY(open_ensemble(ctx, e, input));
    if (!e->ensemble)
        return add_method(ctx, j, e, input, labels);
    LLI_TRY(copy_meta(ctx, e, e->ensemble));
    LLI_TRY(input->name ? lli_memory_text(ctx, &e->name, input->name) : stem(ctx, &e->name, input->file));
    const char *diagnosis = meta_of(e, LLI_DIAGNOSIS_JSON);
    if (diagnosis)
        LLI_TRY(add_traces(ctx, j, e, input, diagnosis));
    j->sources[j->page.source_count++] = (lli_page_source){e->name, e->meta, e->meta_count};
    return LL_OK;
}

static int64_t classes_of(const job *j) {
    int64_t K = 0;
    for (int64_t m = 0; m < j->page.count; m++)
        K = LLI_MAX(K, j->methods[m].points.classes);
    return K;
}

static ll_status take_names(ll_context *ctx, job *j, const ll_report_options *o) {
    int64_t K = classes_of(j);
    if (!o->class_list) {
        LLI_TRY(lli_class_names_read(&j->names, ctx, o->class_names, K));
        j->page.class_names = j->names.list;
        j->page.class_count = j->names.count;
        return LL_OK;
    }
    if (o->class_count < 0 || (K && o->class_count != K))
        return lli_fail(ctx, LL_ERR_DATA, "class_list has %" PRId64 " names; expected %" PRId64 ", one for each class", o->class_count, K);
    for (int64_t k = 0; k < o->class_count; k++)
        if (!o->class_list[k])
            return lli_fail(ctx, LL_ERR_USAGE, "the name %" PRId64 " in class_list is NULL; expected a text", k);
    j->page.class_names = o->class_list;
    j->page.class_count = o->class_count;
    return LL_OK;
}

/* An array of the caller's, dense. */
static ll_status take_array(ll_context *ctx, job *j, const ll_array *given) {
    ll_array *a = &j->page.images;
    LLI_TRY(lli_array_check(ctx, "image_array", given));
    *a = *given;
    if (lli_array_is_dense(given))
        return LL_OK;
    int64_t count = lli_array_count(given);
    LLI_TRY(lli_memory_new(ctx, &j->dense, count, ll_dtype_size(given->dtype)));
    lli_array_copy(j->dense, given, 0, count);
    *a = ll_array_view(j->dense, given->dtype, given->rank, given->shape);
    return LL_OK;
}

/* One image for each point, or for each row of the set that the points are some rows of. */
static ll_status check_images(ll_context *ctx, const job *j, int64_t m, int64_t images, const char *where) {
    const lli_page_method *method = &j->methods[m], *first = j->methods;
    int64_t n = method->points.n;
    while (!first->points.n)
        first++; /* method itself has points, if no other */
    bool fit = method->row || n == images, same = !method->row == !first->row && (!method->row || first->points.n == n);
    for (int64_t i = 0; fit && same && method->row && i < n; i++) {
        fit = method->row[i] >= 0 && method->row[i] < images;
        same = method->row[i] == first->row[i];
    }
    if (!same)
        return lli_fail(ctx, LL_ERR_DATA, "%s and %s hold different rows; with images, methods of one page must have the same", first->name,
                        method->name);
    return fit ? LL_OK
               : lli_fail(ctx, LL_ERR_DATA, "there are %" PRId64 " images in %s, but %s has %" PRId64 " points%s", images, where,
                          method->name, n, method->row ? ", some with row numbers beyond" : "");
}

static ll_status take_images(ll_context *ctx, job *j, const ll_report_options *o) {
    char text[LLI_ARRAY_TEXT];
    ll_array *a = &j->page.images;
    const char *where = o->image_array ? "image_array" : o->images;
    if (o->image_array)
        LLI_TRY(take_array(ctx, j, o->image_array));
    else
        LLI_TRY(ll_array_read(&j->images, a, ctx, where, (const char *const[]){"images", "x_test", "x", NULL}));
    if (a->rank == 4 && a->shape[3] == 1)
        a->rank = 3;
    if (a->dtype != LL_DTYPE_U8 || !(a->rank == 3 || (a->rank == 4 && a->shape[3] == 3)) || a->shape[1] < 1 || a->shape[2] < 1)
        return lli_fail(ctx, LL_ERR_DATA, "the images %s are %s; expected u8 [N,H,W] or [N,H,W,3]", where, lli_array_text(text, a));
    for (int64_t m = 0; m < j->page.count; m++)
        if (j->methods[m].points.n)
            LLI_TRY(check_images(ctx, j, m, a->shape[0], where));
    return LL_OK;
}

/* The page into `text`, which the caller has made. */
static ll_status make_page(lli_text *text, ll_context *ctx, const ll_report_input *inputs, int64_t count,
                           const ll_report_options *options) {
    ll_report_options o = ll_report_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_report_options, &o, options, table, LLI_COUNT(table)));
    if (count < 1 || count > LLI_REPORT_INPUTS_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "a report takes 1 to %d files; found %" PRId64, LLI_REPORT_INPUTS_MAX, count);
    if ((o.class_names && o.class_list) || (o.images && o.image_array))
        return lli_fail(ctx, LL_ERR_USAGE, "%s are both given; expected one of the two",
                        o.class_names && o.class_list ? "class_names and class_list" : "images and image_array");
    job *j;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &j, 1, sizeof *j));
    LLI_DO(lli_report_inputs_expand(&j->inputs, ctx, inputs, count));
    const ll_report_input *files = j->inputs.list;
    LLI_DO(lli_memory_new(ctx, &j->entries, j->inputs.count, sizeof *j->entries));
    j->count = j->inputs.count;
    j->page = (lli_page){
        .title = o.title ? o.title : "", .command = o.command, .methods = j->methods, .sources = j->sources, .diagnoses = j->diagnoses};
    for (int64_t i = 0; i < j->count; i++)
        LLI_DO(add(ctx, j, &j->entries[i], &files[i], o.labels));
    if (!j->page.count)
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "%s is %s; a report needs predictions: make them with lastlayer predict", files[0].file,
                        j->entries[0].ensemble ? "an ensemble" : "a diagnosis"));
    int64_t points = 0;
    for (int64_t m = 0; m < j->page.count; m++)
        points += j->methods[m].points.n;
    if (!points && (o.labels || o.images || o.image_array))
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "%s belongs to points, and an evaluation holds only numbers; leave it out",
                        lli_option_name(ctx, o.labels   ? "labels"
                                             : o.images ? "images"
                                                        : "image_array")
                            .text));
    if (o.class_names || o.class_list)
        LLI_DO(take_names(ctx, j, &o));
    if (o.images || o.image_array)
        LLI_DO(take_images(ctx, j, &o));
    if (o.certificate) {
        LLI_DO(lli_report_certificate_read(&j->certificate, ctx, o.certificate));
        j->page.certificate = &j->certificate.shown;
    }
    LLI_DO(lli_page_html(text, &j->page));
done:
    release(j);
    return status;
}

ll_status ll_report(char **out, size_t *size, ll_context *ctx, const ll_report_input *inputs, int64_t count,
                    const ll_report_options *options) {
    LLI_NEED(ctx, out, inputs);
    *out = NULL;
    lli_text text;
    lli_text_init(&text, ctx);
    ll_status status = make_page(&text, ctx, inputs, count, options);
    if (status == LL_OK && size)
        *size = (size_t)text.length;
    if (status == LL_OK)
        return lli_text_take(&text, out);
    lli_text_release(&text);
    return status;
}

ll_status ll_report_write(ll_context *ctx, const char *path, const ll_report_input *inputs, int64_t count,
                          const ll_report_options *options) {
    LLI_NEED(ctx, path, inputs);
    lli_text text;
    lli_text_init(&text, ctx);
    ll_status status = make_page(&text, ctx, inputs, count, options);
    if (status == LL_OK)
        status = lli_text_file_write(ctx, path, &text);
    lli_text_release(&text);
    return status;
}
