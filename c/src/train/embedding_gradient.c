#include "train/embedding_gradient.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "train/linear_gradient.h"
#include "train/model_parameters.h"

#include <math.h>
#include <string.h>

static size_t width_of(const struct mh_embedded *e)
{
    return e->network->model.embed_dim;
}

static size_t offset_of(const struct mh_embedded *e, enum mh_embedding_tensor tensor)
{
    return mh_parameter_place(e->network, mh_parameter_of_embedding(e->network, tensor)).offset;
}

/* Places before the first patch. */
static size_t class_places(const struct mh_embedded *e)
{
    return e->network->class_token ? 1 : 0;
}

static size_t patch_rows(const struct mh_embedded *e)
{
    return mh_size_mul(e->batch, e->length - class_places(e));
}

/* Where patch row r of all lies among the places. */
static size_t place_of_patch(const struct mh_embedded *e, size_t r)
{
    size_t patches = e->length - class_places(e);
    return r / patches * e->length + class_places(e) + r % patches;
}

/* ===== Positions ============================================================================ */

/* PE(t, 2i) = sin(t / 10000^(2i/E)), PE(t, 2i + 1) = cos of the same (Vaswani et al. 2017, 3.5). */
static void write_sinusoid(float *out, size_t t, size_t width)
{
    for (size_t e = 0; e < width; e++) {
        double angle = (double)t / pow(10000.0, (double)(e - e % 2) / (double)width);
        out[e] = (float)(e % 2 == 0 ? sin(angle) : cos(angle));
    }
}

/* What is multiplied with the embeddings. */
static float scale_of(const struct mh_embedded *e)
{
    return e->network->sinusoidal ? sqrtf((float)width_of(e)) : 1.0f;
}

/* The positions [T, E]: learned ones, or sinusoids in scratch. */
static const float *positions_of(const struct mh_embedded *e)
{
    if (!e->network->sinusoidal)
        return e->parameters + offset_of(e, MH_WPE);
    for (size_t t = 0; t < e->length; t++)
        write_sinusoid(e->scratch + t * width_of(e), t, width_of(e));
    return e->scratch;
}

/* ===== Patches ============================================================================== */

static struct mh_learned_linear projection_of(const struct mh_embedded *e)
{
    return (struct mh_learned_linear){
        .in = e->network->patch_dim,
        .out = width_of(e),
        .in_stride = width_of(e),
        .out_stride = 1,
        .weight = e->parameters + offset_of(e, MH_PATCH_WEIGHT),
        .bias = e->parameters + offset_of(e, MH_PATCH_BIAS),
    };
}

size_t mh_embedded_scratch(const struct mh_embedded *e)
{
    size_t positions = e->network->sinusoidal ? mh_size_mul(e->length, width_of(e)) : 0;
    if (e->network->architecture != MH_CLASSIFIER)
        return positions;
    size_t rows = patch_rows(e), projected = mh_size_mul(rows, width_of(e));
    size_t linear = mh_learned_linear_scratch(e->network->patch_dim, width_of(e), rows);
    return mh_size_add(positions, mh_size_add(projected, linear));
}

/* [patch rows, E] in scratch, behind the positions; what a product needs follows it. */
static float *projected_of(const struct mh_embedded *e)
{
    return e->scratch + (e->network->sinusoidal ? e->length * width_of(e) : 0);
}

static void embed_patches(const struct mh_embedded *e, float *out)
{
    size_t width = width_of(e), rows = patch_rows(e);
    float *projected = projected_of(e);
    struct mh_learned_linear projection = projection_of(e);
    mh_learned_linear_forward(&projection, projected, e->patches, rows, projected + rows * width);
    for (size_t r = 0; r < rows; r++)
        memcpy(out + place_of_patch(e, r) * width, projected + r * width, width * sizeof *out);
    for (size_t b = 0; b < e->batch && class_places(e) > 0; b++)
        memcpy(out + b * e->length * width, e->parameters + offset_of(e, MH_CLASS_TOKEN),
               width * sizeof *out);
}

/* dy is that by the embedded patches. */
static void patches_backward(const struct mh_embedded *e, const float *dy, float *gradient)
{
    size_t width = width_of(e), rows = patch_rows(e);
    float *d = projected_of(e);
    struct mh_learned_linear projection = projection_of(e);
    for (size_t r = 0; r < rows; r++)
        mh_row_scale(d + r * width, dy + place_of_patch(e, r) * width, scale_of(e), width);
    mh_learned_linear_backward(&projection, NULL, gradient + offset_of(e, MH_PATCH_WEIGHT),
                               gradient + offset_of(e, MH_PATCH_BIAS), d, e->patches, rows,
                               d + rows * width);
    for (size_t b = 0; b < e->batch && class_places(e) > 0; b++) {
        float *token = gradient + offset_of(e, MH_CLASS_TOKEN);
        for (size_t i = 0; i < width; i++)
            token[i] += scale_of(e) * dy[b * e->length * width + i];
    }
}

/* ===== Tokens =============================================================================== */

static void embed_tokens(const struct mh_embedded *e, float *out)
{
    size_t width = width_of(e);
    const float *table = e->parameters + offset_of(e, MH_WTE);
    for (size_t r = 0; r < e->batch * e->length; r++)
        memcpy(out + r * width, table + (size_t)e->tokens[r] * width, width * sizeof *out);
}

static void tokens_backward(const struct mh_embedded *e, const float *dy, float *gradient)
{
    size_t width = width_of(e);
    float *table = gradient + offset_of(e, MH_WTE), scale = scale_of(e);
    for (size_t r = 0; r < e->batch * e->length; r++) {
        float *row = table + (size_t)e->tokens[r] * width;
        for (size_t i = 0; i < width; i++)
            row[i] += scale * dy[r * width + i];
    }
}

/* ===== All of it ============================================================================ */

void mh_embedded_forward(const struct mh_embedded *e, float *out)
{
    size_t width = width_of(e);
    if (e->patches != NULL)
        embed_patches(e, out);
    else
        embed_tokens(e, out);
    const float *positions = positions_of(e);
    if (e->network->sinusoidal)
        mh_row_scale(out, out, scale_of(e), e->batch * e->length * width);
    for (size_t b = 0; b < e->batch; b++)
        mh_row_add(out + b * e->length * width, out + b * e->length * width, positions,
                   e->length * width);
}

void mh_embedded_backward(const struct mh_embedded *e, const float *dy, float *gradient)
{
    size_t floats = e->length * width_of(e);
    if (e->patches != NULL)
        patches_backward(e, dy, gradient);
    else
        tokens_backward(e, dy, gradient);
    if (e->network->sinusoidal)
        return;
    float *positions = gradient + offset_of(e, MH_WPE);
    for (size_t b = 0; b < e->batch; b++)
        mh_row_add(positions, positions, dy + b * floats, floats);
}
