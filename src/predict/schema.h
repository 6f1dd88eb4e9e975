/* SPDX-License-Identifier: MIT */
/* The one table of what predictions hold: in memory, in .npz and .csv, in docs/manual/files.md. A new array is a row here and its
 * computation; nothing else names it. */
#ifndef LLI_PREDICT_SCHEMA_H
#define LLI_PREDICT_SCHEMA_H

#include "base/context.h"

/* What an array depends on; several may hold at once. */
enum {
    LLI_WHEN_PROBS = 1,     /* unless no-probs */
    LLI_WHEN_MEMBERS = 2,   /* S > 1 */
    LLI_WHEN_TRUTH = 4,     /* the true classes are known */
    LLI_WHEN_THRESHOLD = 8, /* a threshold was given, or a certificate has one */
    LLI_WHEN_RUNNING = 16,  /* scores of the first s members are wanted */
    LLI_WHEN_CHOSEN = 32,   /* rows whose members are kept one by one */
    LLI_WHEN_PICKED = 64,   /* only some rows of a data set are here; no pass makes it */
    LLI_WHEN_SCORE = 128,   /* times the bit of a score in its set: the ensemble has that score */
};

/* What the rows of a block are decided by. */
typedef struct lli_predict_rule {
    bool by_votes;       /* label = vote */
    const double *costs; /* [K,K]: label = least expected cost; NULL: none. Not both. */
    bool cuts;           /* there is a threshold */
    ll_confidence by;    /* what it cuts */
    double threshold;
    const double *cut; /* [K] of a certificate, by decided class, in place of the threshold; NULL: none */
} lli_predict_rule;

enum { LLI_ANSWER_UNKNOWN = -1 };

/* The array of a block of n rows, made of what the predictor answered, when all of that is there. */
typedef void lli_field_fill(void *out, const ll_prediction *answered, const lli_predict_rule *rule, int64_t n, int64_t K,
                            double *workspace /* [2,K] */);

typedef struct lli_field {
    ll_field info;
    unsigned when;        /* LLI_WHEN_... that must all hold; 0 = always */
    size_t in_prediction; /* offset of its pointer in ll_prediction, 0 = it has none */
    size_t in_outcome;    /* and in ll_outcome; of a matrix: of an ll_array */
    bool classes;         /* class numbers, checked when read */
    lli_field_fill *fill; /* of a block; NULL: the predictor's own, or over all rows */
} lli_field;

enum { LLI_FIELDS_MAX = 64, LLI_FIELD_NAME = 32, LLI_FIELD_AXES = 2 };

int lli_schema_count(void);
const lli_field *lli_schema_get(int i);
int lli_schema_find(const char *name); /* -1 if there is none */

/* N rows, K classes, S members, R chosen rows; -1 = not known yet, 0 = none. */
typedef struct lli_schema_sizes {
    int64_t N, K, S, R;
} lli_schema_sizes;

/* Axes of an array, [N,K] and such; returns their number. */
int lli_schema_shape(int64_t shape[LLI_FIELD_AXES], const lli_field *field, const lli_schema_sizes *sizes);
/* Has one entry per row: these go into tables, and into what is kept of out-of-distribution rows. */
bool lli_schema_by_row(const lli_field *field);

/* A list of named arrays, as sinks take it. */
typedef struct lli_schema_list {
    ll_named_array arrays[2 * LLI_FIELDS_MAX];
    char names[2 * LLI_FIELDS_MAX][LLI_FIELD_NAME];
    int64_t count;
} lli_schema_list;

#define LLI_SCHEMA_OUT "out_" /* before the names of arrays of out-of-distribution rows */

int64_t lli_schema_add(lli_schema_list *list, const char *prefix, const lli_field *field, ll_array array); /* its place */

#endif
