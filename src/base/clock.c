/* SPDX-License-Identifier: MIT */
/* Time and processors, from the operating system. */
#define _GNU_SOURCE
#include "base/clock.h"

#include <sched.h>
#include <time.h>

double lli_clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int lli_clock_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}
