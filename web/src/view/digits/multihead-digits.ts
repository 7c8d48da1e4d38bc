/** `<multihead-digits>`: draw a digit, and see which patch of the picture looks at which, in every head. */

import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { pictureSide, samples } from 'multihead/models/digits';
import { formatNumber, formatWeight } from '../pictures/format.js';
import type { HeadRef } from '../pictures/types.js';
import { RoomElement } from '../room-element.js';
import { type Desk, shownRow } from './context.js';
import { centred, paintPicture, readSamples } from './ink.js';
import { firstPatch, patches, placeName } from './patches.js';
import { DigitReader, type ReaderName, type Reading } from './reader.js';
import { digitsStyles } from './styles.js';
import { sayIn } from './words.js';

/** Share of the held-out digits that each model reads right: see the model card. */
const accuracies: Readonly<Record<ReaderName, string>> = { vit: '95 %', windowed: '97 %' };
const readerNames: readonly ReaderName[] = ['vit', 'windowed'];
/** Of 8 rows of 8. */
const middlePatch = 3 * 8 + 4;
/** The sample that is there at first. */
const firstSample = 5;

export class MultiheadDigits extends RoomElement {
  static override readonly styles = digitsStyles;

  readonly #samples = readSamples(samples);
  readonly #readers = new Map<ReaderName, DigitReader>();
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #picture: Float32Array = this.#samples[firstSample] ?? new Float32Array(pictureSide ** 2);
  /** As the models see it: its ink in the middle. */
  #centred: Float32Array = centred(this.#picture);
  #name: ReaderName = 'vit';
  #head: HeadRef = { layer: 2, head: 0 };
  /** A place of the map; null: the class token, or the patch in the middle. */
  #query: number | null = null;
  #failure: string | null = null;
  /** What was read last, and by which reader: looking from elsewhere reads nothing anew. */
  #read: { reader: DigitReader; picture: Float32Array; reading: Reading } | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#dark.addEventListener('change', this.#repaint);
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#dark.removeEventListener('change', this.#repaint);
    for (const reader of this.#readers.values()) reader.dispose();
    this.#readers.clear();
  }

  readonly #repaint = (): void => this.requestUpdate();

  async #load(): Promise<void> {
    const name = this.#name;
    this.#failure = null;
    this.requestUpdate();
    if (this.#readers.has(name)) return;
    try {
      const reader = await DigitReader.load(name);
      if (this.isConnected && !this.#readers.has(name)) this.#readers.set(name, reader);
      else reader.dispose();
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
    }
    this.requestUpdate();
  }

  #show(picture: Float32Array): void {
    this.#picture = picture;
    this.#centred = centred(picture);
    this.requestUpdate();
  }

  #choose(name: ReaderName): void {
    this.#name = name;
    this.#query = null;
    void this.#load();
  }

  /* ---------------------------------------------------------------------------------------------- Rendering */

  #desk(): Desk | null {
    const reader = this.#readers.get(this.#name);
    if (!reader) return null;
    return {
      t: sayIn(this.language),
      dark: this.#isDark,
      reader,
      reading: this.#readBy(reader),
      head: this.#head,
      query: this.#query ?? (reader.hasClassToken ? 0 : middlePatch),
      select: ({ layer, head }) => {
        this.#head = { layer, head };
        this.requestUpdate();
      },
      look: (query) => {
        this.#query = query;
        this.requestUpdate();
      },
    };
  }

  #readBy(reader: DigitReader): Reading {
    const picture = this.#centred;
    if (this.#read?.reader !== reader || this.#read.picture !== picture)
      this.#read = { reader, picture, reading: reader.read(picture) };
    return this.#read.reading;
  }

  get #isDark(): boolean {
    return this.theme === 'auto' ? this.#dark.matches : this.theme === 'dark';
  }

  protected override updated(_changed: PropertyValues): void {
    const canvas = this.renderRoot.querySelector<HTMLCanvasElement>('canvas.ink');
    if (canvas) paintPicture(canvas, this.#centred, this.#isDark ? [255, 255, 255] : [20, 24, 30]);
  }

  protected override render(): TemplateResult {
    const desk = this.#desk();
    const t = sayIn(this.language);
    return html`<div class="room">
      ${this.#drawing()}
      ${desk ? html`${stage(desk)} ${heads(desk)} ${classes(desk, this.#picture, accuracies[this.#name])}` : this.#waiting()}
      <p class="caveat">${t('caveat')}</p>
    </div>`;
  }

  #waiting(): TemplateResult {
    const t = sayIn(this.language);
    if (this.#failure === null) return html`<p class="stage note" role="status">${t('loading')}</p>`;
    return html`<div class="stage" role="alert">
      <p class="warning">${t('failed', { reason: this.#failure })}</p>
      <button @click=${() => void this.#load()}>${t('retry')}</button>
    </div>`;
  }

  #drawing(): TemplateResult {
    const t = sayIn(this.language);
    return html`<section class="drawing" aria-labelledby="lead">
      <h2 id="lead">${t('lead')}</h2>
      <mh-drawing-pad
        .picture=${this.#picture}
        .dark=${this.#isDark}
        .label=${t('pad')}
        @mh-draw=${({ detail }: HTMLElementEventMap['mh-draw']) => this.#show(detail)}
      ></mh-drawing-pad>
      <div class="row">
        <button @click=${() => this.#show(new Float32Array(pictureSide ** 2))}>${t('clear')}</button>
      </div>
      <p class="note" id="samples">${t('samples')}</p>
      <div class="row samples" role="group" aria-labelledby="samples">
        ${this.#samples.map(
          (picture, digit) =>
            html`<button aria-label=${t('sample', { digit })} @click=${() => this.#show(picture)}>${digit}</button>`,
        )}
      </div>
      <fieldset class="segments-field">
        <legend>${t('model')}</legend>
        ${readerNames.map(
          (name) => html`<label>
            <input type="radio" name="model" .checked=${name === this.#name} @change=${() => this.#choose(name)} />
            ${t(`model.${name}`)}
          </label>`,
        )}
      </fieldset>
      <p class="note">${t(`model.${this.#name}.note`)}</p>
    </section>`;
  }
}

function stage(desk: Desk): TemplateResult {
  const { t, head, query, reader } = desk;
  const row = shownRow(desk);
  const first = firstPatch(desk);
  const best = row.slice(first).reduce((most, weight, i, all) => (weight > (all[most] ?? 0) ? i : most), 0) + first;
  const facts = [
    t('lookFrom', { query: placeName(desk, query) }),
    t('strongest', { key: placeName(desk, best), weight: formatWeight(row[best] ?? 0) }),
    ...(first > 0 ? [t('onClass', { weight: formatWeight(row[0] ?? 0) })] : []),
    t('entropy', { entropy: formatNumber(desk.reading.entropies[head.layer * reader.heads + head.head] ?? 0) }),
  ];
  return html`<section class="stage" aria-labelledby="stage-title">
    <h2 id="stage-title">${t('stage', { layer: head.layer + 1, head: head.head + 1 })}</h2>
    <p class="note" aria-live="polite">${facts.join(' · ')}</p>
    ${patches(desk)}
    <p class="row">
      ${
        first > 0
          ? html`<span class="note">${t('query.choose')}</span>
              <button class="small" aria-pressed=${query === 0} @click=${() => desk.look(0)}>${t('query.class')}</button>`
          : nothing
      }
    </p>
  </section>`;
}

function heads(desk: Desk): TemplateResult {
  const { t, reader, reading, head } = desk;
  return html`<section class="heads" aria-labelledby="heads-title">
    <h2 id="heads-title">${t('heads')}</h2>
    <mh-heads
      .layers=${reader.layers}
      .heads=${reader.heads}
      .queryCount=${reader.places}
      .keyCount=${reader.places}
      .attention=${reading.attention}
      .entropy=${{ values: reading.entropies, max: 1, unit: 'normalised' }}
      .selected=${[head]}
      .palette=${'cividis'}
      .layout=${'grid'}
      .words=${t}
      @mh-head-select=${({ detail }: HTMLElementEventMap['mh-head-select']) => desk.select(detail)}
    ></mh-heads>
  </section>`;
}

function classes({ t, reading, reader }: Desk, picture: Float32Array, accuracy: string): TemplateResult {
  const best = reading.probabilities.indexOf(Math.max(...reading.probabilities));
  const blank = picture.every((ink) => ink === 0);
  return html`<section class="classes" aria-labelledby="classes-title">
    <h2 id="classes-title">${t('classes')}</h2>
    <ol aria-live="polite">
      ${Array.from(
        reading.probabilities,
        (probability, digit) => html`<li class=${digit === best && !blank ? 'best' : ''}>
          <span>${digit}</span>
          <span class="bar"><i style="inline-size: ${100 * probability}%"></i></span>
          <span>${formatWeight(probability)}</span>
        </li>`,
      )}
    </ol>
    <p class="note">${blank ? t('blank') : t('time', { milliseconds: reading.milliseconds.toFixed(1), build: reader.build })}</p>
    <p class="note">${t('trained', { accuracy })}</p>
  </section>`;
}
