/* SPDX-License-Identifier: MIT */
/* The grid of a search: reads the lists and multiplies them out. */
#include "search/grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/number.h"
#include "methods/method.h"

void ll_search_options_init(ll_search_options *options, size_t struct_size) {
    const ll_search_options defaults = {
        .method = "point,sgd,sgld,bootstrap,dropout",
        .samples = "10,100,1000/bootstrap:10,100",
        .lr = "0.1,0.05,0.01,0.005,0.001",
        .batch_size = "128",
        .dropout = "0.1,0.3,0.5",
        .protocol = "honest",
        .by = "aurc",
    };
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_search_options, member)
#define LIST(name, letter, member, standard, help) \
    { name, letter, LL_OPTION_TEXT, AT(member), "LIST", NULL, 0, 0, false, false, standard, help }

static const ll_option table[] = {
    LIST("method", 'm', method, "point,sgd,sgld,bootstrap,dropout", "methods to try"),
    LIST("samples", 'S', samples, "10,100,1000/bootstrap:10,100", "numbers of members; after a slash, those of one method"),
    LIST("lr", 0, lr, "0.1,0.05,0.01,0.005,0.001",
         "learning rates; auto is 1/(1 + mean |z|^2), for networks and several layers at most 0.01"),
    LIST("batch-size", 'B', batch_size, "128", "rows per step; with several layers the first also trains theta*"),
    LIST("epochs", 'E', epochs, "bootstrap:10/dropout:100", "training epochs, for methods that have a default here"),
    LIST("dropout", 'p', dropout, "0.1,0.3,0.5", "rates at which dropout zeroes features"),
    {"protocol", 0, LL_OPTION_CHOICE, AT(protocol), "P", "honest|paper", 0, 0, false, false, "honest",
     "honest: validation rows choose, test rows report; paper: the test rows do both"},
    {"by", 0, LL_OPTION_CHOICE, AT(by), "RULE", "aurc|aurc-hq|auroc", 0, 0, false, false, "aurc",
     "what chooses: the least AURC of sr and std, of sr, std and hq, or (paper only) the largest AUROC of sr and std"},
};

const ll_option *ll_search_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

bool lli_grid_lists(const ll_option *option) {
    for (size_t i = 0; i < LLI_COUNT(table); i++)
        if (strcmp(table[i].name, option->name) == 0)
            return true;
    return false;
}

/* ---- lists ---- */

enum { LIST_MAX = 256, WORD_MAX = 64 };

typedef struct list {
    double value[LIST_MAX];
    int count;
} list;

/* The row of ll_fit_options for a member of it. */
static const ll_option *row_of(size_t offset) {
    const ll_option *row = ll_fit_options_table(NULL);
    while (row->offset != offset)
        row++;
    return row;
}

/* The section of the text that holds for the method: its own, else the general one; NULL if there is none. */
static ll_status find_section(const char **out, size_t *size, ll_context *ctx, const char *flag, const char *text, const char *method) {
    *out = NULL;
    for (const char *p = text; p;) {
        size_t length = strcspn(p, "/");
        const char *colon = memchr(p, ':', length);
        char word[WORD_MAX];
        size_t name = colon ? (size_t)(colon - p) : 0;
        memcpy(word, p, LLI_MIN(name, sizeof word - 1));
        word[LLI_MIN(name, sizeof word - 1)] = 0;
        if (colon && !lli_method_find(word))
            return lli_fail(ctx, LL_ERR_USAGE, "%s names the method %s, which does not exist; expected one of %s",
                            lli_option_name(ctx, flag).text, word, row_of(LLI_READS(method))->choices);
        bool own = colon && strcmp(word, method) == 0;
        if (own || (!colon && !*out)) {
            *out = colon ? colon + 1 : p;
            *size = length - (colon ? name + 1 : 0);
        }
        if (own)
            return LL_OK;
        p = p[length] ? p + length + 1 : NULL;
    }
    return LL_OK;
}

static ll_status add_value(ll_context *ctx, list *l, const char *flag, double value) {
    for (int i = 0; i < l->count; i++)
        if (l->value[i] == value)
            return LL_OK;
    if (l->count == LIST_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "%s lists more than %d values", lli_option_name(ctx, flag).text, LIST_MAX);
    l->value[l->count++] = value;
    return LL_OK;
}

/* One number of a list, inside the range that fit has for it; `automatic` stands for the word auto, 0 = not allowed. */
static ll_status read_value(ll_context *ctx, double *out, const ll_option *o, const char *word, size_t size, double automatic) {
    bool integer = o->type == LL_OPTION_INT;
    if (automatic > 0 && size == 4 && memcmp(word, "auto", 4) == 0) {
        *out = automatic;
        return LL_OK;
    }
    lli_number x;
    bool ok = size > 0 && lli_number_parse(&x, word, size) && (!integer || x.is_integer) && x.real >= o->min && x.real <= o->max &&
              !(o->open_min && x.real == o->min) && !(o->open_max && x.real == o->max);
    if (!ok)
        return lli_fail(ctx, LL_ERR_USAGE, "%s lists %.*s; expected %s above 0 %s %g%s, with commas between them",
                        lli_option_name(ctx, o->name).text, size ? (int)LLI_MIN(size, 40) : 7, size ? word : "nothing",
                        integer ? "whole numbers" : "numbers", o->open_max ? "and below" : "up to", o->max,
                        automatic > 0 ? ", or auto" : "");
    *out = x.real;
    return LL_OK;
}

/* The values of one method; where it does not read the option, or nothing is listed, the single value `otherwise`. */
static ll_status read_list(list *out, ll_context *ctx, const ll_option *option, const char *text, const char *method, double otherwise,
                           double automatic) {
    out->count = 0;
    const char *p = NULL;
    size_t left = 0;
    if (text)
        LLI_TRY(find_section(&p, &left, ctx, option->name, text, method));
    if (!p || !lli_method_reads(lli_method_find(method), option->offset)) {
        out->value[out->count++] = otherwise;
        return LL_OK;
    }
    for (;;) {
        const char *comma = memchr(p, ',', left);
        size_t size = comma ? (size_t)(comma - p) : left;
        double value = 0;
        LLI_TRY(read_value(ctx, &value, option, p, size, automatic));
        LLI_TRY(add_value(ctx, out, option->name, value));
        if (!comma)
            return LL_OK;
        p += size + 1;
        left -= size + 1;
    }
}

ll_status lli_grid_batch_size(int64_t *out, ll_context *ctx, const ll_search_options *o, const ll_fit_options *fit) {
    const char *p = NULL;
    size_t size = 0;
    double value = (double)fit->batch_size;
    if (o->batch_size)
        LLI_TRY(find_section(&p, &size, ctx, "batch-size", o->batch_size, ""));
    if (p) {
        const char *comma = memchr(p, ',', size);
        LLI_TRY(read_value(ctx, &value, row_of(LLI_READS(batch_size)), p, comma ? (size_t)(comma - p) : size, 0));
    }
    *out = (int64_t)value;
    return LL_OK;
}

/* ---- runs ---- */

/* The options that a list may vary, but for those that have their own place in a name: method in front, S behind. */
static bool is_axis(const ll_option *option) {
    return lli_grid_lists(option) && option->offset != LLI_READS(method) && option->offset != LLI_READS(samples);
}

static ll_status name_run(lli_grid_run *run, ll_context *ctx) {
    size_t count;
    const ll_option *rows = ll_fit_options_table(&count);
    const lli_method *method = lli_method_find(run->options.method);
    lli_text name;
    lli_text_init(&name, ctx);
    lli_text_add(&name, "%s", run->options.method);
    for (size_t i = 0; i < count; i++) {
        const char letter[] = {rows[i].letter, 0};
        if (!is_axis(&rows[i]) || !lli_method_reads(method, rows[i].offset))
            continue;
        lli_text_add(&name, "-%s", *letter ? letter : rows[i].name);
        lli_text_number(&name, lli_option_number(&rows[i], &run->options));
    }
    return lli_text_take(&name, &run->name);
}

static ll_status add_run(lli_grid *grid, ll_context *ctx, const ll_fit_options *options, const list *samples, const ll_dataset *train,
                         bool network) {
    if (grid->count == grid->capacity) {
        int64_t capacity = LLI_MAX(16, 2 * grid->capacity);
        LLI_TRY(lli_memory_grow(ctx, &grid->runs, grid->capacity, capacity, sizeof *grid->runs));
        grid->capacity = capacity;
    }
    lli_grid_run *run = &grid->runs[grid->count++];
    LLI_TRY(lli_memory_new(ctx, &run->samples, samples->count, sizeof *run->samples));
    for (int i = 0; i < samples->count; i++) {
        int64_t at = run->trials++, S = (int64_t)samples->value[i];
        for (; at > 0 && run->samples[at - 1] > S; at--)
            run->samples[at] = run->samples[at - 1];
        run->samples[at] = S;
    }
    ll_fit_options largest = *options;
    largest.samples = run->samples[run->trials - 1];
    LLI_TRY(lli_fit_resolve(ctx, &run->options, &largest, train, network));
    run->samples[run->trials - 1] = run->options.samples; /* where the method's default was asked for */
    return name_run(run, ctx);
}

/* The first members of several chains, one after the other, are not shorter chains, and those of cycles not shorter cycles: there each S is
 * a run of its own. */
static ll_status add_runs(lli_grid *grid, ll_context *ctx, ll_fit_options *options, const list *samples, const ll_dataset *train,
                          bool network) {
    if (!lli_method_reads(lli_method_find(options->method), LLI_READS(chains)))
        options->chains = 1;
    if (options->chains == 1 && !lli_method_find(options->method)->cycles)
        return add_run(grid, ctx, options, samples, train, network);
    for (int i = 0; i < samples->count; i++) {
        list one = {.count = 1};
        one.value[0] = samples->value[i];
        LLI_TRY(add_run(grid, ctx, options, &one, train, network));
    }
    return LL_OK;
}

enum { AXES_MAX = 8 };

/* One option and its values: where it stands when the grid is walked through. */
typedef struct axis {
    const ll_option *option;
    list values;
    int at;
} axis;

typedef struct axes {
    axis each[AXES_MAX];
    int count;
    list samples;
} axes;

static ll_status read_axes(axes *a, ll_context *ctx, const ll_search_options *o, const ll_fit_options *fit, const char *method,
                           const ll_dataset *train, bool network) {
    ll_fit_options one = *fit;
    one.method = method;
    for (size_t i = 0; i < LLI_COUNT(table); i++) {
        size_t rows;
        const ll_option *option = ll_fit_options_table(&rows), *end = option + rows;
        while (option < end && strcmp(option->name, table[i].name) != 0)
            option++;
        if (option == end || option->offset == LLI_READS(method))
            continue;
        const char *text = *(const char *const *)(const void *)((const char *)o + table[i].offset);
        double automatic = option->offset == LLI_READS(lr) ? lli_fit_lr(&one, train, network) : 0;
        double value = lli_option_number(option, fit), otherwise = value == 0 ? automatic : value;
        list *values = &a->samples;
        if (is_axis(option)) {
            if (a->count == AXES_MAX)
                return lli_fail(ctx, LL_ERR_INTERNAL, "the grid holds at most %d lists", AXES_MAX);
            a->each[a->count].option = option;
            values = &a->each[a->count++].values;
        }
        LLI_TRY(read_list(values, ctx, option, text, method, otherwise, automatic));
    }
    return LL_OK;
}

/* On to the next combination; false behind the last. */
static bool advance(axes *a) {
    for (int i = 0; i < a->count; i++) {
        if (++a->each[i].at < a->each[i].values.count)
            return true;
        a->each[i].at = 0;
    }
    return false;
}

static ll_status add_method(lli_grid *grid, ll_context *ctx, const ll_search_options *o, const ll_fit_options *fit, const char *method,
                            const ll_dataset *train, bool network) {
    axes *a;
    LLI_TRY(lli_memory_new(ctx, &a, 1, sizeof *a));
    ll_status status;
    LLI_DO(read_axes(a, ctx, o, fit, method, train, network));
    do {
        ll_fit_options one = *fit;
        one.method = method;
        for (int i = 0; i < a->count; i++)
            lli_option_set_number(a->each[i].option, &one, a->each[i].values.value[a->each[i].at]);
        LLI_DO(add_runs(grid, ctx, &one, &a->samples, train, network));
    } while (advance(a));
done:
    lli_memory_free(a);
    return status;
}

ll_status lli_grid_init(lli_grid *grid, ll_context *ctx, const ll_search_options *o, const ll_fit_options *fit, const ll_dataset *train,
                        bool network) {
    *grid = (lli_grid){0};
    ll_status status = LL_OK;
    for (const char *p = o->method ? o->method : fit->method; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t length = strcspn(p, ","), m = 0;
        while (m < ll_method_count() && !(strlen(ll_method_get(m)->name) == length && memcmp(ll_method_get(m)->name, p, length) == 0))
            m++;
        if (m == ll_method_count())
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "`method` lists %.*s; expected some of %s, with commas between them",
                            length ? (int)LLI_MIN(length, 40) : 7, length ? p : "nothing", row_of(LLI_READS(method))->choices));
        bool seen = false;
        for (int64_t i = 0; i < grid->count; i++)
            seen = seen || grid->runs[i].options.method == ll_method_get(m)->name;
        if (!seen)
            LLI_DO(add_method(grid, ctx, o, fit, ll_method_get(m)->name, train, network));
    }
done:
    if (status != LL_OK)
        lli_grid_release(grid);
    return status;
}

void lli_grid_release(lli_grid *grid) {
    for (int64_t i = 0; i < grid->count; i++) {
        lli_memory_free(grid->runs[i].name);
        lli_memory_free(grid->runs[i].samples);
    }
    lli_memory_free(grid->runs);
    *grid = (lli_grid){0};
}

/* ---- costs ---- */

int64_t lli_grid_run_steps(const lli_grid_run *run, const ll_dataset *train, const lli_theta_star *star) {
    const lli_fit fit = {.method = lli_method_find(run->options.method), .options = run->options, .data = train, .star = star};
    return fit.method->steps(&fit);
}

int64_t lli_grid_run_step_cost(const lli_grid_run *run, const ll_dataset *train) {
    return LLI_TRAIN_COST * LLI_MIN(run->options.batch_size, train->rows.N);
}

int64_t lli_grid_run_cost(const lli_grid_run *run, const ll_dataset *train, const lli_theta_star *star, int64_t rows) {
    int64_t members = 0;
    for (int64_t t = 0; t < run->trials; t++)
        members += run->samples[t];
    return lli_grid_run_steps(run, train, star) * lli_grid_run_step_cost(run, train) + members * rows;
}
