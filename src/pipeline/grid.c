/* SPDX-License-Identifier: MIT */
/* The grid of a search: reads the lists and multiplies them out. */
#include "pipeline/grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/number.h"
#include "methods/method.h"

void ll_search_options_init(ll_search_options *options, size_t struct_size) {
    ll_fit_options fit = ll_fit_options_default();
    const ll_search_options defaults = {
        .method = "point,sgd,sgld,bootstrap,dropout",
        .samples = "10,100,1000/bootstrap:10,100",
        .lr = "0.1,0.05,0.01,0.005,0.001",
        .batch_size = "128",
        .dropout = "0.1,0.3,0.5",
        .prior_precision = fit.prior_precision,
        .lr_power = fit.lr_power,
        .shuffle = fit.shuffle,
        .layers = fit.layers,
        .dropout_at = fit.dropout_at,
        .protocol = "honest",
        .by = "aurc",
    };
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_search_options, member)
#define LIST(name, letter, member, standard, help)                                                                                         \
    { name, letter, LL_OPTION_TEXT, AT(member), "LIST", NULL, 0, 0, false, false, standard, help }

static const ll_option table[] = {
    LIST("method", 'm', method, "point,sgd,sgld,bootstrap,dropout", "methods to try"),
    LIST("samples", 'S', samples, "10,100,1000/bootstrap:10,100", "numbers of members; after a slash, those of one method"),
    LIST("lr", 0, lr, "0.1,0.05,0.01,0.005,0.001",
         "learning rates; auto is 1/(1 + mean |z|^2), for networks and several layers at most 0.01"),
    LIST("batch-size", 'B', batch_size, "128", "rows per step; with several layers the first also trains theta*"),
    LIST("epochs", 'E', epochs, "bootstrap:10/dropout:100", "training epochs of bootstrap and dropout"),
    LIST("dropout", 'p', dropout, "0.1,0.3,0.5", "rates at which dropout zeroes features"),
    {"prior-precision", 0, LL_OPTION_REAL, AT(prior_precision), "T", NULL, 0, 1e12, false, false, "1",
     "precision tau of the Gaussian prior on every parameter"},
    {"seed", 0, LL_OPTION_SEED, AT(seed), "I", NULL, 0, 0, false, false, "0",
     "seed of everything random, the split of the test rows included"},
    {"thin", 0, LL_OPTION_INT, AT(thin), "STEPS", NULL, 0, 1e12, false, false, "one epoch", "steps between two samples of sgd and sgld"},
    {"burn-in", 0, LL_OPTION_INT, AT(burn_in), "EPOCHS", NULL, 0, 1e6, false, false, "0", "epochs of sgd and sgld before the first sample"},
    {"lr-t0", 0, LL_OPTION_REAL, AT(lr_t0), "T0", NULL, 0, 1e15, false, false, "constant lr",
     "decreasing schedule lr (1 + k/T0)^-POWER over steps k"},
    {"lr-power", 0, LL_OPTION_REAL, AT(lr_power), "POWER", NULL, 0, 10, false, false, "0.55", "exponent of that schedule"},
    {"shuffle", 0, LL_OPTION_TEXT, AT(shuffle), "HOW", NULL, 0, 0, false, false, "full", "batches: full, independent, or block:ROWS"},
    {"layers", 0, LL_OPTION_INT, AT(layers), "L", NULL, 1, 3, false, false, "1",
     "dense layers on the features: L - 1 hidden ones of D units with ReLU, then the last"},
    {"dropout-at", 0, LL_OPTION_CHOICE, AT(dropout_at), "WHERE", "paper|own", 0, 0, false, false, "paper",
     "where dropout acts in a network: before dense layers and after max-pooling, or at the network's own dropout layers"},
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

/* ---- lists ---- */

enum { LIST_MAX = 256, WORD_MAX = 64 };

typedef struct list {
    double value[LIST_MAX];
    int count;
} list;

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
            return lli_fail(ctx, LL_ERR_USAGE,
                            "--%s names the method %s, which does not exist; expected point, sgd, sgld, bootstrap, dropout or ensemble",
                            flag, word);
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
        return lli_fail(ctx, LL_ERR_USAGE, "--%s lists more than %d values", flag, LIST_MAX);
    l->value[l->count++] = value;
    return LL_OK;
}

/* One number of a list, inside the range that fit has for it and above 0; `automatic` stands for the word auto, 0 = not allowed. */
static ll_status read_value(ll_context *ctx, double *out, const char *flag, const char *word, size_t size, double automatic) {
    size_t count;
    const ll_option *options = ll_fit_options_table(&count), *o = options;
    while (strcmp(o->name, flag) != 0)
        o++;
    bool whole = o->type == LL_OPTION_INT;
    if (automatic > 0 && size == 4 && memcmp(word, "auto", 4) == 0) {
        *out = automatic;
        return LL_OK;
    }
    lli_number x;
    bool ok = size > 0 && lli_number_parse(&x, word, size) && (!whole || x.is_integer) && x.real > 0 && x.real >= o->min &&
              x.real <= o->max && !(o->open_max && x.real == o->max);
    if (!ok)
        return lli_fail(ctx, LL_ERR_USAGE, "--%s lists %.*s; expected %s above 0 %s %g%s, with commas between them", flag,
                        size ? (int)LLI_MIN(size, 40) : 7, size ? word : "nothing", whole ? "whole numbers" : "numbers",
                        o->open_max ? "and below" : "up to", o->max, automatic > 0 ? ", or auto" : "");
    *out = x.real;
    return LL_OK;
}

/* The values of one method; where it does not read the option, or nothing is listed, the single value `otherwise`. */
static ll_status read_list(list *out, ll_context *ctx, const char *flag, const char *text, const char *method, double otherwise,
                           double automatic) {
    out->count = 0;
    const char *p = NULL;
    size_t left = 0;
    if (text)
        LLI_TRY(find_section(&p, &left, ctx, flag, text, method));
    if (!p || !ll_method_uses(method, flag)) {
        out->value[out->count++] = otherwise;
        return LL_OK;
    }
    for (;;) {
        const char *comma = memchr(p, ',', left);
        size_t size = comma ? (size_t)(comma - p) : left;
        double value = 0;
        LLI_TRY(read_value(ctx, &value, flag, p, size, automatic));
        LLI_TRY(add_value(ctx, out, flag, value));
        if (!comma)
            return LL_OK;
        p += size + 1;
        left -= size + 1;
    }
}

ll_status lli_grid_batch_size(int64_t *out, ll_context *ctx, const ll_search_options *o) {
    const char *p;
    size_t size = 0;
    double value = (double)ll_fit_options_default().batch_size;
    LLI_TRY(find_section(&p, &size, ctx, "batch-size", o->batch_size, ""));
    if (p) {
        const char *comma = memchr(p, ',', size);
        LLI_TRY(read_value(ctx, &value, "batch-size", p, comma ? (size_t)(comma - p) : size, 0));
    }
    *out = (int64_t)value;
    return LL_OK;
}

/* ---- runs ---- */

static void add_part(lli_text *name, const char *method, const char *flag, const char *letter, double value) {
    if (!ll_method_uses(method, flag))
        return;
    lli_text_add(name, "-%s", letter);
    lli_text_number(name, value);
}

static ll_status name_run(lli_run *run, ll_context *ctx) {
    const ll_fit_options *o = &run->options;
    lli_text name;
    lli_text_init(&name, ctx);
    lli_text_add(&name, "%s", o->method);
    add_part(&name, o->method, "dropout", "p", o->dropout);
    add_part(&name, o->method, "lr", "lr", o->lr);
    add_part(&name, o->method, "batch-size", "B", (double)o->batch_size);
    add_part(&name, o->method, "epochs", "E", (double)o->epochs);
    return lli_text_take(&name, &run->name);
}

static ll_status add_run(lli_grid *grid, ll_context *ctx, const ll_fit_options *options, const list *samples, const ll_dataset *train,
                         bool network) {
    if (grid->count == grid->capacity) {
        int64_t capacity = LLI_MAX(16, 2 * grid->capacity);
        LLI_TRY(lli_memory_grow(ctx, &grid->runs, grid->capacity, capacity, sizeof *grid->runs));
        grid->capacity = capacity;
    }
    lli_run *run = &grid->runs[grid->count++];
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

typedef struct lists {
    list samples, lr, batch_size, epochs, dropout;
} lists;

static ll_status read_lists(lists *l, ll_context *ctx, const ll_search_options *o, const char *method, const ll_dataset *train,
                            bool network) {
    ll_fit_options fit = ll_fit_options_default();
    double automatic = lli_fit_lr(train, network);
    LLI_TRY(read_list(&l->samples, ctx, "samples", o->samples, method, 0, 0));
    LLI_TRY(read_list(&l->lr, ctx, "lr", o->lr, method, automatic, automatic));
    LLI_TRY(read_list(&l->batch_size, ctx, "batch-size", o->batch_size, method, (double)fit.batch_size, 0));
    LLI_TRY(read_list(&l->epochs, ctx, "epochs", o->epochs, method, 0, 0));
    return read_list(&l->dropout, ctx, "dropout", o->dropout, method, fit.dropout, 0);
}

static ll_status add_method(lli_grid *grid, ll_context *ctx, const ll_search_options *o, const char *method, const ll_dataset *train,
                            bool network) {
    lists *l;
    LLI_TRY(lli_memory_new(ctx, &l, 1, sizeof *l));
    ll_status status;
    LLI_DO(read_lists(l, ctx, o, method, train, network));
    for (int b = 0; b < l->batch_size.count; b++)
        for (int e = 0; e < l->epochs.count; e++)
            for (int p = 0; p < l->dropout.count; p++)
                for (int g = 0; g < l->lr.count; g++) {
                    ll_fit_options fit = ll_fit_options_default();
                    fit.method = method;
                    fit.lr = l->lr.value[g];
                    fit.dropout = l->dropout.value[p];
                    fit.epochs = (int64_t)l->epochs.value[e];
                    fit.batch_size = (int64_t)l->batch_size.value[b];
                    fit.prior_precision = o->prior_precision;
                    fit.seed = o->seed;
                    fit.thin = o->thin;
                    fit.burn_in = o->burn_in;
                    fit.lr_t0 = o->lr_t0;
                    fit.lr_power = o->lr_power;
                    fit.shuffle = o->shuffle;
                    fit.layers = o->layers;
                    fit.dropout_at = o->dropout_at;
                    LLI_DO(add_run(grid, ctx, &fit, &l->samples, train, network));
                }
done:
    lli_memory_free(l);
    return status;
}

ll_status lli_grid_init(lli_grid *grid, ll_context *ctx, const ll_search_options *o, const ll_dataset *train, bool network) {
    *grid = (lli_grid){0};
    bool seen[16] = {false};
    ll_status status = LL_OK;
    for (const char *p = o->method; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t length = strcspn(p, ","), m = 0;
        while (m < ll_method_count() && !(strlen(ll_method_get(m)->name) == length && memcmp(ll_method_get(m)->name, p, length) == 0))
            m++;
        if (m == ll_method_count())
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                            "--method lists %.*s; expected point, sgd, sgld, bootstrap, dropout, ensemble, with commas between them",
                            length ? (int)LLI_MIN(length, 40) : 7, length ? p : "nothing"));
        if (!seen[m])
            LLI_DO(add_method(grid, ctx, o, ll_method_get(m)->name, train, network));
        seen[m] = true;
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

int64_t lli_run_steps(const lli_run *run, const ll_dataset *train, const lli_origin *origin) {
    const lli_fit fit = {.options = run->options, .data = train, .origin = origin};
    return lli_method_find(run->options.method)->steps(&fit);
}

int64_t lli_run_step_cost(const lli_run *run, const ll_dataset *train) {
    return LLI_TRAIN_COST * LLI_MIN(run->options.batch_size, train->rows.N);
}

int64_t lli_run_cost(const lli_run *run, const ll_dataset *train, const lli_origin *origin, int64_t rows) {
    int64_t members = 0;
    for (int64_t t = 0; t < run->trials; t++)
        members += run->samples[t];
    return lli_run_steps(run, train, origin) * lli_run_step_cost(run, train) + members * rows;
}
