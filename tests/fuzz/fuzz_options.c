/* SPDX-License-Identifier: MIT */
/* Any words as the command line of any subcommand: the first byte chooses it, NUL or a line break ends a word. */
#include <stdarg.h>
#include <stdio.h>

#include "args.h"
#include "fuzz.h"

enum { WORDS_MAX = 64 };

static char sentence[4096];

/* In the place of the one that keeps the sentence for the terminal. */
ll_status __wrap_complain(ll_status status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
ll_status __wrap_complain(ll_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return status;
}

static void use_values(const command *cmd, const char *args) {
    option_group groups[GROUPS_MAX];
    size_t count = cmd->groups(groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const ll_option *option = &groups[g].table[i];
            const char *text;
            if (option->type != LL_OPTION_TEXT && option->type != LL_OPTION_CHOICE)
                continue;
            memcpy(&text, args + groups[g].base + option->offset, sizeof text);
            fuzz_use_text(text);
        }
}

static void run(const uint8_t *bytes, size_t size) {
    char text[2048], *words[WORDS_MAX];
    int count = 0;
    if (size == 0 || size > sizeof text)
        return;
    const command *cmd = commands[bytes[0] % command_count];
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = 0;
    for (size_t i = 0, start = 0; i < size && count < WORDS_MAX; i++)
        if (text[i] == 0 || text[i] == '\n') {
            text[i] = 0;
            words[count++] = text + start;
            start = i + 1;
        }
    char *args = args_new(cmd);
    parsed typed;
    if (!args)
        abort();
    sentence[0] = 0;
    ll_status status = args_parse(&typed, args, fuzz_context(), cmd, count, words);
    if (status == LL_OK)
        use_values(cmd, args);
    else if (!sentence[0] && !fuzz_context()->message[0])
        abort();
    free(args);
}

FUZZ_TARGET(run)
