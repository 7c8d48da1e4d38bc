/** The tiny GPT-2 of tests/golden/gpt2. */
import { readFileSync } from 'node:fs';
import { GOLDEN } from './golden.js';

export interface Gpt2 {
  readonly folder: URL;
  readonly config: object;
  /** One word a token, `t0`, `t1`, …: the tests run ids, and GPT-2's own tokenizer is not what they are about. */
  readonly tokenizer: object;
}

export function readGpt2(): Gpt2 {
  const folder = new URL('gpt2/', GOLDEN);
  const config = JSON.parse(readFileSync(new URL('config.json', folder), 'utf8')) as { vocab_size: number };
  const tokens = Array.from({ length: config.vocab_size }, (_, id) => [`t${id}`, id] as const);
  const tokenizer = {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: null,
    decoder: null,
    model: { type: 'BPE', vocab: Object.fromEntries(tokens), merges: [], unk_token: 't0' },
  };
  return { folder, config, tokenizer };
}
