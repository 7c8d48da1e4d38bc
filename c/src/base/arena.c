#include "base/arena.h"

#include "base/error.h"
#include "base/size.h"

#define ALIGNMENT 16

struct mh_arena mh_arena_plan(void)
{
    return (struct mh_arena){.capacity = SIZE_MAX, .planning = true};
}

struct mh_arena mh_arena_over(void *memory, size_t bytes)
{
    struct mh_arena arena = {.given = bytes};
    size_t skip = (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
    if (memory != NULL && bytes >= skip) {
        arena.memory = (unsigned char *)memory + skip;
        arena.capacity = bytes - skip;
    }
    return arena;
}

void *mh_arena_take(struct mh_arena *arena, size_t count, size_t size)
{
    size_t start = arena->used;
    size_t bytes = mh_size_mul(count, size);
    size_t end = mh_size_add(mh_size_add(start, bytes), ALIGNMENT - 1);
    arena->used = end == SIZE_MAX ? SIZE_MAX : end - end % ALIGNMENT;
    arena->peak = mh_size_max(arena->peak, arena->used);
    bool fits = arena->memory != NULL && arena->used <= arena->capacity;
    return fits ? arena->memory + start : NULL;
}

float *mh_arena_floats(struct mh_arena *arena, size_t count)
{
    return mh_arena_take(arena, count, sizeof(float));
}

size_t mh_arena_mark(const struct mh_arena *arena)
{
    return arena->used;
}

void mh_arena_release(struct mh_arena *arena, size_t mark)
{
    arena->used = mark;
}

/* What a workspace of unknown alignment needs to hold the peak. */
static size_t needed(const struct mh_arena *arena)
{
    return mh_size_add(arena->peak, ALIGNMENT - 1);
}

enum mh_status mh_arena_planned(const struct mh_arena *arena, size_t *bytes, struct mh_error *error)
{
    *bytes = needed(arena);
    if (*bytes == SIZE_MAX)
        return mh_fail(error, MH_MEMORY,
                       "the workspace would exceed the address space: use smaller sizes");
    return MH_OK;
}

enum mh_status mh_arena_check(const struct mh_arena *arena, struct mh_error *error)
{
    if (arena->peak <= arena->capacity)
        return MH_OK;
    return mh_fail(error, MH_MEMORY,
                   "the workspace has %zu bytes but %zu are needed: ask the _workspace function",
                   arena->given, needed(arena));
}
