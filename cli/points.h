/* SPDX-License-Identifier: MIT */
/* Points to judge, as the commands after lastlayer predict take them: predictions, or the outputs of any classifier, with their labels. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include "command.h"

typedef struct points_args {
    const char *labels, *probs, *logits, *ood;
} points_args;

extern const ll_option points_table[]; /* `ood` is the last: commands that do not take it say so in their group */
extern const size_t points_count;

/* Expects one of the operand, called `name`, and the two kinds of outputs; outputs need labels. */
ll_status points_check(const points_args *args, const char *operand, const char *name, const char *example) LL_CHECK_RESULT;
/* The flag that names outputs, without dashes; NULL where the operand names predictions. */
const char *points_flag(const points_args *args);
/* The file they are in: the operand, or that of the flag. */
const char *points_file(const points_args *args, const char *operand);
/* `file` is of the kind that the command was asked for: predictions, probabilities or logits. */
ll_status points_read(ll_predictions **out, ll_context *ctx, const points_args *args, const char *file, const char *labels) LL_CHECK_RESULT;
/* The points themselves, which must have labels, and those out of distribution: *others is NULL where `ood` names no file. */
ll_status points_read_all(ll_predictions **points, ll_predictions **others, ll_context *ctx, const points_args *args,
                          const char *operand) LL_CHECK_RESULT;

#endif
