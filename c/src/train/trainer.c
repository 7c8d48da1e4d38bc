#include "train/trainer.h"

#include "base/error.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "train/stack_finite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ===== Settings ============================================================================= */

struct number {
    const char *name;
    float value;
    float below; /* 0 <= value < below */
};

static enum mh_status check_optimiser(const struct mh_trainer_settings *s, struct mh_error *error)
{
    if (s->initialisation < MH_XAVIER_UNIFORM || s->initialisation > MH_XAVIER_NORMAL)
        return mh_fail(error, MH_ARGUMENT, "initialisation is %d: it must be 0 or 1",
                       s->initialisation);
    if (s->optimiser != MH_ADAMW && s->optimiser != MH_SGD)
        return mh_fail(error, MH_ARGUMENT, "optimiser is %d: it must be 0 (AdamW) or 1 (SGD)",
                       s->optimiser);
    if (s->optimiser == MH_ADAMW && !(s->adamw.epsilon > 0.0f))
        return mh_fail(error, MH_ARGUMENT, "adamw.epsilon is %g: it must be above 0",
                       (double)s->adamw.epsilon);
    if (s->schedule.steps > 0 && s->schedule.warm_up > s->schedule.steps)
        return mh_fail(error, MH_ARGUMENT, "schedule.warm_up is %u: it must be at most steps, %u",
                       s->schedule.warm_up, s->schedule.steps);
    if (!isfinite(s->clip))
        return mh_fail(error, MH_ARGUMENT, "clip is %g: it must be finite", (double)s->clip);
    return MH_OK;
}

static enum mh_status check_settings(const struct mh_trainer_settings *s, struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"settings", s}, {0}});
    if (status == MH_OK)
        status = check_optimiser(s, error);
    if (status != MH_OK)
        return status;
    const struct number numbers[] = {
        {"adamw.beta1", s->adamw.beta1, 1.0f},
        {"adamw.beta2", s->adamw.beta2, 1.0f},
        {"adamw.weight_decay", s->adamw.weight_decay, INFINITY},
        {"schedule.peak", s->schedule.peak, INFINITY},
        {"schedule.floor", s->schedule.floor, INFINITY},
        {"attention_dropout", s->attention_dropout, 1.0f},
        {"residual_dropout", s->residual_dropout, 1.0f},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!(numbers[i].value >= 0.0f && numbers[i].value < numbers[i].below))
            return mh_fail(error, MH_ARGUMENT, "%s is %g: it must be at least 0 and below %g",
                           numbers[i].name, (double)numbers[i].value, (double)numbers[i].below);
    return MH_OK;
}

/* ===== The handle =========================================================================== */

enum mh_status mh_trainer_begin_learning(mh_trainer *t, struct mh_error *error)
{
    if (t->gradient != NULL)
        return MH_OK;
    t->gradient = calloc(t->size, 3 * sizeof(float));
    if (t->gradient == NULL)
        return mh_fail(error, MH_MEMORY, "no memory to learn in: three arrays of %zu numbers",
                       t->size);
    t->state.mean = t->gradient + t->size;
    t->state.variance = t->state.mean + t->size;
    return MH_OK;
}

enum mh_status mh_trainer_create(mh_trainer **out, const struct mh_network *network,
                                 const struct mh_trainer_settings *settings, struct mh_error *error)
{
    if (out == NULL)
        return mh_fail(error, MH_ARGUMENT, "out is NULL");
    *out = NULL;
    enum mh_status status = mh_network_check(network, error);
    if (status == MH_OK)
        status = check_settings(settings, error);
    if (status != MH_OK)
        return status;
    mh_trainer *t = calloc(1, sizeof *t);
    if (t == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for a trainer");
    t->network = *network;
    t->settings = *settings;
    t->size = mh_parameters_size(network);
    t->parameters = calloc(t->size, sizeof *t->parameters);
    if (t->parameters == NULL) {
        mh_trainer_free(t);
        return mh_fail(error, MH_MEMORY, "no memory for %zu parameters",
                       mh_parameters_size(network));
    }
    mh_parameters_initialise(network, settings->initialisation, settings->seed, t->parameters);
    *out = t;
    return MH_OK;
}

void mh_trainer_free(mh_trainer *t)
{
    if (t == NULL)
        return;
    free(t->parameters);
    free(t->gradient); /* with mean and variance */
    free(t->workspace);
    free(t);
}

enum mh_status mh_trainer_configure(mh_trainer *t, const struct mh_trainer_settings *settings,
                                    struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"trainer", t}, {0}});
    if (status == MH_OK)
        status = check_settings(settings, error);
    if (status == MH_OK)
        t->settings = *settings;
    return status;
}

float *mh_trainer_parameters(mh_trainer *t)
{
    return t->parameters;
}

float *mh_trainer_gradient(mh_trainer *t)
{
    return mh_trainer_begin_learning(t, NULL) == MH_OK ? t->gradient : NULL;
}

const struct mh_network *mh_trainer_network(const mh_trainer *t)
{
    return &t->network;
}

uint32_t mh_trainer_step(const mh_trainer *t)
{
    return t->state.step;
}

void mh_trainer_clear(mh_trainer *t)
{
    if (t->gradient != NULL)
        memset(t->gradient, 0, t->size * sizeof *t->gradient);
    t->counted = 0;
    t->parts = 0;
}

/* ===== Passes =============================================================================== */

static enum mh_status grow_workspace(mh_trainer *t, const struct mh_training_pass *pass,
                                     struct mh_error *error)
{
    size_t bytes;
    enum mh_status status = mh_training_workspace(&t->network, pass, &bytes, error);
    if (status != MH_OK || bytes <= t->workspace_bytes)
        return status;
    void *grown = malloc(bytes);
    if (grown == NULL)
        return mh_fail(error, MH_MEMORY,
                       "no memory for a workspace of %zu bytes: use a smaller batch", bytes);
    free(t->workspace);
    t->workspace = grown;
    t->workspace_bytes = bytes;
    return MH_OK;
}

static enum mh_status run(mh_trainer *t, const struct mh_training_pass *pass,
                          struct mh_training_result *result, struct mh_error *error)
{
    enum mh_status status = grow_workspace(t, pass, error);
    if (status != MH_OK)
        return status;
    return mh_training_gradient(&t->network, pass, t->workspace, t->workspace_bytes, result, error);
}

/* NONFINITE if array [size] has NaN or infinity, naming the tensor it is in. */
static enum mh_status check_finite(const mh_trainer *t, const float *array, const char *what,
                                   struct mh_error *error)
{
    struct mh_parameter p = {0};
    size_t index = mh_row_first_nonfinite(array, t->size);
    if (index == t->size)
        return MH_OK;
    for (size_t i = 0; i < mh_parameter_count(&t->network); i++) {
        mh_parameter_at(&t->network, i, &p);
        if (index < p.offset + p.count)
            break;
    }
    return mh_fail(error, MH_NONFINITE, "%s%s is %g at index %zu, in step %u", what, p.name,
                   (double)array[index], index - p.offset, t->state.step + 1);
}

/* `pass` has just been run. */
static enum mh_status check_loss(const mh_trainer *t, const struct mh_training_pass *pass,
                                 const struct mh_training_result *result, struct mh_error *error)
{
    struct mh_offence offence;
    if (isfinite(result->loss))
        return MH_OK;
    enum mh_status status = check_finite(t, t->parameters, "", error);
    if (status != MH_OK)
        return status;
    if (mh_training_find_nonfinite(&t->network, pass, t->workspace, t->workspace_bytes, &offence))
        return mh_fail(
            error, MH_NONFINITE,
            "the activation %s is %g at index %zu, in step %u; every parameter is finite",
            offence.name, (double)offence.value, offence.index, t->state.step + 1);
    return mh_fail(error, MH_NONFINITE,
                   "the loss is %g in step %u, though every parameter is finite", result->loss,
                   t->state.step + 1);
}

/* A pass of the trainer's own parameters. */
static struct mh_training_pass own(const mh_trainer *t, const struct mh_training_pass *pass)
{
    struct mh_training_pass mine = *pass;
    mine.parameters = t->parameters;
    mine.gradient = NULL;
    mine.scale_mode = t->settings.scale_mode;
    mine.scale = t->settings.scale;
    mine.attention_dropout = 0.0f;
    mine.residual_dropout = 0.0f;
    mine.factor = 1.0f;
    return mine;
}

static enum mh_status require(const mh_trainer *t, const struct mh_training_pass *pass,
                              const struct mh_training_result *result, struct mh_error *error)
{
    return mh_require(error, (const struct mh_pointer[]){
                                 {"trainer", t}, {"pass", pass}, {"result", result}, {0}});
}

enum mh_status mh_trainer_accumulate(mh_trainer *t, const struct mh_training_pass *pass,
                                     struct mh_training_result *result, struct mh_error *error)
{
    enum mh_status status = require(t, pass, result, error);
    if (status == MH_OK)
        status = mh_trainer_begin_learning(t, error);
    if (status != MH_OK)
        return status;
    struct mh_training_pass mine = own(t, pass);
    mine.gradient = t->gradient;
    mine.attention_dropout = t->settings.attention_dropout;
    mine.residual_dropout = t->settings.residual_dropout;
    mine.dropout_seed =
        mh_random_at(mh_random_stream(t->settings.seed, t->state.step, t->parts, 0), 0);
    status = run(t, &mine, result, error);
    if (status == MH_OK)
        status = check_loss(t, &mine, result, error);
    if (status == MH_NONFINITE)
        mh_trainer_clear(t);
    if (status != MH_OK)
        return status;
    t->counted += result->counted;
    t->parts++;
    return MH_OK;
}

enum mh_status mh_trainer_evaluate(mh_trainer *t, const struct mh_training_pass *pass,
                                   struct mh_training_result *result, struct mh_error *error)
{
    enum mh_status status = require(t, pass, result, error);
    if (status != MH_OK)
        return status;
    struct mh_training_pass mine = own(t, pass);
    return run(t, &mine, result, error);
}

/* ===== A step =============================================================================== */

static void measure_tensors(const mh_trainer *t, const float *array, float *norms)
{
    for (size_t i = 0; norms != NULL && i < mh_parameter_count(&t->network); i++) {
        struct mh_parameter p;
        mh_parameter_at(&t->network, i, &p);
        norms[i] = (float)mh_gradient_norm(array + p.offset, p.count);
    }
}

static void descend(mh_trainer *t, float rate)
{
    const struct mh_adamw *adamw = &t->settings.adamw;
    if (t->settings.optimiser == MH_ADAMW) {
        mh_adamw_step(&t->network, adamw, rate, &t->state, t->parameters, t->gradient);
        return;
    }
    mh_sgd_step(&t->network, adamw->weight_decay, rate, t->parameters, t->gradient);
    t->state.step++;
}

/* The norms of what a step added, in the gradient's place, which has done its work by then. */
static void measure_update(mh_trainer *t, const float *before, float *norms)
{
    for (size_t i = 0; i < t->size; i++)
        t->gradient[i] = t->parameters[i] - before[i];
    measure_tensors(t, t->gradient, norms);
}

static enum mh_status take_step(mh_trainer *t, float *before, struct mh_step_report *report,
                                struct mh_error *error)
{
    float rate = mh_learning_rate(&t->settings.schedule, t->state.step);
    mh_gradient_scale(t->gradient, 1.0f / (float)t->counted, t->size);
    report->gradient_norm = mh_gradient_clip(t->gradient, t->size, t->settings.clip);
    if (!isfinite(report->gradient_norm)) {
        enum mh_status status = check_finite(t, t->gradient, "the gradient of ", error);
        if (status != MH_OK)
            return status;
    }
    measure_tensors(t, t->gradient, report->gradient_norms);
    if (before != NULL)
        memcpy(before, t->parameters, t->size * sizeof *before);
    descend(t, rate);
    if (before != NULL)
        measure_update(t, before, report->update_norms);
    measure_tensors(t, t->parameters, report->parameter_norms);
    report->step = t->state.step;
    report->learning_rate = rate;
    return MH_OK;
}

enum mh_status mh_trainer_apply(mh_trainer *t, struct mh_step_report *report,
                                struct mh_error *error)
{
    struct mh_step_report unread = {0};
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"trainer", t}, {0}});
    if (status != MH_OK)
        return status;
    report = report != NULL ? report : &unread;
    if (t->counted == 0)
        return mh_fail(error, MH_ARGUMENT,
                       "nothing to learn from: no place of the batches has a target");
    float *before = NULL;
    if (report->update_norms != NULL) {
        before = malloc(t->size * sizeof *before);
        if (before == NULL)
            return mh_fail(error, MH_MEMORY, "no memory for %zu numbers", t->size);
    }
    status = take_step(t, before, report, error);
    free(before);
    mh_trainer_clear(t);
    return status;
}
