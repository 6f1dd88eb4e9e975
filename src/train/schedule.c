/* SPDX-License-Identifier: MIT */
/* The shapes of learning rate schedules, each a function of the step alone. */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* One-cycle starts at lr / START and ends at lr / START / END. */
enum { START = 25, END = 10000 };

static double rise(const lli_schedule *s, int64_t step) {
    return step < s->warm_up ? (double)(step + 1) / (double)s->warm_up : 1;
}

/* From a to b along half a cosine; x goes from 0 to 1. */
static double slide(double a, double b, double x) {
    return b + (a - b) * (1 + cos(PI * x)) / 2;
}

static double step_factor(const lli_schedule *s, int64_t step) {
    return (s->every ? pow(s->drop, (double)(step / s->every)) : 1) * rise(s, step);
}

static double cosine_factor(const lli_schedule *s, int64_t step) {
    if (step < s->warm_up)
        return rise(s, step);
    return slide(1, 0, (double)(step - s->warm_up) / (double)(s->total - s->warm_up));
}

static double one_cycle_factor(const lli_schedule *s, int64_t step) {
    int64_t top = LLI_MAX(s->warm_up, 1) - 1, last = s->total - 1;
    const double first = 1.0 / START;
    if (step < top)
        return slide(first, 1, (double)step / (double)top);
    return step == top ? 1 : slide(1, first / END, (double)(step - top) / (double)(last - top));
}

static double cycles_factor(const lli_schedule *s, int64_t step) {
    return slide(1, 0, (double)(step % s->every) / (double)s->every);
}

const lli_schedule_curve lli_schedule_cycles = {"cycles", 0, cycles_factor};

static const lli_schedule_curve curves[] = {{"step", 0, step_factor}, {"cosine", 0, cosine_factor}, {"one-cycle", 0.3, one_cycle_factor}};

const lli_schedule_curve *lli_schedule_find(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(curves); i++)
        if (strcmp(curves[i].name, name) == 0)
            return &curves[i];
    return NULL;
}

double lli_schedule_factor(const lli_schedule *s, int64_t step) {
    return s->curve ? s->curve->factor(s, step) : 1;
}
