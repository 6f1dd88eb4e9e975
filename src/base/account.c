/* SPDX-License-Identifier: MIT */
/* Accounts of memory, and what this machine allows a process to take. */
#include "base/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PATH_ROOM = 4096 };

lli_account *lli_account_new(void) {
    lli_account *account = calloc(1, sizeof *account);
    if (!account)
        return NULL;
    account->limit = INT64_MAX;
    atomic_init(&account->holders, 1);
    return account;
}

void lli_account_limit(lli_account *account, int64_t limit) {
    account->given = limit > 0;
    account->limit = limit;
    if (account->given)
        return;
    int64_t physical = lli_memory_physical(), cgroup = lli_account_cgroup("");
    account->limit = cgroup < physical ? cgroup : physical / 4 * 3;
}

void lli_account_release(lli_account *account) {
    if (atomic_fetch_sub(&account->holders, 1) != 1)
        return;
    if (account->parent)
        lli_memory_free(account); /* that of a file is a block of the one above */
    else
        free(account);
}

static bool take(lli_account *account, int64_t bytes) {
    int64_t taken = atomic_load_explicit(&account->taken, memory_order_relaxed);
    do
        if (bytes > account->limit - taken)
            return false;
    while (!atomic_compare_exchange_weak(&account->taken, &taken, taken + bytes));
    return true;
}

bool lli_account_charge(lli_account *account, int64_t bytes, const lli_account **full) {
    for (lli_account *a = account; a; a = a->parent) {
        if (take(a, bytes))
            continue;
        *full = a;
        for (; account != a; account = account->parent)
            atomic_fetch_sub(&account->taken, bytes);
        return false;
    }
    return true;
}

void lli_account_discharge(lli_account *account, int64_t bytes) {
    for (; account; account = account->parent)
        atomic_fetch_sub(&account->taken, bytes);
}

/* The number that a file of one line holds; "max", or no such file, is INT64_MAX. */
static int64_t read_limit(const char *path) {
    char text[32];
    int64_t limit = INT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return limit;
    if (fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9')
        limit = strtoll(text, NULL, 10);
    fclose(file);
    return limit;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The smallest limit of a group and of its parents. Inside a container the name of the group may be unknown, and only the outermost is
 * visible. */
static int64_t least_upwards(const char *root, const char *mount, char *group, const char *name) {
    int64_t least = INT64_MAX;
    for (;;) {
        char path[PATH_ROOM];
        if (snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, name) < (int)sizeof path)
            least = lesser(least, read_limit(path));
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == 0))
            return true;
    return false;
}

int64_t lli_account_cgroup(const char *root) {
    char line[PATH_ROOM];
    int64_t least = INT64_MAX;
    if (snprintf(line, sizeof line, "%s/proc/self/cgroup", root) >= (int)sizeof line)
        return least;
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) { /* NUMBER:CONTROLLERS:/GROUP, where version 2 has no controllers */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        if (!*controllers)
            least = lesser(least, least_upwards(root, "/sys/fs/cgroup", group, "memory.max"));
        else if (has_word(controllers, "memory"))
            least = lesser(least, least_upwards(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
    if (file)
        fclose(file);
    return least;
}
