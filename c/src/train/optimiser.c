/* One step: sums, norms and clipping of gradients, the learning rate, AdamW and plain descent. */
#include "kernels/kernels.h"
#include "train/model_parameters.h"

#include <math.h>

float mh_learning_rate(const struct mh_schedule *s, uint32_t step)
{
    if (step < s->warm_up)
        return (float)((double)s->peak * (double)(step + 1) / (double)s->warm_up);
    if (s->steps == 0)
        return s->peak;
    if (step >= s->steps)
        return s->floor;
    const double pi = 3.14159265358979323846;
    double progress = (double)(step - s->warm_up) / (double)(s->steps - s->warm_up);
    double share = 0.5 * (1.0 + cos(pi * progress));
    return (float)((double)s->floor + ((double)s->peak - (double)s->floor) * share);
}

void mh_gradient_add(float *sum, const float *gradient, size_t n)
{
    mh_row_add(sum, sum, gradient, n);
}

void mh_gradient_scale(float *gradient, float factor, size_t n)
{
    mh_row_scale(gradient, gradient, factor, n);
}

double mh_gradient_norm(const float *gradient, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)gradient[i] * (double)gradient[i];
    return sqrt(sum);
}

float mh_gradient_clip(float *gradient, size_t n, float most)
{
    double norm = mh_gradient_norm(gradient, n);
    double factor = (double)most / (norm + 1e-6);
    if (most > 0.0f && isfinite(norm) && factor < 1.0)
        mh_gradient_scale(gradient, (float)factor, n);
    return (float)norm;
}

/* What is the same for all numbers of a tensor in one step. */
struct update {
    float rate;            /* with the correction of the mean */
    float variance_factor; /* the correction of the variance */
    float keep;            /* 1 - rate * decay */
};

static void update_tensor(const struct mh_adamw *adamw, const struct update *u, float *p, float *m,
                          float *v, const float *g, size_t n)
{
    float new_mean = 1.0f - adamw->beta1, new_variance = 1.0f - adamw->beta2;
    for (size_t i = 0; i < n; i++) {
        m[i] += new_mean * (g[i] - m[i]);
        v[i] = adamw->beta2 * v[i] + new_variance * g[i] * g[i];
        float deviation = sqrtf(v[i] * u->variance_factor) + adamw->epsilon;
        p[i] = p[i] * u->keep - u->rate * m[i] / deviation;
    }
}

void mh_adamw_step(const struct mh_network *network, const struct mh_adamw *adamw, float rate,
                   struct mh_adamw_state *state, float *parameters, const float *gradient)
{
    state->step++;
    double t = (double)state->step;
    struct update u = {
        .rate = (float)((double)rate / (1.0 - pow((double)adamw->beta1, t))),
        .variance_factor = (float)(1.0 / (1.0 - pow((double)adamw->beta2, t))),
    };
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_place p = mh_parameter_place(network, i);
        u.keep = p.rows > 0 ? 1.0f - rate * adamw->weight_decay : 1.0f;
        update_tensor(adamw, &u, parameters + p.offset, state->mean + p.offset,
                      state->variance + p.offset, gradient + p.offset, p.count);
    }
}

void mh_sgd_step(const struct mh_network *network, float weight_decay, float rate,
                 float *parameters, const float *gradient)
{
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_place place = mh_parameter_place(network, i);
        float keep = place.rows > 0 ? 1.0f - rate * weight_decay : 1.0f;
        float *p = parameters + place.offset;
        const float *g = gradient + place.offset;
        for (size_t e = 0; e < place.count; e++)
            p[e] = p[e] * keep - rate * g[e];
    }
}
