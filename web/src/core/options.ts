/** Options objects: a misspelt option must not pass in silence. */
import { MultiheadError } from './errors.js';

/** Every name that an options object may have; the compiler sees to it that none is missing. */
export type Known<Options> = Readonly<Record<keyof Options, true>>;

/** Throws code `argument` unless `options` is an object whose every key is known. `name` is what takes it, as `run`. */
export function checkOptions<Options extends object>(name: string, options: Options, known: Known<Options>): void {
  if (typeof options !== 'object' || options === null) {
    throw new MultiheadError('argument', `${name} takes an object of options, and got ${String(options)}`);
  }
  for (const key of Object.keys(options)) {
    if (Object.hasOwn(known, key)) continue;
    const names = Object.keys(known);
    throw new MultiheadError('argument', `${name} has no option ${key}: it has ${names.join(', ')}`, {
      details: { name, key, known: names },
    });
  }
}
