/* multihead with several threads.
 *
 * A build with threads runs the passes of multihead.h on one thread until it is given more; so does
 * every caller of it. More threads change no bit of any result: rows, columns and heads are split,
 * never a sum. What is too small to gain stays on the calling thread.
 *
 *     natively                                  in wasm, on shared memory
 *
 *     mh_threads_start(4, &error);              the host starts 3 threads, each an instance of the
 *     ... passes ...                            module on the same memory with a stack of its own,
 *     mh_threads_stop();                        in mh_thread_run(1), (2), (3);
 *                                               then mh_threads_use(4, 1) on the calling thread
 *
 * Give threads before a workspace is planned: its size grows with them. Passes may be called from
 * one thread or from several; one pass at a time has the threads, others go on alone. Only the
 * calling thread allocates memory. */
#ifndef MULTIHEAD_THREADS_H
#define MULTIHEAD_THREADS_H

#include "multihead.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most threads that a pass can use. */
#define MH_THREADS_MOST 64

/* How many threads a pass uses, the calling one included: 1 until more were given. */
size_t mh_threads(void);

/* From now on passes use the calling thread and threads 1 .. threads - 1, which are in
 * mh_thread_run or on their way there. `may_wait` is 0 where the calling thread is not allowed to
 * sleep (the main thread of a page): then it spins until the others are done. */
void mh_threads_use(size_t threads, int32_t may_wait);

/* What thread `thread` >= 1 does all its life: waits for work, does it. Returns after
 * mh_threads_end. */
void mh_thread_run(size_t thread);

/* Every mh_thread_run returns, and passes use the calling thread alone. Not during a pass. */
void mh_threads_end(void);

/* To be called in place of a thread that crashed inside mh_thread_run: the pass under way does not
 * wait for it, but crashes too, and so does every later one. */
void mh_thread_crashed(void);

#ifndef __wasm__
/* Starts threads - 1 threads and uses them; ends those that were there before. ARGUMENT if threads
 * is not in 1 .. MH_THREADS_MOST, MEMORY if the system gives no more threads: then there is one. */
enum mh_status mh_threads_start(size_t threads, struct mh_error *error);
void mh_threads_stop(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
