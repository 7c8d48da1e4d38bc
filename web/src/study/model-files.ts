/**
 * A trained model as the files of any other: what `loadModel` needs besides the weights. Its tokenizer knows whole words
 * of its task, and splits a text at them, so that languages without spaces are read as well.
 */
import { networkOf, type Settings } from './settings.js';
import { specials, vocabularyOf } from './task.js';
import { taskOf } from './tasks/index.js';

/** A regular expression for this very text. */
const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** config.json, GPT-2's keys. */
export function configOf(settings: Settings): Readonly<Record<string, unknown>> {
  const { layers, heads, embedDim, ffnDim, vocabulary, positions } = networkOf(settings);
  return {
    model_type: 'gpt2',
    architectures: ['GPT2LMHeadModel'],
    n_layer: layers,
    n_head: heads,
    n_embd: embedDim,
    n_inner: ffnDim,
    vocab_size: vocabulary,
    n_positions: positions,
    activation_function: 'gelu_new',
    layer_norm_epsilon: 1e-5,
    tie_word_embeddings: true,
    pad_token_id: specials.indexOf('<pad>'),
    bos_token_id: specials.indexOf('<s>'),
    eos_token_id: specials.indexOf('</s>'),
    attention_masks: ['causal'],
  };
}

/** tokenizer.json of the tokenizers library. */
export function tokenizerOf({ task }: Settings): Readonly<Record<string, unknown>> {
  const vocabulary = vocabularyOf(taskOf(task));
  const words = vocabulary.slice(specials.length);
  // The longest first: of "where" and "wherever" the whole word is meant.
  const pattern = words.toSorted((a, b) => b.length - a.length).map(literal);
  const [start, end] = ['<s>', '</s>'] as const;
  const frame = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const entry = (id: string) => [id, { id, ids: [vocabulary.indexOf(id)], tokens: [id] }];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specials.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'WhitespaceSplit' },
        { type: 'Split', pattern: { Regex: pattern.join('|') }, behavior: 'Isolated', invert: false },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [frame(start), { Sequence: { id: 'A', type_id: 0 } }, frame(end)],
      pair: [
        frame(start),
        { Sequence: { id: 'A', type_id: 0 } },
        frame(end),
        { Sequence: { id: 'B', type_id: 1 } },
        frame(end),
      ],
      special_tokens: Object.fromEntries([entry(start), entry(end)]),
    },
    decoder: null,
    model: {
      type: 'WordLevel',
      vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
      unk_token: '<unk>',
    },
  };
}
