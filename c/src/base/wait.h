/* Sleeping until another thread changes a word of memory: wasm's own instructions, or, natively,
 * a condition that all words share. */
#ifndef MH_WAIT_H
#define MH_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How often a thread looks before it goes to sleep: to be woken again costs more than the gap
 * between two jobs of a pass, which this outlasts. About 50 microseconds. */
enum { MH_SPINS = 20000 };

/* Looks for a while whether *word is something else than `seen`. */
static inline bool mh_spin_while(_Atomic uint32_t *word, uint32_t seen)
{
    for (int i = 0; i < MH_SPINS; i++)
        if (atomic_load_explicit(word, memory_order_acquire) != seen)
            return true;
    return false;
}

#ifdef __wasm__

/* Sleeps while *word is `seen`, until mh_wake_all; may return earlier. */
static inline void mh_wait_while(_Atomic uint32_t *word, uint32_t seen)
{
    __builtin_wasm_memory_atomic_wait32((int *)word, (int)seen, -1);
}

/* Wakes all who sleep on the word. Call it after changing it. */
static inline void mh_wake_all(_Atomic uint32_t *word)
{
    __builtin_wasm_memory_atomic_notify((int *)word, UINT32_MAX);
}

#else

void mh_wait_while(_Atomic uint32_t *word, uint32_t seen);
void mh_wake_all(_Atomic uint32_t *word);

#endif

#endif
