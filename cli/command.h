/* SPDX-License-Identifier: MIT */
/* What a subcommand is: its words, its option tables, and the function that runs it. Parsing, --help, the man page and the
 * completions all read these tables, so they cannot disagree. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "lastlayer.h"

enum { GROUPS_MAX = 8, GROUP_OPTIONS_MAX = 64, OPERANDS_MAX = 16 };

/* Options under one heading. The table's struct lies at `base` in the command's arguments. */
typedef struct option_group {
    const char *title;
    const ll_option *table;
    size_t count, base;
    const char *without; /* one option of the table that this command does not have, or NULL */
    uint64_t hidden;     /* bit i: nor option i, for that reason or because a group before has its name; filled by args_groups */
} option_group;

/* What the user typed. */
typedef struct parsed {
    const char *operand;                /* the first argument without a flag, or NULL */
    const char *operands[OPERANDS_MAX]; /* all of them */
    size_t operand_count;
    bool help;
    uint64_t given[GROUPS_MAX]; /* bit i of group g: this option was typed */
} parsed;

typedef struct command {
    const char *name, *summary;
    const char *usage;   /* what follows the name; one line per way to call it */
    const char *operand; /* what help calls the argument without a flag, NULL if there is none */
    const char *operand_help;
    bool several;                /* may come more than once */
    bool together;               /* the ranks of lastlayer-mpi divide the work; of other commands rank 0 does it */
    const char *detail;          /* a paragraph or more */
    const char *const *examples; /* NULL-terminated; each line works when pasted */
    size_t args_size;
    void (*defaults)(void *args);
    size_t (*groups)(option_group out[GROUPS_MAX]);
    ll_status (*run)(ll_context *ctx, const void *args, const parsed *typed);
} command;

extern const command cmd_train, cmd_import, cmd_encode, cmd_fit, cmd_diagnose, cmd_calibrate, cmd_predict, cmd_evaluate, cmd_threshold,
    cmd_certify, cmd_verify, cmd_sets, cmd_merge, cmd_compare, cmd_search, cmd_reproduce, cmd_report, cmd_inspect, cmd_convert;

/* All of them, in the order of the pipeline. */
extern const command *const commands[];
extern const size_t command_count;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
