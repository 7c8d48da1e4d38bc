/* A bump allocator over memory that the caller owns, 16-byte aligned.
 *
 * The same function plans and lays out, so that the size asked for can never disagree with the
 * size used: over no memory an arena only counts.
 *
 *     static struct scratch lay_out(struct mh_arena *arena, const struct mh_block_pass *pass)
 *     {
 *         return (struct scratch){.normed = mh_arena_floats(arena, pass->length * E), ...};
 *     }
 *
 *     // _workspace:                                  // _forward:
 *     struct mh_arena arena = mh_arena_plan();        struct mh_arena arena =
 *     lay_out(&arena, pass);                              mh_arena_over(workspace, bytes);
 *     return mh_arena_planned(&arena, bytes, error);  struct scratch s = lay_out(&arena, pass);
 *                                                     status = mh_arena_check(&arena, error);
 */
#ifndef MH_ARENA_H
#define MH_ARENA_H

#include "multihead.h"

#include <stdbool.h>

struct mh_arena {
    unsigned char *memory; /* aligned; NULL while planning */
    size_t capacity;       /* bytes from `memory` on */
    size_t used, peak;     /* bytes; SIZE_MAX when they overflowed */
    size_t given;          /* bytes that the caller passed, for the message */
    bool planning;
};

struct mh_arena mh_arena_plan(void);
struct mh_arena mh_arena_over(void *memory, size_t bytes);

/* `count` things of `size` bytes, not initialised. NULL while planning, and when they do not fit:
 * check once after the layout, before anything is used. */
void *mh_arena_take(struct mh_arena *arena, size_t count, size_t size);
float *mh_arena_floats(struct mh_arena *arena, size_t count);

/* What was taken since the mark may be taken again: `release(a, mark(a))` brackets scratch that
 * two stages share. The peak remembers the larger. */
size_t mh_arena_mark(const struct mh_arena *arena);
void mh_arena_release(struct mh_arena *arena, size_t mark);

/* Ends a plan: bytes of a workspace of any alignment. MEMORY if no address space could hold it. */
enum mh_status mh_arena_planned(const struct mh_arena *arena, size_t *bytes,
                                struct mh_error *error);

/* Ends a layout: MEMORY if the workspace was too small. */
enum mh_status mh_arena_check(const struct mh_arena *arena, struct mh_error *error);

#endif
