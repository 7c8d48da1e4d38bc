/* What kernels.mjs times: one product or one attention core at a time, on memory of its own. Linked with the objects of
 * the engine as it is shipped. A module is used for one set-up. */
#include "kernels/kernels.h"
#include "multihead.h"

#include <stdlib.h>

static float *random_floats(size_t count)
{
    static uint32_t state = 1;
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; x != NULL && i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

/* ===== C [m, n] = A [m, k] B [k, n] ========================================================== */

static struct {
    size_t m, n, k;
    float *a, *b, *c, *bias;
} product;

int product_set_up(size_t m, size_t n, size_t k);
int product_set_up(size_t m, size_t n, size_t k)
{
    float *b = random_floats(k * n);
    product.m = m;
    product.n = n;
    product.k = k;
    product.a = random_floats(m * k);
    product.b = random_floats(mh_packed_size(k, n));
    product.c = random_floats(m * n);
    product.bias = random_floats(n + MH_GEMM_COLUMNS);
    if (b == NULL || product.b == NULL || product.c == NULL)
        return 1;
    mh_pack(product.b, b, k, n, n, 1);
    free(b);
    return 0;
}

void product_run(int times);
void product_run(int times)
{
    for (; times > 0; times--)
        mh_gemm(product.c, product.n, product.a, product.k, product.b, product.bias, product.m,
                product.n, product.k, 0, product.n);
}

/* ===== Attention core ======================================================================= */

static struct {
    struct mh_attention a;
    void *workspace;
    size_t bytes;
} core;

/* window < 0: none. Returns a status. */
int core_set_up(size_t heads, size_t queries, size_t keys, size_t head_dim, int causal, int window,
                int weights, int check_finite);
int core_set_up(size_t heads, size_t queries, size_t keys, size_t head_dim, int causal, int window,
                int weights, int check_finite)
{
    size_t width = heads * head_dim;
    struct mh_error error;
    core.a = (struct mh_attention){
        .batch = 1,
        .queries = queries,
        .keys = keys,
        .heads = heads,
        .kv_heads = heads,
        .head_dim = head_dim,
        .value_dim = head_dim,
        .query = {random_floats(queries * width), 0, queries * head_dim, head_dim},
        .key = {random_floats(keys * width), 0, keys * head_dim, head_dim},
        .value = {random_floats(keys * width), 0, keys * head_dim, head_dim},
        .output = {random_floats(queries * width), 0, queries * head_dim, head_dim},
        .mask = {.causal = causal,
                 .query_offset = (int32_t)(keys - queries),
                 .windowed = window >= 0,
                 .window_left = window,
                 .window_right = window},
        .weights = {.mode = weights},
        .check_finite = check_finite,
    };
    if (weights == MH_WEIGHTS_ALL)
        core.a.weights.data = random_floats(heads * queries * keys);
    int status = (int)mh_attention_workspace(&core.a, &core.bytes, &error);
    core.workspace = malloc(core.bytes);
    return core.workspace == NULL ? MH_MEMORY : status;
}

int core_run(int times);
int core_run(int times)
{
    int status = MH_OK;
    for (; times > 0; times--)
        status |= (int)mh_attention_forward(&core.a, core.workspace, core.bytes, NULL, NULL);
    return status;
}
