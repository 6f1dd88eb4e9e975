/* SPDX-License-Identifier: MIT */
/* How the learning rate goes over a training: what lr is multiplied by at each step. docs/math/optimisers.md */
#ifndef LLI_TRAIN_SCHEDULE_H
#define LLI_TRAIN_SCHEDULE_H

#include "base/status.h"

typedef struct lli_schedule lli_schedule;

/* One shape of a schedule: a row of the table in schedule.c. */
typedef struct lli_schedule_curve {
    const char *name;
    double warm_up; /* share of the epochs where --warm-up says nothing */
    double (*factor)(const lli_schedule *schedule, int64_t step);
} lli_schedule_curve;

const lli_schedule_curve *lli_schedule_find(const char *name); /* of those that train networks; NULL if there is none */
extern const lli_schedule_curve lli_schedule_cycles;           /* falls from 1 along half a cosine in each cycle of `every` steps */

struct lli_schedule {
    const lli_schedule_curve *curve; /* NULL = 1 at every step */
    int64_t warm_up, total;          /* steps */
    double drop;                     /* of the curve step: a factor after every this many steps */
    int64_t every;                   /* 0 = never */
};

double lli_schedule_factor(const lli_schedule *schedule, int64_t step); /* of lr at step = 0, 1, .. */

#endif
