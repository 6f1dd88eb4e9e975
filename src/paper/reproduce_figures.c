/* SPDX-License-Identifier: MIT */
/* The figures of the paper, drawn from the predictions of the chosen trials: RESULTS/NAME/figures/FIGURE.svg. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/file.h"
#include "formats/text_file.h"
#include "paper/chosen.h"
#include "paper/reproduce.h"
#include "report/figure_file.h"

enum { METHODS_MAX = 24 };

typedef struct figures {
    const char *folder, *task;
    lli_chosen chosen[METHODS_MAX];
    lli_text names[METHODS_MAX];
    lli_page_method methods[METHODS_MAX];
    int64_t count;
} figures;

static ll_status write_figure(ll_context *ctx, void *state, const char *name, const lli_text *svg) {
    const figures *f = state;
    if ((strcmp(f->task, "ood") == 0) != (strcmp(name, "ood") == 0)) /* each figure of the task that it is about */
        return LL_OK;
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s.svg", f->folder, name);
    ll_status status = path.status == LL_OK ? lli_text_file_write(ctx, path.data, svg) : path.status;
    lli_text_release(&path);
    return status;
}

static ll_status add_method(ll_context *ctx, figures *f, const lli_reproduced_row *row, const char *store, bool unknown) {
    if (f->count == METHODS_MAX || row->seeds == 0)
        return LL_OK;
    lli_chosen *chosen = &f->chosen[f->count];
    LLI_TRY(lli_chosen_read(chosen, ctx, store, row->protocol, row->trial[0]));
    if (!chosen->points)
        return LL_OK;
    lli_text *name = &f->names[f->count];
    lli_text_init(name, ctx);
    lli_text_add(name, "%s%s%s", row->method, strcmp(row->scope, "last") == 0 ? "" : " ",
                 strcmp(row->scope, "last") == 0 ? "" : row->scope);
    LLI_TRY(name->status);
    f->methods[f->count++] = (lli_page_method){.name = name->data,
                                               .points = *ll_predictions_view(chosen->points),
                                               .out_points = unknown ? ll_predictions_view(ll_predictions_out(chosen->points)) : NULL,
                                               .evaluation = chosen->evaluation,
                                               .S = row->trial[0]->samples};
    return LL_OK;
}

/* Point first, then the others in the order of the table: colours then mean the same in every figure. */
static ll_status add_methods(ll_context *ctx, figures *f, const lli_reproduced_row *rows, const char *const *stores, int64_t count) {
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < count; i++)
            if ((strcmp(rows[i].method, "point") == 0) == (pass == 0) && strcmp(rows[i].task, f->task) == 0 &&
                strcmp(rows[i].protocol, "honest") == 0)
                LLI_TRY(add_method(ctx, f, &rows[i], stores[i], strcmp(f->task, "ood") == 0));
    return LL_OK;
}

static ll_status draw_task(ll_context *ctx, const char *folder, int task, const lli_reproduced_row *rows, const char *const *stores,
                           int64_t count) {
    figures *f;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &f, 1, sizeof *f));
    f->folder = folder;
    f->task = lli_tasks[task];
    LLI_DO(add_methods(ctx, f, rows, stores, count));
    const lli_page page = {.title = f->task, .methods = f->methods, .count = f->count};
    if (f->count)
        LLI_DO(lli_figure_file_each(ctx, &page, write_figure, f));
done:
    for (int64_t i = 0; i < METHODS_MAX; i++) {
        lli_chosen_release(&f->chosen[i]);
        lli_text_release(&f->names[i]);
    }
    lli_memory_free(f);
    return status;
}

ll_status lli_reproduce_figures(ll_context *ctx, const lli_reproduce *r, const lli_reproduced_row *rows, const char *const *stores,
                                int64_t count) {
    lli_text folder;
    ll_status status;
    lli_text_init(&folder, ctx);
    lli_text_add(&folder, "%s/%s%s/figures", r->options.results, r->experiment.name, lli_reproduce_suffix(r));
    LLI_DO(folder.status);
    LLI_DO(lli_file_make_folder(ctx, folder.data));
    for (int task = 0; task < LLI_TASKS; task++)
        LLI_DO(draw_task(ctx, folder.data, task, rows, stores, count));
done:
    lli_text_release(&folder);
    return status;
}
