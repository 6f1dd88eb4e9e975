/* SPDX-License-Identifier: MIT */
/* S members: stored parameters, or one parameter vector and what makes members of it: masks, or draws from a Gaussian around it. */
#ifndef LLI_ENSEMBLE_ENSEMBLE_H
#define LLI_ENSEMBLE_ENSEMBLE_H

#include "base/bundle.h"
#include "base/hash.h"
#include "base/text.h"
#include "ensemble/fingerprint.h"
#include "ensemble/gaussian.h"
#include "model/network.h"
#include "scores/scores.h"

/* The provenance record: what decides the numbers, and nothing else. Key-value pairs in a fixed order. */
typedef struct lli_provenance {
    ll_meta *pairs;
    int64_t count, capacity;
} lli_provenance;

ll_status lli_provenance_add(ll_context *ctx, lli_provenance *p, const char *key, const char *value) LL_CHECK_RESULT;
ll_status lli_provenance_add_text(ll_context *ctx, lli_provenance *p, const char *key, lli_text *value) LL_CHECK_RESULT; /* releases it */
ll_status lli_provenance_add_number(ll_context *ctx, lli_provenance *p, const char *key, double x) LL_CHECK_RESULT;
/* An option by its row, under its name with `prefix` in front. */
ll_status lli_provenance_add_option(ll_context *ctx, lli_provenance *p, const char *prefix, const ll_option *option,
                                    const void *options) LL_CHECK_RESULT;
const char *lli_provenance_get(const lli_provenance *p, const char *key); /* NULL if absent */
/* Replaces the value of a key, which keeps its place; NULL removes the pair. */
ll_status lli_provenance_set(ll_context *ctx, lli_provenance *p, const char *key, const char *value) LL_CHECK_RESULT;
void lli_provenance_release(lli_provenance *p);

/* The metadata entry `format` of an ensemble's file. Another meaning of its arrays or entries is another number: 1 are heads, 2
 * networks. */
#define LLI_ENSEMBLE_FORMAT "lastlayer-ensemble-1"
#define LLI_ENSEMBLE_FORMAT_NETWORK "lastlayer-ensemble-2"

/* What the record says of a certificate, NULL-terminated: its JSON, its promise in words, the confidence that it cuts, and the
 * lli_ensemble_hash that it was made for. Its cut is an array. */
extern const char *const lli_certificate_entries[];
#define LLI_CERTIFICATE_JSON "certificate"
#define LLI_CERTIFICATE_STATEMENT "certificate_statement"
#define LLI_CERTIFICATE_BY "certificate_by"
#define LLI_CERTIFICATE_ENSEMBLE "certificate_ensemble_sha256"
/* How often rows were certified on, "SHA256 COUNT" line by line: it outlives the certificates. */
#define LLI_CERTIFIED_ROWS "certified_rows"
/* The JSON of a diagnosis of its chains. */
#define LLI_DIAGNOSIS_JSON "diagnosis"
/* Lines, one name each. */
#define LLI_CLASS_NAMES "class_names"

/* What a network takes in: images [height,width,channels], or plain features [1,1,D]. Bytes become (byte - shift) * scale. */
typedef struct lli_input_shape {
    int64_t height, width, channels;
} lli_input_shape;

/* The rows as a network with this input sees them: bytes with its own shift and scale. */
void lli_ensemble_apply_input(lli_rows *rows, const lli_input_shape *input, const double scaling[2]);

/* What is known of an ensemble before its first member exists. */
typedef struct lli_ensemble_plan {
    const char *method;
    const lli_model *model; /* whose tensors a member is; borrowed in a plan, an ensemble has its own */
    int64_t S, K, D;
    int64_t stored;        /* parameter vectors kept: S, or 1 for dropout and draws */
    uint32_t drop16;       /* dropout rate in 2^-16; 0 = members are stored */
    bool drop_own;         /* at the network's own dropout layers */
    bool by_content;       /* what is random at prediction goes by the content of a row, not by its number: predict/row_key.h */
    uint64_t seed;         /* of the masks, or the draws */
    lli_gaussian gaussian; /* whose draws the members are; none: they are stored, or masks */
    lli_scores scores;     /* from features, that predictions have too */
    double *weight;        /* [S] */
    const char *net;       /* text of the network, an entry of the provenance; NULL: members are heads */
    lli_input_shape input; /* of the network */
    double scaling[2];     /* shift and scale of the input, as the file has them */
    double *calibration;   /* [2,K] p = softmax(calibration[0] o log p_hat + calibration[1]); NULL: p = p_hat */
    double *cut;           /* [K] of a certificate, by decided class: answer when the confidence is at least this; NULL: none */
    lli_provenance provenance;
} lli_ensemble_plan;

void lli_ensemble_plan_release(lli_ensemble_plan *plan);

struct ll_ensemble {
    lli_ensemble_plan plan;
    const float *tensor[LLI_TENSORS_MAX]; /* [stored, shape of the model's tensor] each */
    float *owned[LLI_TENSORS_MAX];        /* NULL when the views point into a file */
    lli_fingerprint *fingerprint;         /* [stored] of the members */
    ll_bundle *file;                      /* that the views point into; NULL: none */
    lli_network *network;                 /* NULL for heads */
    lli_model head;                       /* what plan.model is for a head: its tensors, and nothing that computes */
};

/* Takes the plan over (also on failure) and allocates its members. */
ll_status lli_ensemble_new(ll_ensemble **out, ll_context *ctx, lli_ensemble_plan *plan) LL_CHECK_RESULT;
/* SHA-256 of the fingerprints' SHA-256, weights, scaling, calibration and masks; not of the cut, and not of the record. */
void lli_ensemble_hash(const ll_ensemble *ensemble, char out[LLI_HASH_TEXT]);
/* The same, with the SHA-256 of the members taken anew: for who relies on it, since a file may have others. */
ll_status lli_ensemble_hash_anew(ll_context *ctx, const ll_ensemble *ensemble, char out[LLI_HASH_TEXT]) LL_CHECK_RESULT;
/* The first S members, as a view that lives as long as `ensemble`: what fitting S members gives, bit for bit. Not to be freed or
 * written. */
ll_ensemble lli_ensemble_prefix(const ll_ensemble *ensemble, int64_t S);
/* Scores as the record names them, from the arrays of a file; where theta* is missing, the mean of the members is meant. */
ll_status lli_ensemble_take_scores(ll_context *ctx, ll_ensemble *e, const ll_bundle *bundle, const char *path) LL_CHECK_RESULT;
/* Member s alone, of members that are stored, without the calibration, the cut and the scores of the ensemble; a view as above. */
ll_ensemble lli_ensemble_member(const ll_ensemble *ensemble, int64_t s);
/* From a file's arrays and metadata; takes the bundle over on success. */
ll_status lli_ensemble_from(ll_ensemble **out, ll_context *ctx, ll_bundle *bundle, const char *path) LL_CHECK_RESULT;

/* The arrays of the file format: the model's tensors with a leading axis [stored], f32, the fingerprints [stored,64], u8, then weight [S],
 * f64. A head has W [stored,K,D] and b [stored,K]. A network has `scaling` too: shift and scale of its input, [2] f64. A calibrated
 * ensemble has `calibration` [2,K] f64, one with a certificate `cut` [K] f64, one of draws the factors of its Gaussian, one with scores
 * their statistics. Returns how many; those of the first lli_ensemble_by_member, which have a row for each member, have NULL as data. */
enum { LLI_ENSEMBLE_ARRAYS_MAX = LLI_TENSORS_MAX + 5 + LLI_GAUSSIAN_ARRAYS + LLI_SCORES_ARRAYS };
int64_t lli_ensemble_arrays(ll_named_array out[LLI_ENSEMBLE_ARRAYS_MAX], const lli_ensemble_plan *plan);
static inline int lli_ensemble_by_member(const lli_ensemble_plan *plan) {
    return plan->model->tensors + 1;
}
/* The same arrays with all their data. */
int64_t lli_ensemble_list(ll_named_array out[LLI_ENSEMBLE_ARRAYS_MAX], const ll_ensemble *ensemble);
int64_t lli_ensemble_bytes(const ll_ensemble *ensemble); /* of all of them but the scores' */

#endif
