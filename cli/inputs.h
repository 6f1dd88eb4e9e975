/* SPDX-License-Identifier: MIT */
/* What several commands do with their files before the work starts. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include <stdio.h>

#include "command.h"

enum { INPUTS_WHERE = 4200, INPUTS_FILES = 8 };

#define INPUTS_IMAGES "mnist, fashion, cifar10, cifar100, quickdraw" /* data that ll_images_read knows by name */

/* The files of features that a command has opened, each once. What is read from them lies in them. */
typedef struct inputs_files {
    ll_bundle *bundle[INPUTS_FILES];
    size_t count;
} inputs_files;

void inputs_files_close(inputs_files *files);
/* As ll_dataset_read, but for files that are open. */
ll_status inputs_read(ll_dataset **data, ll_context *ctx, const inputs_files *files, const char *features, const char *labels,
                      int64_t classes) LL_CHECK_RESULT;

/* The flags that name the weights of training rows. */
typedef struct weight_args {
    const char *weights, *class_weight;
} weight_args;

extern const ll_option weight_table[];
extern const size_t weight_count;
ll_status weight_read(ll_context *ctx, ll_dataset *data, const weight_args *args) LL_CHECK_RESULT;

/* The flags that name a training set and a head. */
typedef struct training_args {
    const char *features, *labels, *head, *bias, *head_layout, *init;
    weight_args weight; /* a group of its own */
    int64_t classes;
} training_args;

extern const ll_option training_table[];
extern const size_t training_count;
training_args training_defaults(void);

/* Reads what the flags name, for a fit with these options, whose init it sets. *head is NULL when theta* is to be found. */
ll_status training_read(ll_dataset **data, ll_head **head, ll_fit_options *options, ll_context *ctx, inputs_files *files,
                        const training_args *args) LL_CHECK_RESULT;

/* The flags that name validation rows. */
typedef struct val_args {
    const char *val_features, *val_labels;
} val_args;

/* As named, else those of a whole encoded file `training` (NULL: none); *val stays NULL where there are none. */
ll_status val_read(ll_dataset **val, ll_context *ctx, inputs_files *files, const val_args *args, const char *training,
                   int64_t classes) LL_CHECK_RESULT;

/* The flags that name a network and its images instead. */
typedef struct network_args {
    const char *network, *data;
} network_args;

extern const ll_option network_table[];
extern const size_t network_count;

/* A network takes images; what belongs to features has no place beside it. */
ll_status network_check(const network_args *args, const command *cmd, const parsed *typed) LL_CHECK_RESULT;
ll_status network_read(ll_network **network, ll_images **images, ll_context *ctx, const network_args *args, const weight_args *weight,
                       const char *out_data) LL_CHECK_RESULT;

extern const char *const inputs_cost_names[]; /* of the array in a file given as --costs */

/* Refuses a missing flag with the usage that has it. */
ll_status inputs_require(const char *flag, const char *value, const char *example) LL_CHECK_RESULT;
/* Refuses an output that cannot be made, or that is also an input (also through links). `inputs` FILE or FILE:NAME, NULLs are skipped. */
ll_status inputs_check_output(const char *output, const char *const *inputs, size_t count) LL_CHECK_RESULT;
bool inputs_ends_with(const char *path, const char *ending);
/* `what` ("an ensemble") is a .safetensors file: another name would mislead, or be that of somebody's data. */
ll_status inputs_check_safetensors(const char *output, const char *what) LL_CHECK_RESULT;
/* Refuses predictions without true labels. */
ll_status inputs_require_truth(const ll_predictions *predictions, const char *path) LL_CHECK_RESULT;
/* "a,b,c" in a copy of its own, cut at the commas; nothing where the text is NULL. */
typedef struct inputs_list {
    char *text; /* to free */
    const char *item[OPERANDS_MAX];
    size_t count;
} inputs_list;
/* Refuses a list that has not `expected` entries, one for each method, nor one for all where that is allowed. */
ll_status inputs_split(inputs_list *out, const char *flag, const char *text, size_t expected, bool one_for_all) LL_CHECK_RESULT;
/* Value of --part, I/N; 0 and 0 where it is NULL. */
ll_status inputs_part(int64_t *part, int64_t *parts, const char *text) LL_CHECK_RESULT;
/* PATH.part-I-of-N of --part I/N, a good one; PATH itself where it is NULL. */
void inputs_part_path(char out[INPUTS_WHERE], const char *path, const char *part);
/* Is this path where our stdout goes? */
bool inputs_is_stdout(const char *path);
/* The output is whole; its summary goes to what is returned: standard output, unless that took the output itself. */
FILE *inputs_written(const char *output);
/* Labels that a container has beside its features (labels_train beside features_train): FILE:NAME in `out`, or "". */
ll_status inputs_find_labels(char out[INPUTS_WHERE], ll_context *ctx, inputs_files *files, const char *features) LL_CHECK_RESULT;

/* What a file of lastlayer encode holds: FILE:NAME of its arrays, "" where one is missing. */
typedef struct inputs_parts {
    bool whole; /* `where` names a file, not an array, and that file has a part for training or testing */
    char train[INPUTS_WHERE], val[INPUTS_WHERE], val_labels[INPUTS_WHERE], test[INPUTS_WHERE], test_labels[INPUTS_WHERE], out[INPUTS_WHERE];
    char head[INPUTS_WHERE], bias[INPUTS_WHERE];
} inputs_parts;

ll_status inputs_find_parts(inputs_parts *parts, ll_context *ctx, inputs_files *files, const char *where) LL_CHECK_RESULT;

#endif
