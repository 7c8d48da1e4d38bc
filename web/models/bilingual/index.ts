/**
 * The default model: English and simplified Chinese. Only addresses, so that nobody downloads a model they do not use.
 *
 * @example
 * import { loadModel } from 'multihead';
 * import { bilingual } from 'multihead/models/bilingual';
 * const model = await loadModel(bilingual);
 */
export const bilingual: {
  readonly name: string;
  readonly config: URL;
  readonly weights: URL;
  readonly tokenizer: URL;
  readonly tokenizerConfig: URL;
} = {
  name: 'bilingual',
  // Bundlers find the files by exactly this form.
  config: new URL('./config.json', import.meta.url),
  weights: new URL('./model.safetensors', import.meta.url),
  tokenizer: new URL('./tokenizer.json', import.meta.url),
  tokenizerConfig: new URL('./tokenizer_config.json', import.meta.url),
};
