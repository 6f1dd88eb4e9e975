/* SPDX-License-Identifier: MIT */
/* A certificate as a file of its own, and in the ensemble that it is about. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "ensemble/ensemble.h"
#include "formats/text_file.h"
#include "report/certificate_text.h"

ll_status ll_certificate_write(ll_context *ctx, const char *path, const ll_certificate *certificate) {
    LLI_NEED(ctx, path, certificate);
    char *json;
    LLI_TRY(ll_certificate_text(&json, ctx, certificate, LL_TEXT_JSON));
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_append(&text, json, (int64_t)strlen(json));
    ll_status status = lli_text_file_write(ctx, path, &text);
    lli_text_release(&text);
    ll_text_free(json);
    return status;
}

/* Counts one more use of the rows; `record` gets the new list. */
static int64_t count_use(lli_text *record, const char *before, const char *rows) {
    int64_t uses = 1;
    for (const char *line = before ? before : ""; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n"), name = strlen(rows);
        bool same = length > name && strncmp(line, rows, name) == 0 && line[name] == ' ';
        if (!same) {
            lli_text_append(record, line, (int64_t)length);
            lli_text_append(record, "\n", 1);
            continue;
        }
        int64_t found = 0;
        for (const char *c = line + name + 1; *c >= '0' && *c <= '9' && found < INT32_MAX; c++)
            found = 10 * found + (*c - '0');
        uses = found + 1;
    }
    lli_text_add(record, "%s %" PRId64, rows, uses);
    return uses;
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_certificate *c) {
    char hash[LLI_HASH_TEXT], said[LLI_HASH_TEXT];
    if (!*c->ensemble_hash || !*c->features_hash)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the certificate does not say which ensemble and which rows it was made of; make it of a file that this version of "
                        "lastlayer predict wrote");
    LLI_TRY(lli_ensemble_hash_anew(ctx, e, hash));
    lli_ensemble_hash(e, said);
    if (strcmp(hash, said) != 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the array " LLI_FINGERPRINT_ARRAY
                        " of the ensemble is not that of its members, so nothing says which ensemble was "
                        "predicted with; remove the array, predict and certify again");
    if (strcmp(hash, c->ensemble_hash) != 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the certificate is of another ensemble, or of this one with another calibration: its SHA-256 is %.12s..., that of "
                        "this ensemble %.12s...; predict with this ensemble and certify again",
                        c->ensemble_hash, hash);
    if (strcmp(c->label_rule, "mean") != 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "the certificate is of labels that were decided by %.40s, and an ensemble stores one for labels by the mean "
                        "probability",
                        c->label_rule);
    return LL_OK;
}

/* The parts of the record that belong to the certificate. */
static ll_status record(ll_context *ctx, lli_provenance *p, const ll_certificate *c) {
    char *json = NULL, *statement = NULL;
    ll_status status;
    LLI_DO(ll_certificate_text(&json, ctx, c, LL_TEXT_JSON));
    LLI_DO(lli_certificate_text_promise(&statement, ctx, c));
    LLI_DO(lli_provenance_set(ctx, p, LLI_CERTIFICATE_JSON, json));
    LLI_DO(lli_provenance_set(ctx, p, LLI_CERTIFICATE_STATEMENT, statement));
    LLI_DO(lli_provenance_set(ctx, p, LLI_CERTIFICATE_BY, ll_confidence_name(c->info.by)));
    LLI_DO(lli_provenance_set(ctx, p, LLI_CERTIFICATE_ENSEMBLE, c->ensemble_hash));
done:
    ll_text_free(json);
    ll_text_free(statement);
    return status;
}

ll_status ll_ensemble_set_certificate(ll_context *ctx, ll_ensemble *ensemble, ll_certificate *certificate) {
    LLI_NEED(ctx, ensemble, certificate);
    LLI_TRY(check(ctx, ensemble, certificate));
    lli_ensemble_plan *plan = &ensemble->plan;
    lli_provenance *p = &plan->provenance;
    double *cut = NULL;
    lli_text used;
    lli_text_init(&used, ctx);
    ll_status status;
    int64_t uses = count_use(&used, lli_provenance_get(p, LLI_CERTIFIED_ROWS), certificate->features_hash);
    LLI_DO(used.status);
    LLI_DO(lli_memory_new(ctx, &cut, plan->K, sizeof *cut));
    LLI_DO(lli_provenance_set(ctx, p, LLI_CERTIFIED_ROWS, used.data));
    certificate->uses = uses;
    if (uses > 1)
        lli_log(ctx, LL_LOG_WARNING,
                "these rows were used %" PRId64 " times: all certificates from them hold together with probability %g, not %g", uses,
                LLI_MAX(0.0, 1 - (double)uses * (1 - certificate->info.confidence)), certificate->info.confidence);
    if (certificate->info.certified) {
        for (int64_t k = 0; k < plan->K; k++) { /* a class without a cut is never answered */
            const ll_certificate_info *own = ll_certificate_class(certificate, k), *info = own ? own : &certificate->info;
            cut[k] = info->certified ? info->cut : INFINITY;
        }
        LLI_DO(record(ctx, p, certificate));
        lli_memory_free(plan->cut);
        plan->cut = cut;
        cut = NULL;
    }
done:
    lli_memory_free(cut);
    lli_text_release(&used);
    return status;
}
