/* SPDX-License-Identifier: MIT */
/* Array views: sizes, single elements, conversion of runs. */
#ifndef LLI_BASE_ARRAY_H
#define LLI_BASE_ARRAY_H

#include "base/context.h"

/* Refuses what cannot be right: a type, rank or shape that does not exist, no data. */
ll_status lli_array_check(ll_context *ctx, const char *name, const ll_array *a) LL_CHECK_RESULT;
int64_t lli_array_count(const ll_array *a); /* elements; shapes in the library never overflow */
/* The same where nothing is known: false if a dimension is negative or count * size overflows, empty axes taken for 1. */
bool lli_array_count_checked(int64_t *out, int rank, const int64_t *shape, size_t size);
bool lli_array_is_integer(ll_dtype dtype); /* bool counts as one */
bool lli_array_is_real(ll_dtype dtype);
bool lli_array_is_dense(const ll_array *a);                                      /* row-major, nothing between the elements */
void lli_array_copy(void *out, const ll_array *a, int64_t first, int64_t count); /* elements first.. of the flat array, as they are */
/* These see through strides. */
double lli_array_real(const ll_array *a, int64_t i);                 /* element i of the flat array as f64 */
int64_t lli_array_integer(const ll_array *a, int64_t i, bool *fits); /* of an integer array; *fits = false above INT64_MAX */
void lli_array_to_f32(float *out, const ll_array *a, int64_t first, int64_t count);
void lli_array_to_f64(double *out, const ll_array *a, int64_t first, int64_t count);
/* Stores x as dtype at index i: rounds for reals; integers saturate and drop the fraction. */
void lli_array_store(void *data, ll_dtype dtype, int64_t i, double x);
bool lli_array_dtype_parse(ll_dtype *out, const char *name);

/* "[50000,64] f16", for messages. */
enum { LLI_ARRAY_TEXT = 256 };
const char *lli_array_text(char out[LLI_ARRAY_TEXT], const ll_array *a);

/* The place of the first of n numbers that is not finite; n if there is none. */
int64_t lli_array_not_finite(const float *x, int64_t n);

#endif
