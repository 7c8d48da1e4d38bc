/** What the stage shows while there is nothing to draw: loading, or what failed and what to do about it. */
import { html, nothing, type TemplateResult } from 'lit';
import { type ErrorCode, MultiheadError, messageOf } from '../../core/errors.js';
import { formatMegabytes } from '../format.js';
import type { MessageKey } from '../i18n/index.js';
import type { LoadedBytes } from '../session.js';
import type { LensContext } from './context.js';

type Problem =
  | 'unsupported'
  | 'fetch'
  | 'engineFile'
  | 'compile'
  | 'model'
  | 'damaged'
  | 'nonfinite'
  | 'memory'
  | 'crashed'
  | 'other';

const problems: Partial<Record<ErrorCode, Problem>> = {
  'wasm-unsupported': 'unsupported',
  'wasm-fetch': 'fetch',
  'model-fetch': 'fetch',
  'wasm-not-wasm': 'engineFile',
  'wasm-compile': 'compile',
  'model-format': 'model',
  corrupt: 'model',
  unsupported: 'model',
  shape: 'model',
  nonfinite: 'nonfinite',
  memory: 'memory',
  crashed: 'crashed',
  worker: 'crashed',
};

/** A number that is none in a file was there before any run: no change of the user's made it. */
const problemWith = ({ code, details }: MultiheadError): Problem | undefined =>
  code === 'nonfinite' && 'file' in details ? 'damaged' : problems[code];

/** The message for an error of the engine. */
export function problemOf(error: unknown): { title: MessageKey; remedy: MessageKey } {
  const problem = (error instanceof MultiheadError && problemWith(error)) || 'other';
  return { title: `error.${problem}`, remedy: `error.${problem}Remedy` };
}

export function failure(lens: LensContext, error: unknown): TemplateResult {
  const { t } = lens;
  const { title, remedy } = problemOf(error);
  return html`
    <div class="failure" part="error">
      <h3>${t(title)}</h3>
      <p>${t(remedy)}</p>
      <button @click=${() => lens.retry()}>${t('error.retry')}</button>
      <details>
        <summary>${t('error.details')}</summary>
        <pre>${messageOf(error)}</pre>
      </details>
    </div>
  `;
}

export function loadingText({ t }: Pick<LensContext, 't'>, { loaded, total }: LoadedBytes): string {
  if (loaded === 0) return t('status.loading');
  if (total === 0) return t('status.loadingSome', { loaded: formatMegabytes(loaded) });
  return t('status.loadingBytes', { loaded: formatMegabytes(loaded), total: formatMegabytes(total) });
}

export function loading(lens: LensContext, bytes: LoadedBytes): TemplateResult {
  const { loaded, total } = bytes;
  return html`
    <div class="loading" part="loading">
      <p>${loadingText(lens, bytes)}</p>
      <progress max="1" value=${total > 0 ? loaded / total : nothing} aria-label=${lens.t('status.loading')}></progress>
    </div>
  `;
}
