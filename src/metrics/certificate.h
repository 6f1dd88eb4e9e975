/* SPDX-License-Identifier: MIT */
/* A certificate: what was promised, how it was tested, and what came out. */
#ifndef LLI_METRICS_CERTIFICATE_H
#define LLI_METRICS_CERTIFICATE_H

#include "base/hash.h"
#include "metrics/certify.h"

enum { LLI_CERTIFICATE_RULE_VERSION = 1 }; /* another way to propose, order or test cuts is another number */

struct ll_certificate {
    ll_certificate_info info;
    lli_certify_promise promise;     /* the risk as a loss in (0,1) */
    lli_certify_result result;       /* of the one cut; with cuts for each class their rows together, and no test */
    lli_certify_result *class_tests; /* [info.classes] NULL: one cut for all */
    ll_certificate_info *class_info; /* [info.classes] */
    double *costs;                   /* [K,K] NULL: none */
    int64_t K;                       /* of costs */
    lli_certify_sgr sgr;
    uint64_t seed;
    char rows_hash[LLI_HASH_TEXT], labels_hash[LLI_HASH_TEXT];       /* of the confidence and the decided classes; of the true ones */
    char features_hash[LLI_HASH_TEXT], ensemble_hash[LLI_HASH_TEXT]; /* that were predicted, and by what; "" if unknown */
    char label_rule[16];                                             /* how labels were decided; "" if unknown */
    int64_t uses;                                                    /* of these rows, this one included; 0 = not known */
};

/* The caller's options, checked as far as they can be without rows. */
ll_status lli_certify_options_take(ll_context *ctx, ll_certify_options *out, const ll_certify_options *given) LL_CHECK_RESULT;

#endif
