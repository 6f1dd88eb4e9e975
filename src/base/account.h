/* SPDX-License-Identifier: MIT */
/* How much memory is taken, and how much may be: one account for a context and its children, and one below it for each file while its
 * reader runs. What a block takes is charged to its account and to all above it. Only base includes this header. */
#ifndef LLI_BASE_ACCOUNT_H
#define LLI_BASE_ACCOUNT_H

#include <stdatomic.h>

#include "base/status.h"

typedef struct lli_account lli_account;
struct lli_account {
    lli_account *parent;     /* NULL for that of a context */
    _Atomic int64_t taken;   /* bytes */
    _Atomic int64_t holders; /* blocks, and whoever made it: a block may outlive its context */
    int64_t limit;           /* bytes */
    bool given;              /* the limit was given by the user: then it replaces the limits of files too */
    const char *file;        /* of a file: what messages call it */
};

lli_account *lli_account_new(void); /* without a limit; NULL if memory ran out */
void lli_account_limit(lli_account *account, int64_t limit /* 0 = what the machine allows */);
/* A holder leaves; the last one takes the account with it. */
void lli_account_release(lli_account *account);

/* Charges the account and all above it, or none: then *full is the one that refused. */
bool lli_account_charge(lli_account *account, int64_t bytes, const lli_account **full);
void lli_account_discharge(lli_account *account, int64_t bytes);

/* The smallest limit that the control groups of this process set, versions 1 and 2, or INT64_MAX. `root` is put before /proc and /sys:
 * "" except in tests. */
int64_t lli_account_cgroup(const char *root);

#endif
