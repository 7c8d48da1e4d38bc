#define _POSIX_C_SOURCE 200809L /* nanosleep */

/* The threads themselves: every index once, whatever the number of threads; jobs within jobs and from several callers;
 * starting and stopping. Run under the sanitizers as all tests are. */
#include "base/parallel.h"
#include "multihead_threads.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MOST_TASKS = 300 };

struct counted {
    _Atomic uint32_t runs[MOST_TASKS];
    _Atomic uint32_t busy[MH_THREADS_MOST]; /* tasks at work with this thread's number */
    _Atomic uint32_t faults;
};

static void count(void *context, size_t index, size_t thread)
{
    struct counted *c = context;
    if (thread >= mh_parallel_threads() || atomic_fetch_add(&c->busy[thread], 1) != 0)
        atomic_fetch_add(&c->faults, 1);
    atomic_fetch_add(&c->runs[index], 1);
    /* Some tasks are long, so that every thread gets to work. */
    for (_Atomic uint32_t i = 0; i < (index % 7 == 0 ? 2000 : 10); i++)
        ;
    atomic_fetch_sub(&c->busy[thread], 1);
}

static void check_each_once(size_t tasks)
{
    struct counted c;
    memset(&c, 0, sizeof c);
    mh_parallel_for(tasks, count, &c);
    for (size_t i = 0; i < MOST_TASKS; i++)
        assert_int_equal(c.runs[i], i < tasks);
    assert_int_equal(c.faults, 0);
}

static void start(size_t threads)
{
    struct mh_error error;
    assert_int_equal(mh_threads_start(threads, &error), MH_OK);
    assert_int_equal(mh_threads(), threads);
}

static void each_index_is_run_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 5; threads++) {
        start(threads);
        for (int round = 0; round < 200; round++)
            check_each_once((size_t)round * 7 % MOST_TASKS);
        mh_threads_stop();
    }
}

static void threads_sleep_between_jobs(void **state)
{
    (void)state;
    start(3);
    for (int round = 0; round < 20; round++) {
        check_each_once(MOST_TASKS);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    mh_threads_stop();
}

static void starting_and_stopping(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        start(1 + (size_t)round % 4);
        check_each_once(9);
        if (round % 3 != 0) /* else the next start ends them */
            mh_threads_stop();
    }
    mh_threads_stop();
    mh_threads_stop();
    assert_int_equal(mh_threads(), 1);
    check_each_once(9);
}

static void a_wrong_number_is_refused(void **state)
{
    struct mh_error error;
    (void)state;
    assert_int_equal(mh_threads_start(0, &error), MH_ARGUMENT);
    assert_string_equal(error.message, "threads is 0: it must be 1 to 64");
    assert_int_equal(mh_threads_start(MH_THREADS_MOST + 1, NULL), MH_ARGUMENT);
    assert_int_equal(mh_threads(), 1);
}

/* ===== Jobs in jobs, and side by side ======================================================= */

static void run_inner_job(void *context, size_t index, size_t thread)
{
    struct counted *each = context, inner;
    memset(&inner, 0, sizeof inner);
    (void)thread;
    mh_parallel_for(MOST_TASKS, count, &inner);
    for (size_t i = 0; i < MOST_TASKS; i++)
        if (inner.runs[i] != 1)
            atomic_fetch_add(&each->faults, 1);
    atomic_fetch_add(&each->faults, inner.faults);
    atomic_fetch_add(&each->runs[index], 1);
}

static void a_job_in_a_job_is_done_by_its_thread(void **state)
{
    struct counted c;
    (void)state;
    memset(&c, 0, sizeof c);
    start(3);
    mh_parallel_for(MOST_TASKS, run_inner_job, &c);
    mh_threads_stop();
    assert_int_equal(c.faults, 0);
    for (size_t i = 0; i < MOST_TASKS; i++)
        assert_int_equal(c.runs[i], 1);
}

static void *call_from_outside(void *context)
{
    for (size_t i = 0; i < 100; i++)
        run_inner_job(context, i, 0);
    return NULL;
}

static void several_callers_share_the_threads(void **state)
{
    struct counted c[3];
    pthread_t callers[3];
    (void)state;
    memset(c, 0, sizeof c);
    start(3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_from_outside, &c[i]), 0);
    for (size_t i = 0; i < 3; i++) {
        pthread_join(callers[i], NULL);
        assert_int_equal(c[i].faults, 0);
        assert_int_equal(c[i].runs[99], 1);
    }
    mh_threads_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_index_is_run_once),
        cmocka_unit_test(threads_sleep_between_jobs),
        cmocka_unit_test(starting_and_stopping),
        cmocka_unit_test(a_wrong_number_is_refused),
        cmocka_unit_test(a_job_in_a_job_is_done_by_its_thread),
        cmocka_unit_test(several_callers_share_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
