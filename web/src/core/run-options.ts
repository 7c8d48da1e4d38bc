/** What a caller gives to `run` and `tokenize`, checked as far as it does not depend on the model. */
import { MultiheadError } from './errors.js';
import { checkMapChoice } from './map-choice.js';
import { checkOptions, type Known } from './options.js';
import type { Ablation, MaskOptions, RunOptions, TokenizeOptions } from './types.js';

const RUN: Known<RunOptions> = {
  mask: true,
  scale: true,
  temperature: true,
  ablate: true,
  attention: true,
  statistics: true,
  stages: true,
  hidden: true,
  logits: true,
  topK: true,
  endToken: true,
  maskTokens: true,
  tooLong: true,
  checkFinite: true,
  signal: true,
};
const MASK: Known<MaskOptions> = { causal: true, window: true, prefix: true, padding: true, hidden: true };
const ABLATION: Known<Ablation> = { layer: true, head: true, kind: true };
const TOKENIZE: Known<TokenizeOptions> = { endToken: true };

/** Throws code `argument` for an input that is neither text nor ids, or an option that does not exist. */
export function checkRun(input: string | readonly number[], options: RunOptions): void {
  if (typeof input !== 'string' && !Array.isArray(input)) throw inputError('run', input, 'a text, or a list of ids');
  checkOptions('run', options, RUN);
  if (options.mask !== undefined) checkOptions('mask', options.mask, MASK);
  checkMapChoice('attention', options.attention, ['all', 'none']);
  checkMapChoice('stages', options.stages, [true, false]);
  checkList('ablate', options.ablate);
  checkList('maskTokens', options.maskTokens);
  for (const ablation of options.ablate ?? []) checkOptions('an ablation', ablation, ABLATION);
  if (options.tooLong === undefined || options.tooLong === 'error' || options.tooLong === 'truncate') return;
  throw new MultiheadError('argument', `tooLong is ${options.tooLong}: it must be 'error' or 'truncate'`);
}

/** As `checkRun`, for `tokenize`. */
export function checkTokenize(input: string | readonly number[], options: TokenizeOptions): void {
  if (typeof input !== 'string' && !Array.isArray(input))
    throw inputError('tokenize', input, 'a text, or a list of ids');
  checkOptions('tokenize', options, TOKENIZE);
}

function checkList(name: string, value: unknown): void {
  if (value === undefined || Array.isArray(value)) return;
  throw new MultiheadError('argument', `${name} is ${String(value)}: it must be a list`);
}

function inputError(name: string, input: unknown, wanted: string): MultiheadError {
  return new MultiheadError('argument', `${name} takes ${wanted}, and got ${String(input)}`);
}
