// Tunes the columns of a file for a GPU, and writes the results to a file that compilers use.
//
//   tune FILE.zfd RESULTS.txt [DEVICE [SECONDS]]
#include <stdio.h>
#include <stdlib.h>
#include <zipflow/emulator.h>
#include <zipflow/tune.h>

static void print_probe(void *user, const zf_tuner_probe *probe) {
    (void)user;
    fprintf(stderr, "%s %u: %s: ", probe->column, probe->kernel, probe->choice);
    if (probe->ran)
        fprintf(stderr, "%.2f us\n", probe->seconds * 1e6);
    else
        fprintf(stderr, "cannot run\n");
}

static zf_status print_results(const zf_tuner *tuner, zf_error *error) {
    zf_device_info device = {ZF_INIT(zf_device_info)};
    zf_status status = zf_tuner_device(tuner, &device, error);
    if (status == ZF_OK) printf("%s: %s\n", device.name, device.description);
    for (size_t k = 0; k < zf_tuner_result_count(tuner) && status == ZF_OK; k++) {
        zf_tuner_result r = {ZF_INIT(zf_tuner_result)};
        status = zf_tuner_result_get(tuner, k, &r, error);
        if (status != ZF_OK) break;
        printf("%s %u: %s", r.column, r.kernel, r.found ? r.choice : "nothing was found");
        if (r.found && r.default_seconds > 0) printf(", %.2f times as fast as by default", r.default_seconds / r.seconds);
        printf("; %u choices measured\n", r.probes);
    }
    return status;
}

/// Shares the time among the columns that are still to come.
static zf_status tune_columns(zf_tuner *tuner, zf_container *container, double seconds, zf_error *error) {
    size_t count = zf_container_columns(container);
    zf_status status = ZF_OK;
    for (size_t c = 0; c < count && status == ZF_OK; c++)
        status = zf_tuner_column(tuner, container, c, seconds / (double)count, NULL, error);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: tune FILE.zfd RESULTS.txt [DEVICE [SECONDS]]\n");
        return 2;
    }
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_tuner *tuner = NULL;
    zf_compiler_options compile = {ZF_INIT(zf_compiler_options), .untuned = true}; // choices are compared with the default
    zf_tuner_options options = {ZF_INIT(zf_tuner_options), .device = argc > 3 ? argv[3] : NULL, .progress = print_probe};
    zf_status status = zf_context_create(NULL, &context, &error);
    if (status == ZF_OK) status = zf_emulator_register(context, &error); // to try it without a GPU
    if (status == ZF_OK) status = zf_compiler_create(context, &compile, &compiler, &error);
    if (status == ZF_OK) status = zf_container_open(context, argv[1], &container, &error);
    if (status == ZF_OK) status = zf_tuner_create(compiler, &options, &tuner, &error);
    if (status == ZF_OK) status = tune_columns(tuner, container, argc > 4 ? strtod(argv[4], NULL) : 0, &error);
    if (status == ZF_OK) status = print_results(tuner, &error);
    if (status == ZF_OK) status = zf_tuner_write(tuner, argv[2], true, &error);
    if (status != ZF_OK) fprintf(stderr, "%s: %s\n%s\n", error.code, error.message, error.place);
    zf_tuner_free(tuner);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return status == ZF_OK ? 0 : 1;
}
