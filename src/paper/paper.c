/* SPDX-License-Identifier: MIT */
/* Looks a number of the paper up. */
#include "paper/paper.h"

#include <math.h>
#include <string.h>

#include "formats/number.h"

double lli_paper_value(const char *dataset, const char *task, const char *scope, const char *method, const char *metric) {
    const char *const keys[] = {dataset, task, scope, method, metric};
    for (const char *line = lli_asset_paper; *line;) {
        const char *end = line + strcspn(line, "\n"), *p = line;
        size_t k = 0;
        for (; k < LLI_COUNT(keys); k++) {
            size_t length = strlen(keys[k]);
            if (strncmp(p, keys[k], length) != 0 || p[length] != ',')
                break;
            p += length + 1;
        }
        lli_number x;
        if (k == LLI_COUNT(keys) && lli_number_parse(&x, p, (size_t)(end - p)))
            return x.real;
        line = *end ? end + 1 : end;
    }
    return NAN;
}
