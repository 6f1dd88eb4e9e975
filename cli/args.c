/* SPDX-License-Identifier: MIT */
/* The one parser: --name VALUE, --name=VALUE, -n VALUE, operands, and -- which ends the flags. Numbers are strict: the whole
 * word, in decimal, finite. A flag may come once. */
#include "args.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "term.h"

/* What every command has; it lies behind the command's own arguments. */
typedef struct common_args {
    const char *memory;
    ranks_args ranks;
} common_args;

/* clang-format off */
static const ll_option common[] = {
    {.name = "memory", .type = LL_OPTION_TEXT, .offset = offsetof(common_args, memory), .arg = "BYTES",
     .standard = "the limit of the control group, else 3/4 of the machine's memory",
     .help = "the most memory to use: a number of bytes, or one followed by K, M or G (1024, 1024^2, 1024^3 bytes). If given, it also "
             "replaces the limit per file, which is 64 times the file's size plus 32 MiB"},
};
/* clang-format on */

void *args_new(const command *cmd) {
    const common_args standard = {.ranks = {.deadline = 60}};
    char *args = calloc(1, cmd->args_size + sizeof standard);
    if (!args)
        return NULL;
    cmd->defaults(args);
    memcpy(args + cmd->args_size, &standard, sizeof standard);
    return args;
}

static bool has_name(const option_group *groups, size_t count, const char *name) {
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (groups[g].table[i].name[0] == name[0] && strcmp(groups[g].table[i].name, name) == 0) /* the first spares most calls */
                return true;
    return false;
}

size_t args_groups(const command *cmd, option_group out[GROUPS_MAX]) {
    size_t count = cmd->groups(out);
    out[count] = (option_group){.title = "Limits", .table = common, .count = COUNT(common), .base = cmd->args_size};
    count++;
    if (ranks_count)
        out[count++] = (option_group){
            .title = "Ranks", .table = ranks_table, .count = ranks_count, .base = cmd->args_size + offsetof(common_args, ranks)};
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < out[g].count; i++)
            if (out[g].without && strcmp(out[g].table[i].name, out[g].without) == 0)
                out[g].hidden |= UINT64_C(1) << i;
            else if (has_name(out, g, out[g].table[i].name))
                out[g].hidden |= UINT64_C(1) << i;
    return count;
}

double args_deadline(const command *cmd, const void *args) {
    common_args given;
    memcpy(&given, (const char *)args + cmd->args_size, sizeof given);
    return given.ranks.deadline;
}

ll_status args_memory(int64_t *out, const command *cmd, const void *args) {
    common_args given;
    memcpy(&given, (const char *)args + cmd->args_size, sizeof given);
    *out = 0;
    if (!given.memory)
        return LL_OK;
    size_t digits = strspn(given.memory, "0123456789");
    const char *unit = given.memory + digits, *units = " KMG", *found = *unit ? strchr(units + 1, *unit) : units;
    errno = 0;
    int64_t number = strtoll(given.memory, NULL, 10);
    bool good = digits > 0 && found && (!*unit || !unit[1]) && !errno && number > 0;
    for (; good && found > units; found--)
        good = !__builtin_mul_overflow(number, 1024, &number);
    if (!good)
        return complain(LL_ERR_USAGE, "--memory is %s; expected a whole number of bytes above 0, or one followed by K, M or G",
                        given.memory);
    *out = number;
    return LL_OK;
}

bool args_has(const option_group *group, size_t index) {
    return !(group->hidden >> index & 1);
}

static double number_at(const ll_option *option, const void *target) {
    const char *at = (const char *)target + option->offset;
    double real;
    int64_t whole;
    if (option->type == LL_OPTION_REAL) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&whole, at, sizeof whole);
    return (double)whole;
}

const ll_option *args_find(const command *cmd, const char *name, size_t *group, size_t *index) {
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (args_has(&groups[g], i) && strcmp(groups[g].table[i].name, name) == 0) {
                if (group)
                    *group = g;
                if (index)
                    *index = i;
                return &groups[g].table[i];
            }
    return NULL;
}

static const ll_option *find_letter(const command *cmd, char letter, size_t *group, size_t *index) {
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (args_has(&groups[g], i) && groups[g].table[i].letter == letter) {
                *group = g;
                *index = i;
                return &groups[g].table[i];
            }
    return NULL;
}

bool args_given(const parsed *typed, const command *cmd, const char *name) {
    size_t g, i;
    return args_find(cmd, name, &g, &i) && (typed->given[g] >> i & 1);
}

int64_t args_int(const command *cmd, const void *args, const char *name, int64_t otherwise) {
    size_t g, i;
    const ll_option *option = args_find(cmd, name, &g, &i);
    if (!option || option->type != LL_OPTION_INT)
        return otherwise;
    option_group groups[GROUPS_MAX];
    args_groups(cmd, groups);
    int64_t value;
    memcpy(&value, (const char *)args + groups[g].base + option->offset, sizeof value);
    return value;
}

/* Optimal string alignment: d[i][j] = edits from a[0..i) to b[0..j). */
int args_distance(const char *a, const char *b) {
    enum { MOST = 40 };
    int d[MOST + 1][MOST + 1];
    size_t m = strlen(a), n = strlen(b);
    if (m > MOST || n > MOST)
        return MOST;
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (int)(i + j);
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[m][n];
}

static ll_status unknown_flag(const command *cmd, const char *flag) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(flag, "="), flag);
    const char *nearest = "help";
    int best = args_distance(name, nearest);
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const char *known = groups[g].table[i].name;
            int distance = args_distance(name, known);
            /* A word the user cut short (--batch for --batch-size) is nearer than its missing letters say. */
            if (strlen(name) > 2 && strncmp(name, known, strlen(name)) == 0)
                distance = 0;
            if (args_has(&groups[g], i) && distance < best) {
                best = distance;
                nearest = known;
            }
        }
    return complain(LL_ERR_USAGE, "unknown flag --%s; the nearest one is --%s (all: lastlayer %s --help)", name, nearest, cmd->name);
}

static bool decimal(const char *text, bool real) {
    const char *p = text + (*text == '-' || *text == '+');
    size_t digits = strspn(p, "0123456789");
    p += digits;
    if (real && *p == '.') {
        size_t more = strspn(p + 1, "0123456789");
        digits += more;
        p += 1 + more;
    }
    if (digits == 0)
        return false;
    if (real && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '-' || p[1] == '+');
        size_t exponent = strspn(p, "0123456789");
        if (exponent == 0)
            return false;
        p += exponent;
    }
    return *p == 0;
}

static bool takes_auto(const ll_option *option) {
    return option->unset == LL_OPTION_UNSET_ZERO;
}

void args_range(char *out, size_t size, const ll_option *option, bool exact) {
    double far = exact ? INFINITY : 1e6; /* nobody comes near bounds from here on */
    bool whole = option->type == LL_OPTION_INT, low = option->min > -far, high = option->max < far;
    const char *kind = whole ? "a whole number" : "a number";
    char otherwise[100];
    snprintf(otherwise, sizeof otherwise, "%s%s%s", takes_auto(option) ? ", or auto" : "", option->choices ? ", or one of " : "",
             option->choices ? option->choices : "");
    if (option->type == LL_OPTION_SEED)
        snprintf(out, size, "a whole number from 0 to 18446744073709551615");
    else if (low && high)
        snprintf(out, size, "%s in %c%.12g,%.12g%c%s", kind, option->open_min ? '(' : '[', option->min, option->max,
                 option->open_max ? ')' : ']', otherwise);
    else if (low)
        snprintf(out, size, "%s %s %.12g%s", kind, option->open_min ? "above" : "of at least", option->min, otherwise);
    else
        snprintf(out, size, "%s%s", kind, otherwise);
}

static ll_status refuse(const ll_option *option, const char *text) {
    char range[200];
    args_range(range, sizeof range, option, true);
    return complain(LL_ERR_USAGE, "--%s is %s; expected %s", option->name, text, range);
}

/* The number that a word of the choices stands for; false: it is none of them. */
static bool word_value(double *value, const ll_option *option, const char *text) {
    size_t length;
    const char *p = option->choices;
    for (int i = 0; p && *p; i++, p += length + (p[length] == '|')) {
        length = strcspn(p, "|");
        *value = LL_OPTION_WORD(i);
        if (strlen(text) == length && memcmp(p, text, length) == 0)
            return true;
    }
    return false;
}

/* Writes the value where the option lives. Numbers out of the machine's range are refused here, other ranges by ll_option_check. */
static ll_status store(const ll_option *option, void *target, const char *text) {
    char *at = (char *)target + option->offset;
    errno = 0;
    switch (option->type) {
    case LL_OPTION_FLAG: {
        bool yes = true;
        memcpy(at, &yes, sizeof yes);
        break;
    }
    case LL_OPTION_INT: {
        int64_t value = strtoll(text, NULL, 10);
        if (!decimal(text, false) || errno)
            return refuse(option, text);
        memcpy(at, &value, sizeof value);
        break;
    }
    case LL_OPTION_SEED: {
        uint64_t value = strtoull(text, NULL, 10);
        if (!decimal(text, false) || *text == '-' || errno)
            return refuse(option, text);
        memcpy(at, &value, sizeof value);
        break;
    }
    case LL_OPTION_REAL: {
        double value;
        bool word = word_value(&value, option, text);
        if (!word)
            value = strtod(text, NULL);
        if (!word && (!decimal(text, true) || errno || !isfinite(value) || (option->choices && value <= LL_OPTION_WORD(0))))
            return refuse(option, text);
        memcpy(at, &value, sizeof value);
        break;
    }
    case LL_OPTION_TEXT:
    case LL_OPTION_CHOICE: memcpy(at, &text, sizeof text); break;
    }
    return LL_OK;
}

static ll_status assign(ll_context *ctx, const ll_option *option, void *target, const char *text) {
    bool automatic = takes_auto(option) && strcmp(text, "auto") == 0;
    if (automatic)
        text = "0";
    ll_status status = store(option, target, text);
    if (status != LL_OK || option->type == LL_OPTION_CHOICE)
        return status != LL_OK ? status : ll_option_check(ctx, option, 1, target);
    bool inside = ll_option_check(ctx, option, 1, target) == LL_OK && (automatic || !takes_auto(option) || number_at(option, target) != 0);
    return inside ? LL_OK : refuse(option, text);
}

static bool looks_like_flag(const char *word) {
    if (word[0] != '-' || word[1] == 0)
        return false;
    return word[1] == '-' || !strchr("0123456789.", word[1]);
}

/* One flag. `value` is what came with the word (--name=VALUE, -nVALUE), or NULL; then the next word is taken. */
static ll_status take(parsed *out, void *args, ll_context *ctx, const command *cmd, const ll_option *option, size_t g, size_t i,
                      const char *value, int *at, int argc, char **argv) {
    if (out->given[g] >> i & 1)
        return complain(LL_ERR_USAGE, "--%s was given twice; give it once", option->name);
    out->given[g] |= UINT64_C(1) << i;
    if (option->type == LL_OPTION_FLAG) {
        if (value)
            return complain(LL_ERR_USAGE, "--%s takes no value; found %s", option->name, value);
        value = "";
    } else {
        if (!value && *at + 1 < argc && !looks_like_flag(argv[*at + 1]))
            value = argv[++*at];
        if (!value || !*value)
            return complain(LL_ERR_USAGE, "--%s needs a value: --%s %s", option->name, option->name, option->arg ? option->arg : "VALUE");
    }
    option_group groups[GROUPS_MAX];
    args_groups(cmd, groups);
    return assign(ctx, option, (char *)args + groups[g].base, value);
}

static ll_status operand(parsed *out, const command *cmd, const char *word) {
    if (!cmd->operand)
        return complain(LL_ERR_USAGE, "unexpected argument %s; a file must follow its flag (see lastlayer %s --help)", word, cmd->name);
    if (out->operand && !cmd->several)
        return complain(LL_ERR_USAGE, "unexpected argument %s after %s; expected one %s", word, out->operand, cmd->operand);
    if (out->operand_count == OPERANDS_MAX)
        return complain(LL_ERR_USAGE, "unexpected argument %s; expected at most %d files", word, OPERANDS_MAX);
    if (!out->operand)
        out->operand = word;
    out->operands[out->operand_count++] = word;
    return LL_OK;
}

ll_status args_parse(parsed *out, void *args, ll_context *ctx, const command *cmd, int argc, char **argv) {
    *out = (parsed){0};
    /* Help wins over every mistake beside it. */
    for (int at = 0; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            out->help = true;
            return LL_OK;
        }
    bool flags = true;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        ll_status status;
        size_t g, i;
        if (flags && strcmp(word, "--") == 0) {
            flags = false;
            continue;
        }
        if (!flags || word[0] != '-' || word[1] == 0) {
            status = operand(out, cmd, word);
        } else if (word[1] == '-') {
            char name[64];
            size_t length = strcspn(word + 2, "=");
            snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
            const ll_option *option = args_find(cmd, name, &g, &i);
            if (!option)
                return unknown_flag(cmd, word + 2);
            const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
            status = take(out, args, ctx, cmd, option, g, i, value, &at, argc, argv);
        } else {
            const ll_option *option = find_letter(cmd, word[1], &g, &i);
            if (!option)
                return complain(LL_ERR_USAGE, "unknown flag %s (all: lastlayer %s --help)", word, cmd->name);
            status = take(out, args, ctx, cmd, option, g, i, word[2] ? word + 2 : NULL, &at, argc, argv);
        }
        if (status != LL_OK)
            return status;
    }
    return LL_OK;
}
