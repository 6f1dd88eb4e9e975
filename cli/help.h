/* SPDX-License-Identifier: MIT */
/* Help pages, the man page and the shell completions: all printed from the tables of command.h. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

void help_overview(void);
void help_command(const command *cmd);
void help_man(void); /* roff, man(7) macros */
void help_complete_bash(void);
void help_complete_zsh(void);
void help_complete_fish(void);

/* "--batch-size B", "-o, --output FILE" */
void help_flag(char *out, size_t size, const ll_option *option);
/* Its sentence, with the flags it names. */
void help_sentence(char *out, size_t size, const ll_option *option);
/* The same with default and range behind it: "rows per step (default 128; a whole number of at least 1)" */
void help_text(char *out, size_t size, const ll_option *option);

bool help_shows_methods(const command *cmd); /* it has an option that names some */
/* Its summary, with its defaults behind it. */
void help_method(char *out, size_t size, const ll_method_info *method);

typedef struct exit_code {
    int value;
    const char *meaning;
} exit_code;

extern const char help_formats[]; /* which files are read, a sentence */
extern const exit_code exit_codes[];
extern const size_t exit_code_count;

typedef struct environment_variable {
    const char *name, *meaning;
} environment_variable;

extern const environment_variable environment_variables[];
extern const size_t environment_variable_count;

#endif
