#include "train/training_check.h"

#include "base/error.h"

#include <math.h>
#include <stdbool.h>

size_t mh_training_length(const struct mh_network *n, const struct mh_training_pass *pass)
{
    bool class_token = n->architecture == MH_CLASSIFIER && n->class_token != 0;
    return pass->length + (class_token ? 1 : 0);
}

size_t mh_training_targets(const struct mh_network *n, const struct mh_training_pass *pass)
{
    return n->architecture == MH_CLASSIFIER ? pass->batch : pass->batch * pass->length;
}

/* ===== Sizes ================================================================================ */

enum mh_status mh_training_check_sizes(const struct mh_network *n,
                                       const struct mh_training_pass *pass, struct mh_error *error)
{
    enum mh_status status = mh_network_check(n, error);
    if (status == MH_OK)
        status = mh_require(error, (const struct mh_pointer[]){{"pass", pass}, {0}});
    if (status != MH_OK)
        return status;
    size_t positions = n->model.positions,
           room = positions - (mh_training_length(n, pass) - pass->length);
    if (pass->batch == 0 || pass->length == 0 || pass->length > room)
        return mh_fail(error, MH_ARGUMENT,
                       "batch is %zu and length %zu: batch must be at least 1, length 1 to %zu",
                       pass->batch, pass->length, room);
    if (pass->batch > INT32_MAX / positions)
        return mh_fail(error, MH_ARGUMENT, "batch is %zu: too large for sequences of %zu",
                       pass->batch, positions);
    if (n->architecture == MH_ENCODER_DECODER &&
        (pass->source_length == 0 || pass->source_length > positions))
        return mh_fail(error, MH_ARGUMENT, "source_length is %zu: it must be 1 to %zu",
                       pass->source_length, positions);
    return MH_OK;
}

/* ===== Numbers ============================================================================== */

static enum mh_status check_tokens(const char *name, const int32_t *tokens, size_t count,
                                   size_t vocabulary, struct mh_error *error)
{
    for (size_t r = 0; r < count; r++)
        if (tokens[r] < 0 || (size_t)tokens[r] >= vocabulary)
            return mh_fail(error, MH_ARGUMENT, "%s[%zu] is %d: it must be 0 to %zu", name, r,
                           tokens[r], vocabulary - 1);
    return MH_OK;
}

static enum mh_status check_source(const struct mh_network *n, const struct mh_training_pass *pass,
                                   struct mh_error *error)
{
    if (pass->source == NULL)
        return mh_fail(error, MH_ARGUMENT, "source is NULL");
    for (size_t b = 0; b < pass->batch && pass->source_lengths != NULL; b++)
        if (pass->source_lengths[b] < 1 || (size_t)pass->source_lengths[b] > pass->source_length)
            return mh_fail(error, MH_ARGUMENT, "source_lengths[%zu] is %d: it must be 1 to %zu", b,
                           pass->source_lengths[b], pass->source_length);
    return check_tokens("source", pass->source, pass->batch * pass->source_length,
                        n->model.vocabulary, error);
}

static enum mh_status check_input(const struct mh_network *n, const struct mh_training_pass *pass,
                                  struct mh_error *error)
{
    if (n->architecture == MH_CLASSIFIER)
        return pass->patches != NULL ? MH_OK : mh_fail(error, MH_ARGUMENT, "patches is NULL");
    if (pass->tokens == NULL)
        return mh_fail(error, MH_ARGUMENT, "tokens is NULL");
    enum mh_status status =
        n->architecture == MH_ENCODER_DECODER ? check_source(n, pass, error) : MH_OK;
    if (status != MH_OK)
        return status;
    return check_tokens("tokens", pass->tokens, pass->batch * pass->length, n->model.vocabulary,
                        error);
}

static enum mh_status check_targets(const struct mh_network *n, const struct mh_training_pass *pass,
                                    struct mh_error *error)
{
    for (size_t r = 0; pass->targets != NULL && r < mh_training_targets(n, pass); r++)
        if (pass->targets[r] >= 0 && (size_t)pass->targets[r] >= n->model.vocabulary)
            return mh_fail(error, MH_ARGUMENT,
                           "targets[%zu] is %d: it must be below %zu, or negative for none", r,
                           pass->targets[r], n->model.vocabulary);
    return MH_OK;
}

static enum mh_status check_settings(const struct mh_training_pass *pass, struct mh_error *error)
{
    if (!isfinite(pass->factor))
        return mh_fail(error, MH_ARGUMENT, "factor is %g: it must be finite", (double)pass->factor);
    if (!(pass->attention_dropout >= 0.0f && pass->attention_dropout < 1.0f))
        return mh_fail(error, MH_ARGUMENT, "attention_dropout is %g: it must be in [0, 1)",
                       (double)pass->attention_dropout);
    if (!(pass->residual_dropout >= 0.0f && pass->residual_dropout < 1.0f))
        return mh_fail(error, MH_ARGUMENT, "residual_dropout is %g: it must be in [0, 1)",
                       (double)pass->residual_dropout);
    return MH_OK;
}

static enum mh_status check_supervision(const struct mh_network *n,
                                        const struct mh_training_pass *pass, struct mh_error *error)
{
    if (pass->supervision == NULL && pass->supervision_count > 0)
        return mh_fail(error, MH_ARGUMENT, "supervision_count is %zu, but supervision is NULL",
                       pass->supervision_count);
    for (size_t i = 0; i < pass->supervision_count; i++) {
        const struct mh_supervision *s = &pass->supervision[i];
        if (s->layer < 0 || (size_t)s->layer >= n->model.layers || s->head < 0 ||
            (size_t)s->head >= n->model.heads)
            return mh_fail(
                error, MH_ARGUMENT,
                "supervision %zu is of layer %d, head %d: there are %zu layers of %zu heads", i,
                s->layer, s->head, n->model.layers, n->model.heads);
        if (s->target == NULL || !(s->weight >= 0.0f && isfinite(s->weight)))
            return mh_fail(error, MH_ARGUMENT,
                           "supervision %zu has no target, or a weight that is not 0 or more", i);
        if (s->cross != 0 && n->architecture != MH_ENCODER_DECODER)
            return mh_fail(error, MH_ARGUMENT,
                           "supervision %zu is of cross-attention, which this network has not", i);
    }
    return MH_OK;
}

enum mh_status mh_training_check_numbers(const struct mh_network *n,
                                         const struct mh_training_pass *pass,
                                         struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"parameters", pass->parameters}, {0}});
    if (status == MH_OK)
        status = check_input(n, pass, error);
    if (status == MH_OK)
        status = check_targets(n, pass, error);
    if (status == MH_OK)
        status = check_settings(pass, error);
    return status == MH_OK ? check_supervision(n, pass, error) : status;
}
