/**
 * A small translator of short sentences between English and simplified Chinese, for looking at cross-attention. It reads
 * and writes with the tokenizer of `multihead/models/bilingual`.
 *
 * A source is `<s>`, a text's tokens, `</s>`, as that tokenizer makes them; a translation begins with `<s>` and ends where
 * the model writes `</s>`. The language of the source says which way to translate.
 *
 * @example
 * import { Trainer } from 'multihead/train';
 * import { translator } from 'multihead/models/translator';
 * const model = await Trainer.create(translator.network);
 * model.load(new Uint8Array(await (await fetch(translator.weights)).arrayBuffer()));
 * const { logits, crossAttention } = model.probe({ source, tokens, causal: true }, { logits: true });
 */
export const translator = {
  name: 'translator',
  network: {
    architecture: 'encoder-decoder',
    layers: 3,
    encoderLayers: 3,
    heads: 4,
    embedDim: 128,
    ffnDim: 512,
    vocabulary: 8016,
    positions: 48,
    activation: 'gelu',
  },
  // Bundlers find the files by exactly this form.
  weights: new URL('./translator.safetensors', import.meta.url),
} as const;
