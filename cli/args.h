/* SPDX-License-Identifier: MIT */
/* Command lines into option structs, driven by option tables. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "command.h"

/* The arguments of a command at their defaults, with room for what all commands have; to free. NULL if memory ran out. */
void *args_new(const command *cmd);
/* The groups of the command, then that of all commands. */
size_t args_groups(const command *cmd, option_group out[GROUPS_MAX]);
/* Value of --memory in bytes; 0 where it was not given. */
ll_status args_memory(int64_t *out, const command *cmd, const void *args) LL_CHECK_RESULT;
/* Value of --deadline, which lastlayer-mpi has. */
double args_deadline(const command *cmd, const void *args);

/* Fills `args` (already at its defaults) from argv[0..argc). Every typed value is checked, also those that will not be used. */
ll_status args_parse(parsed *out, void *args, ll_context *ctx, const command *cmd, int argc, char **argv) LL_CHECK_RESULT;

/* The option called `name`, or NULL; `group` and `index` (may be NULL) say where. */
const ll_option *args_find(const command *cmd, const char *name, size_t *group, size_t *index);
bool args_given(const parsed *typed, const command *cmd, const char *name);
/* Value of the whole-number option `name`, or `otherwise` where the command has none. */
int64_t args_int(const command *cmd, const void *args, const char *name, int64_t otherwise);

/* Is this option of the group part of the command? */
bool args_has(const option_group *group, size_t index);

/* "a number in (0,1)": what a value may be. Unless `exact`, bounds that only guard the machine are left out. */
void args_range(char *out, size_t size, const ll_option *option, bool exact);

/* Number of single-letter edits (insert, delete, replace, swap) between two words. */
int args_distance(const char *a, const char *b);

#endif
