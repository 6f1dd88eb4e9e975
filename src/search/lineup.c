/* SPDX-License-Identifier: MIT */
/* The rows that compare may have, and those of one call. */
#include "search/lineup.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Row i of all, point first, the groups one after the other; false behind the last. */
static bool row_at(lli_lineup_row *out, size_t i) {
    size_t at = 0;
    for (int g = 0; g < LLI_GROUPS; g++)
        for (size_t m = 0; m < ll_method_count(); m++) {
            const lli_method *method = lli_method_find(ll_method_get(m)->name);
            if (strcmp(method->info.group, lli_method_groups[g]) != 0)
                continue;
            *out = (lli_lineup_row){.method = method};
            if (at++ == i)
                return true;
            for (const lli_variant *v = method->variants; v && v->name; v++) {
                out->variant = v;
                if (at++ == i)
                    return true;
            }
        }
    return false;
}

const char *lli_lineup_name(const lli_lineup_row *row) {
    return row->variant ? row->variant->name : row->method->info.name;
}

const char *ll_compare_name(size_t i) {
    lli_lineup_row row;
    return row_at(&row, i) ? lli_lineup_name(&row) : NULL;
}

static bool applies(const lli_lineup_row *row, lli_place place) {
    return row->method->places & place && (!row->variant || row->variant->places & place);
}

static bool lists(const char *methods, const char *name) {
    for (const char *p = methods; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strcspn(p, ",") == strlen(name) && strncmp(p, name, strlen(name)) == 0)
            return true;
    return false;
}

static ll_status fail_name(ll_context *ctx, const char *word, size_t length) {
    lli_text names;
    lli_text_init(&names, ctx);
    for (size_t i = 0; ll_compare_name(i); i++)
        lli_text_add(&names, "%s%s", i ? ", " : "", ll_compare_name(i));
    ll_status status = lli_fail(ctx, LL_ERR_USAGE, "`methods` lists %.*s; expected default, all, or of %s some with commas between them",
                                length ? (int)LLI_MIN(length, 40) : 7, length ? word : "nothing", names.data ? names.data : "");
    lli_text_release(&names);
    return status;
}

static ll_status check_names(ll_context *ctx, const char *methods) {
    for (const char *p = methods; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t length = strcspn(p, ",");
        bool known = false;
        for (size_t i = 0; !known && ll_compare_name(i); i++)
            known = strlen(ll_compare_name(i)) == length && strncmp(p, ll_compare_name(i), length) == 0;
        if (!known)
            return fail_name(ctx, p, length);
    }
    return LL_OK;
}

/* Where a name does not apply, the method says why, or the variant is for heads. */
static ll_status check_place(ll_context *ctx, const lli_lineup_row *row, lli_place place) {
    LLI_TRY(lli_method_check(ctx, row->method, place));
    return applies(row, place)
               ? LL_OK
               : lli_fail(ctx, LL_ERR_USAGE, "%s works on the last layer alone: take it off the list of `methods`", lli_lineup_name(row));
}

static void tell_left_out(ll_context *ctx, const lli_text *names) {
    if (names->status == LL_OK && names->length)
        lli_log(ctx, LL_LOG_NOTE, "left out, since they do not apply here: %s", names->data);
}

static ll_status fill(lli_lineup *out, ll_context *ctx, const char *methods, lli_place place, const ll_fit_options *given,
                      lli_text *left_out) {
    const unsigned seldom = LLI_NEEDS_RECIPE | LLI_NEEDS_TIME | LLI_NEEDS_NAMING;
    bool all = strcmp(methods, "all") == 0, standard = strcmp(methods, "default") == 0;
    lli_lineup_row row;
    if (!all && !standard)
        LLI_TRY(check_names(ctx, methods));
    for (size_t i = 0; row_at(&row, i); i++) {
        bool wanted = all ? !(row.variant && lli_method_variant_is_set(row.variant, given))
                          : standard && !row.variant && !(row.method->needs & seldom);
        row.named = !all && !standard && lists(methods, lli_lineup_name(&row));
        if (row.named)
            LLI_TRY(check_place(ctx, &row, place));
        if (all && wanted && !applies(&row, place))
            lli_text_add(left_out, "%s%s", left_out->length ? ", " : "", lli_lineup_name(&row));
        if (i == 0 || row.named || (wanted && applies(&row, place)))
            out->rows[out->count++] = row;
    }
    return LL_OK;
}

ll_status lli_lineup_init(lli_lineup *out, ll_context *ctx, const char *methods, lli_place place, const ll_fit_options *given) {
    int64_t most = 0;
    lli_text left_out;
    *out = (lli_lineup){0};
    while (ll_compare_name((size_t)most))
        most++;
    LLI_TRY(lli_memory_new(ctx, &out->rows, most, sizeof *out->rows));
    lli_text_init(&left_out, ctx);
    ll_status status = fill(out, ctx, methods, place, given, &left_out);
    if (status == LL_OK)
        tell_left_out(ctx, &left_out);
    lli_text_release(&left_out);
    return status;
}

void lli_lineup_release(lli_lineup *lineup) {
    lli_memory_free(lineup->rows);
    *lineup = (lli_lineup){0};
}
