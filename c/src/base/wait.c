#if defined(MH_THREADS) && !defined(__wasm__)

#include "base/wait.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void mh_wait_while(_Atomic uint32_t *word, uint32_t seen)
{
    pthread_mutex_lock(&mutex);
    while (atomic_load(word) == seen)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

void mh_wake_all(_Atomic uint32_t *word)
{
    (void)word;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

#endif
