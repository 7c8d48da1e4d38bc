/** For typing: of the requests that pile up while one is under way, only the newest is worth running. */

interface Waiting<Args, Result> {
  readonly args: Args;
  readonly resolve: (result: Result | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Wraps an asynchronous function so that at most one call runs and at most one waits. A newer call takes the place of
 * the waiting one, whose promise resolves to `undefined`.
 */
export function keepLatest<Args extends readonly unknown[], Result>(
  run: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result | undefined> {
  let busy = false;
  let waiting: Waiting<Args, Result> | undefined;

  async function start(request: Waiting<Args, Result>): Promise<void> {
    busy = true;
    try {
      request.resolve(await run(...request.args));
    } catch (thrown) {
      request.reject(thrown);
    }
    busy = false;
    const next = waiting;
    waiting = undefined;
    if (next) void start(next);
  }

  return (...args) =>
    new Promise((resolve, reject) => {
      const request = { args, resolve, reject };
      if (!busy) {
        void start(request);
        return;
      }
      waiting?.resolve(undefined);
      waiting = request;
    });
}
