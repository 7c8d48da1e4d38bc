/* The threads, and how they share a job.
 *
 * A job is a task and the number of its indices. Whoever posts it works on it too, and closes it
 * when no index is left; then it waits for the threads that have joined, not for those that still
 * sleep. `state` holds all that in one word:
 *
 *     0                     no job
 *     CLAIMED               someone writes the job's fields, or is about to clear the word
 *     CLAIMED | OPEN | k    k threads have joined, more may
 *     CLAIMED | k           k threads are still at work, no more may join
 */
#include "base/parallel.h"

#include "base/size.h"
#include "multihead_threads.h"

/* Multiply-adds that are worth a task of their own: about 10 microseconds of them. */
#define TASK_PRODUCTS ((size_t)1 << 18)

size_t mh_parallel_worth(size_t products)
{
    return mh_size_max(1, mh_size_min(products / TASK_PRODUCTS, mh_parallel_threads()));
}

size_t mh_parallel_part(size_t n, size_t tasks, size_t unit)
{
    size_t units = (n + unit - 1) / unit;
    return (units + tasks - 1) / tasks * unit;
}

#ifdef MH_THREADS

#include "base/wait.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CLAIMED UINT32_C(0x80000000)
#define OPEN UINT32_C(0x40000000)

static struct {
    _Atomic uint32_t extra;    /* threads beside the calling one */
    _Atomic uint32_t may_wait; /* the calling thread may sleep */
    _Atomic uint32_t state;
    _Atomic uint32_t posted; /* jobs so far, and calls of mh_threads_end: what idle threads watch */
    _Atomic uint32_t ended;
    _Atomic uint32_t crashed;
    _Atomic size_t next; /* the first index that nobody has taken */
    size_t count;
    mh_task *task;
    void *context;
} pool;

/* ===== Sharing a job ======================================================================== */

static void take_indices(size_t thread)
{
    for (size_t i = atomic_fetch_add(&pool.next, 1); i < pool.count;
         i = atomic_fetch_add(&pool.next, 1))
        pool.task(pool.context, i, thread);
}

static bool join_job(void)
{
    uint32_t state = atomic_load(&pool.state);
    while ((state & OPEN) != 0)
        if (atomic_compare_exchange_weak(&pool.state, &state, state + 1))
            return true;
    return false;
}

static void leave_job(void)
{
    if (atomic_fetch_sub(&pool.state, 1) == (CLAIMED | 1))
        mh_wake_all(&pool.state);
}

static void post_job(size_t count, mh_task *task, void *context)
{
    pool.count = count;
    pool.task = task;
    pool.context = context;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.state, CLAIMED | OPEN);
    atomic_fetch_add(&pool.posted, 1);
    mh_wake_all(&pool.posted);
}

static void close_job(void)
{
    uint32_t state = atomic_fetch_and(&pool.state, ~OPEN) & ~OPEN;
    for (; state != CLAIMED; state = atomic_load(&pool.state))
        if (!mh_spin_while(&pool.state, state) && atomic_load(&pool.may_wait) != 0)
            mh_wait_while(&pool.state, state);
    if (atomic_load(&pool.crashed) != 0)
        __builtin_trap();
    atomic_store(&pool.state, 0);
}

size_t mh_parallel_threads(void)
{
    return mh_threads();
}

void mh_parallel_for(size_t count, mh_task *task, void *context)
{
    uint32_t none = 0;
    if (count < 2 || mh_threads() == 1 ||
        !atomic_compare_exchange_strong(&pool.state, &none, CLAIMED)) {
        for (size_t i = 0; i < count; i++)
            task(context, i, 0);
        return;
    }
    post_job(count, task, context);
    take_indices(0);
    close_job();
}

/* ===== The threads ========================================================================== */

size_t mh_threads(void)
{
    return 1 + (size_t)atomic_load(&pool.extra);
}

void mh_threads_use(size_t threads, int32_t may_wait)
{
    atomic_store(&pool.may_wait, may_wait != 0);
    atomic_store(&pool.extra, (uint32_t)(threads - 1));
}

void mh_thread_run(size_t thread)
{
    for (;;) {
        uint32_t posted = atomic_load(&pool.posted);
        if (atomic_load(&pool.ended) != 0)
            return;
        if (join_job()) {
            take_indices(thread);
            leave_job();
        }
        if (!mh_spin_while(&pool.posted, posted))
            mh_wait_while(&pool.posted, posted);
    }
}

void mh_threads_end(void)
{
    atomic_store(&pool.extra, 0);
    atomic_store(&pool.ended, 1);
    atomic_fetch_add(&pool.posted, 1);
    mh_wake_all(&pool.posted);
}

void mh_thread_crashed(void)
{
    atomic_store(&pool.crashed, 1);
    leave_job();
}

#ifndef __wasm__

#include "base/error.h"

#include <pthread.h>

static pthread_t started[MH_THREADS_MOST];
static size_t started_count;

static void *run_thread(void *number)
{
    mh_thread_run((size_t)number);
    return NULL;
}

void mh_threads_stop(void)
{
    mh_threads_end();
    for (size_t i = 0; i < started_count; i++)
        pthread_join(started[i], NULL);
    started_count = 0;
    atomic_store(&pool.ended, 0);
}

enum mh_status mh_threads_start(size_t threads, struct mh_error *error)
{
    if (threads < 1 || threads > MH_THREADS_MOST)
        return mh_fail(error, MH_ARGUMENT, "threads is %zu: it must be 1 to %d", threads,
                       MH_THREADS_MOST);
    mh_threads_stop();
    for (; started_count < threads - 1; started_count++)
        if (pthread_create(&started[started_count], NULL, run_thread,
                           (void *)(started_count + 1)) != 0) {
            mh_threads_stop();
            return mh_fail(error, MH_MEMORY, "the system has no room for %zu threads", threads);
        }
    mh_threads_use(threads, 1);
    return MH_OK;
}

#endif

#else

size_t mh_parallel_threads(void)
{
    return 1;
}

void mh_parallel_for(size_t count, mh_task *task, void *context)
{
    for (size_t i = 0; i < count; i++)
        task(context, i, 0);
}

#endif
