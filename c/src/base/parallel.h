/* Splitting work over threads. See multihead_threads.h for where the threads come from.
 *
 *     static void square(void *context, size_t index, size_t thread)
 *     {
 *         float *x = context;
 *         x[index] *= x[index];
 *     }
 *
 *     mh_parallel_for(n, square, x);
 *
 * Each index is given out once, to whichever thread is free next, so tasks may differ in length;
 * a task writes what no other task reads or writes. `thread` is below mh_parallel_threads() and
 * no two tasks that run at the same time have the same one: it chooses a task's scratch memory. A
 * task allocates nothing. Within a task, mh_parallel_for runs all its tasks itself, as thread 0.
 *
 * To wake a thread that sleeps takes as long as some hundred thousand multiply-adds, so small work
 * is better done by one: mh_parallel_worth knows.
 *
 * In a build without MH_THREADS, a macro that only parallel.c looks at, all this is a plain loop. */
#ifndef MH_PARALLEL_H
#define MH_PARALLEL_H

#include <stddef.h>

typedef void mh_task(void *context, size_t index, size_t thread);

size_t mh_parallel_threads(void);
void mh_parallel_for(size_t count, mh_task *task, void *context);

/* How many tasks so many multiply-adds are worth: 1 up to mh_parallel_threads(). Any of the threads
 * may take them. */
size_t mh_parallel_worth(size_t products);

/* n >= 1 things for `tasks` tasks: how many for each, a multiple of `unit` but for the last. There
 * are then (n - 1) / that + 1 tasks, perhaps fewer. */
size_t mh_parallel_part(size_t n, size_t tasks, size_t unit);

#endif
