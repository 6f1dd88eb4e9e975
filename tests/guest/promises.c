/* SPDX-License-Identifier: MIT */
/* Calibration, chains, drawn members and data sets of many files, from C: against sums written out here, and each other. */
#include "guest.h"

enum { CALIBRATED = 200 };

static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];

static double log_sum(const double *f, double scale) {
    double top = -INFINITY, sum = 0;
    for (int k = 0; k < GUEST_K; k++)
        top = fmax(top, scale * f[k]);
    for (int k = 0; k < GUEST_K; k++)
        sum += exp(scale * f[k] - top);
    return top + log(sum);
}

/* At the best temperature the derivative of the NLL with respect to 1/T is zero: mean of sum_k p_k f_k - f_y. */
static void temperature_of_outputs(ll_context *ctx) {
    static double f[CALIBRATED][GUEST_K], out[CALIBRATED][GUEST_K];
    static int32_t truth[CALIBRATED];
    uint32_t state = 7;
    for (int i = 0; i < CALIBRATED; i++) {
        truth[i] = i % GUEST_K;
        for (int k = 0; k < GUEST_K; k++) {
            state = state * 1664525 + 1013904223;
            f[i][k] = 8 * ((double)(state >> 8) / 0x1p24 + (k == truth[i] ? 0.3 : 0));
        }
    }
    ll_array outputs = guest_view(f, LL_DTYPE_F64, CALIBRATED, GUEST_K), labels = guest_view(truth, LL_DTYPE_I32, CALIBRATED, 0);
    ll_calibration *c;
    must(ll_calibrate_outputs(&c, ctx, outputs, true, &labels, NULL), ctx);
    const ll_calibration_info *info = ll_calibration_view(c);
    double scale = 1 / info->temperature, slope = 0, nll = 0, most = 0;
    for (int i = 0; i < CALIBRATED; i++) {
        double all = log_sum(f[i], scale);
        for (int k = 0; k < GUEST_K; k++)
            slope += exp(scale * f[i][k] - all) * f[i][k] / CALIBRATED;
        slope -= f[i][truth[i]] / CALIBRATED;
        nll += (all - scale * f[i][truth[i]]) / CALIBRATED;
    }
    tap(info->found && info->n == CALIBRATED && info->temperature > 1.5 && fabs(slope) < 1e-5,
        "the temperature is at the minimum of the NLL", "its derivative is not zero");
    tap(fabs(info->nll - nll) < 1e-9 && info->nll < info->nll_before, "and the NLL there is that of the rows", "another number");
    const double *parameters = ll_calibration_parameters(c).data; /* scale, then shift */
    for (int k = 0; k < GUEST_K; k++)
        most = fmax(most, fabs(parameters[k] - scale) + fabs(parameters[GUEST_K + k]));
    tap(most < 1e-15, "its parameters are 1/T and no shift", "others");
    must(ll_calibration_apply(&out[0][0], ctx, c, outputs, true), ctx);
    most = 0;
    for (int i = 0; i < CALIBRATED; i++)
        for (int k = 0; k < GUEST_K; k++)
            most = fmax(most, fabs(out[i][k] - (scale * f[i][k] - log_sum(f[i], scale))));
    tap(most < 1e-9, "applied, it gives log softmax(f/T)", "other numbers");
    ll_calibration_free(c);
}

static ll_predictions *predicted(ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data) {
    ll_predictions *p;
    must(ll_predict(&p, ctx, ensemble, data, NULL), ctx);
    return p;
}

/* An ensemble predicts softmax(log p / T) from then on, and p again without. */
static void calibrated_ensemble(ll_context *ctx, const ll_dataset *data, const ll_dataset *others) {
    ll_ensemble *ensemble = guest_ensemble(ctx, data);
    ll_predictions *before = predicted(ctx, ensemble, others);
    ll_calibration *c;
    must(ll_calibrate(&c, ctx, ensemble, others, NULL), ctx);
    must(ll_ensemble_set_calibration(ctx, ensemble, c), ctx);
    tap(strcmp(ll_ensemble_calibration(ensemble), "temperature") == 0, "the ensemble says how it is calibrated", "it does not");
    ll_predictions *after = predicted(ctx, ensemble, others);
    const float *p = ll_predictions_array(before, "probs").data, *q = ll_predictions_array(after, "probs").data;
    double scale = 1 / ll_calibration_view(c)->temperature, most = 0, moved = 0;
    for (int i = 0; i < GUEST_N; i++) {
        double f[GUEST_K];
        for (int k = 0; k < GUEST_K; k++)
            f[k] = log((double)p[i * GUEST_K + k]);
        for (int k = 0; k < GUEST_K; k++) {
            most = fmax(most, fabs((double)q[i * GUEST_K + k] - exp(scale * f[k] - log_sum(f, scale))));
            moved = fmax(moved, fabs((double)q[i * GUEST_K + k] - (double)p[i * GUEST_K + k]));
        }
    }
    tap(most < 1e-5 && moved > 1e-3, "predictions are softmax(log p / T)", "other numbers");
    ll_predictions_free(after);
    must(ll_ensemble_set_calibration(ctx, ensemble, NULL), ctx);
    after = predicted(ctx, ensemble, others);
    tap(!ll_ensemble_calibration(ensemble) && memcmp(p, ll_predictions_array(after, "probs").data, GUEST_N * GUEST_K * sizeof *p) == 0,
        "and p again when it is removed", "other numbers");
    ll_predictions_free(after);
    ll_predictions_free(before);
    ll_calibration_free(c);
    ll_ensemble_free(ensemble);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, w = *(const double *)b;
    return (x > w) - (x < w);
}

static void chains(ll_context *ctx, const ll_dataset *data) {
    ll_fit_options fit = ll_fit_options_default();
    fit.method = "sgld";
    fit.samples = 64;
    fit.chains = 2;
    ll_ensemble *ensemble;
    ll_diagnosis *d;
    must(ll_fit(&ensemble, ctx, data, NULL, &fit), ctx);
    must(ll_diagnose(&d, ctx, ensemble, data), ctx);
    const ll_diagnosis_info *info = ll_diagnosis_view(d);
    ll_array rhat = ll_diagnosis_array(d, "rhat"), draws = ll_diagnosis_array(d, "draws");
    tap(info->members == 64 && info->chains == 2 && info->rows == GUEST_N && info->among == GUEST_N && strcmp(info->method, "sgld") == 0,
        "a diagnosis says of what it is", "other counts");
    double sorted[GUEST_N];
    int64_t above = 0;
    bool shares = draws.rank == 2 && draws.shape[0] == GUEST_N && draws.shape[1] == 64;
    memcpy(sorted, rhat.data, sizeof sorted);
    for (int i = 0; i < GUEST_N; i++)
        above += sorted[i] > info->rhat_limit;
    for (int i = 0; shares && i < GUEST_N * 64; i++) {
        double share = draws.dtype == LL_DTYPE_F64 ? ((const double *)draws.data)[i] : (double)((const float *)draws.data)[i];
        shares = share >= 0 && share <= 1;
    }
    qsort(sorted, GUEST_N, sizeof *sorted, by_size);
    tap(fabs(info->rhat_median - (sorted[GUEST_N / 2 - 1] + sorted[GUEST_N / 2]) / 2) < 1e-12 && info->rhat_most == sorted[GUEST_N - 1] &&
            info->above == above,
        "its summary is that of its rows", "other numbers");
    tap(shares && ll_diagnosis_array(d, "nothing").rank == -1, "its draws are probabilities", "they are not");
    ll_diagnosis_free(d);
    ll_ensemble_free(ensemble);
}

static void drawn(ll_context *ctx, const ll_dataset *data) {
    ll_fit_options fit = ll_fit_options_default();
    fit.method = "laplace";
    fit.samples = 5;
    ll_ensemble *gaussian, *members;
    must(ll_fit(&gaussian, ctx, data, NULL, &fit), ctx);
    must(ll_ensemble_draw(&members, ctx, gaussian), ctx);
    ll_array one = ll_ensemble_weight_view(gaussian), all = ll_ensemble_weight_view(members);
    bool differ = one.shape[0] == 1 && all.shape[0] == 5;
    for (int s = 1; differ && s < 5; s++)
        differ = memcmp(all.data, (const float *)all.data + s * GUEST_K * GUEST_D, GUEST_K * GUEST_D * sizeof(float)) != 0;
    tap(differ, "laplace keeps one vector, and five can be drawn of it", "they cannot");
    ll_ensemble_free(members);
    ll_ensemble_free(gaussian);
}

static void names(ll_context *ctx, const ll_dataset *data) {
    static const char *const list[] = {"ash", "birch", "cedar"};
    ll_ensemble *ensemble = guest_ensemble(ctx, data);
    must(ll_ensemble_set_class_list(ctx, ensemble, list, GUEST_K), ctx);
    ll_predictions *p = predicted(ctx, ensemble, data);
    char *text;
    must(ll_answers_text(&text, ctx, ensemble, p, LL_CONFIDENCE_COUNT), ctx);
    const int32_t *label = ll_predictions_array(p, "label").data;
    const char *at = text;
    int found = 0;
    for (; found < GUEST_N && (at = strstr(at, list[label[found]])); found++)
        at = strchr(at, '\n');
    tap(found == GUEST_N, "a table of answers names the class of each row", text);
    ll_text_free(text);
    ll_predictions_free(p);
    ll_ensemble_free(ensemble);
}

static bool same_weights(const ll_ensemble *a, const ll_ensemble *b) {
    ll_array x = ll_ensemble_weight_view(a), w = ll_ensemble_weight_view(b);
    return x.shape[0] == w.shape[0] && memcmp(x.data, w.data, (size_t)x.shape[0] * GUEST_K * GUEST_D * sizeof(float)) == 0;
}

/* Rows cut into two files, labels in one. */
static void many_files(ll_context *ctx, const ll_dataset *whole) {
    enum { FIRST = 23 };
    static const char *const features[] = {"rows-1.npy", "rows-2.npy"}, *const labels[] = {"labels.npy"};
    const ll_named_array arrays[] = {{"array", guest_view(z, LL_DTYPE_F32, FIRST, GUEST_D)},
                                     {"array", guest_view(z + FIRST * GUEST_D, LL_DTYPE_F32, GUEST_N - FIRST, GUEST_D)},
                                     {"array", guest_view(y, LL_DTYPE_I32, GUEST_N, 0)}};
    for (int i = 0; i < 3; i++)
        must(ll_bundle_write(ctx, i < 2 ? features[i] : labels[0], &arrays[i], 1, NULL, 0), ctx);
    ll_files *files;
    must(ll_files_find(&files, ctx, "rows-*.npy"), ctx);
    tap(ll_files_count(files) == 2 && strcmp(ll_files_at(files, 0), features[0]) == 0 && strcmp(ll_files_at(files, 1), features[1]) == 0,
        "a pattern finds the files in order", "others");
    ll_files_free(files);
    ll_dataset *data;
    must(ll_dataset_read_files(&data, ctx, features, 2, labels, 1, 0), ctx);
    ll_ensemble *a = guest_ensemble(ctx, whole), *b = guest_ensemble(ctx, data);
    tap(ll_dataset_rows(data) == GUEST_N && memcmp(ll_dataset_labels(data), y, sizeof y) == 0 && same_weights(a, b),
        "a list of files is the data set of all their rows", "other bits");
    ll_ensemble_free(a);
    ll_ensemble_free(b);
    ll_dataset_free(data);
    static const char *const gap[] = {"rows-1.npy", NULL};
    tap(ll_dataset_read_files(&data, ctx, gap, 2, NULL, 0, 0) == LL_ERR_USAGE && strstr(ll_context_message(ctx), "number 1"),
        "a file that is NULL is refused by its number", ll_context_message(ctx));
    for (int i = 0; i < 3; i++)
        remove(i < 2 ? features[i] : labels[0]);
}

int main(void) {
    float other[GUEST_N * GUEST_D];
    guest_rows(z, y);
    for (int i = 0; i < GUEST_N * GUEST_D; i++) /* other rows, from the same clouds */
        other[i] = z[i] + 0.3f * (float)sin(i);
    ll_context *ctx = context_of(2);
    ll_dataset *data = guest_dataset(ctx, z, y), *others = guest_dataset(ctx, other, y);
    temperature_of_outputs(ctx);
    calibrated_ensemble(ctx, data, others);
    chains(ctx, data);
    drawn(ctx, data);
    names(ctx, data);
    many_files(ctx, data);
    ll_dataset_free(others);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}
