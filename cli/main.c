/* SPDX-License-Identifier: MIT */
/* The command `lastlayer`: finds the subcommand, parses, runs, and turns its status into the exit code. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "help.h"
#include "ranks.h"
#include "term.h"

const command *const commands[] = {
    &cmd_train,    &cmd_import,    &cmd_encode,  &cmd_fit,     &cmd_diagnose, &cmd_calibrate, &cmd_predict,
    &cmd_evaluate, &cmd_threshold, &cmd_certify, &cmd_verify,  &cmd_sets,     &cmd_compare,   &cmd_search,
    &cmd_merge,    &cmd_reproduce, &cmd_report,  &cmd_inspect, &cmd_convert,
};
const size_t command_count = COUNT(commands);

typedef struct page {
    const char *name;
    void (*print)(void);
} page;

static const page pages[] = {
    {"man", help_man},
    {"bash", help_complete_bash},
    {"zsh", help_complete_zsh},
    {"fish", help_complete_fish},
};

static const command *find(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static ll_status unknown_command(const char *name) {
    const char *nearest = "help";
    int best = args_distance(name, nearest);
    for (size_t i = 0; i < command_count; i++) {
        int distance = args_distance(name, commands[i]->name);
        if (distance < best) {
            best = distance;
            nearest = commands[i]->name;
        }
    }
    return complain(LL_ERR_USAGE, "unknown command %s; the nearest one is %s (all: lastlayer --help)", name, nearest);
}

static ll_status help(int argc, char **argv) {
    if (argc > 1)
        return complain(LL_ERR_USAGE, "unexpected argument %s; expected one page: lastlayer help COMMAND", argv[1]);
    if (argc == 0) {
        help_overview();
        return LL_OK;
    }
    for (size_t i = 0; i < COUNT(pages); i++)
        if (strcmp(pages[i].name, argv[0]) == 0) {
            pages[i].print();
            return LL_OK;
        }
    const command *cmd = find(argv[0]);
    if (!cmd)
        return unknown_command(argv[0]);
    help_command(cmd);
    return LL_OK;
}

/* Parses with a context of its own: the number of threads is only known afterwards. */
static ll_status parse(parsed *typed, void *args, const command *cmd, int argc, char **argv) {
    ll_context *ctx = NULL;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.option_style = LL_OPTION_STYLE_FLAG;
    ll_status status = ll_context_new(&ctx, &options);
    if (status == LL_OK)
        status = args_parse(typed, args, ctx, cmd, argc, argv);
    if (status != LL_OK)
        term_error(cmd->name, ctx, ll_status_name(status));
    ll_context_free(ctx);
    return status;
}

/* All processes, or the first of them alone. */
static ll_status run_together(const command *cmd, ll_context *ctx, const void *args, const parsed *typed) {
    ll_status status = ranks_join(ctx, cmd->together, args_deadline(cmd, args));
    if (status == LL_OK && (cmd->together || ranks_first()))
        status = cmd->run(ctx, args, typed);
    if (status == LL_OK)
        status = term_flush();
    return ranks_leave(ctx, status);
}

static ll_status run(const command *cmd, int argc, char **argv) {
    void *args = args_new(cmd);
    if (!args) {
        term_error(cmd->name, NULL, "memory ran out");
        return LL_ERR_MEMORY;
    }
    parsed typed;
    ll_context *ctx = NULL;
    int64_t memory = 0;
    ll_status status = parse(&typed, args, cmd, argc, argv);
    if (status != LL_OK)
        goto done;
    if (typed.help) {
        help_command(cmd);
        status = term_flush();
    } else {
        int threads = (int)args_int(cmd, args, "threads", 0);
        status = args_memory(&memory, cmd, args);
        if (status == LL_OK)
            status = term_context_new(&ctx, threads ? threads : ranks_threads(), memory);
        if (status == LL_OK)
            status = run_together(cmd, ctx, args, &typed);
    }
    if (status != LL_OK)
        term_error(cmd->name, ctx, ll_status_name(status));
    term_context_free(ctx);
done:
    free(args);
    return status;
}

static ll_status dispatch(int argc, char **argv) {
    if (argc < 2)
        return complain(LL_ERR_USAGE, "no command; try lastlayer --help");
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(0, NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("lastlayer %s (%s kernels)\n", ll_version(), ll_isa());
        return LL_OK;
    }
    return unknown_command(argv[1]);
}

/* A standard stream that the caller closed would give its number to the next file opened, and a message would be written into that
 * file. Such a stream becomes one on which reading and writing fail. */
static void fill_closed_streams(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    fill_closed_streams();
    ll_status status = ranks_start(&argc, &argv);
    const command *cmd = status == LL_OK && argc > 1 ? find(argv[1]) : NULL;
    if (cmd) {
        status = run(cmd, argc - 2, argv + 2);
    } else {
        if (status == LL_OK)
            status = dispatch(argc, argv);
        if (status == LL_OK)
            status = term_flush();
        if (status != LL_OK)
            term_error(NULL, NULL, ll_status_name(status));
    }
    ranks_end();
    return (int)status;
}
