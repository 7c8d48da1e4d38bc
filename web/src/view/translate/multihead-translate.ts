/** `<multihead-translate>`: a sentence is translated token by token, and every head shows where it looks meanwhile. */
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { translator } from 'multihead/models/translator';
import { messageOf } from '../../core/errors.js';
import type { Look } from '../../study/translator.js';
import { formatMegabytes } from '../format.js';
import type { MapExport } from '../map-export.js';
import { Notice } from '../notice.js';
import type { HeatmapElement } from '../pictures/heatmap.js';
import type { CellRef, Words } from '../pictures/types.js';
import { RoomElement } from '../room-element.js';
import type { Desk, FieldName, Picture } from './context.js';
import { firstText } from './examples.js';
import { loadTranslator } from './host.js';
import { hashToRoom, type RoomSettings, roomToHash, writtenOf } from './link.js';
import { attentionOf, fitChoice, mapOf } from './maps.js';
import { candidates, heads, map, proof, stage } from './pictures.js';
import { translateStyles } from './styles.js';
import { Translation } from './translation.js';
import { sayIn } from './words.js';
import { writing } from './writing.js';

/** Milliseconds from one token to the next: slow enough to be followed. */
const pace = 450;
/** Up to this width heads are a strip; the same as in styles.ts. */
const oneColumn = 620;

const vocabulary = translator.network.vocabulary;

/** @fires mh-settings - what a link would say has changed */
export class MultiheadTranslate extends RoomElement {
  static override readonly styles = translateStyles;

  #settings: RoomSettings = hashToRoom('', vocabulary).settings;
  #translation: Translation | null = null;
  #pointed: CellRef | null = null;
  #asTable = false;
  #composing: FieldName | null = null;
  #narrow = true;
  #resizes: ResizeObserver | undefined;
  /** What is drawn, until there is something else to draw. */
  #picture: Picture | null = null;
  #told = '';
  readonly #notice = new Notice(this);

  /** All settings, as the hash of a link without its `#`. */
  get link(): string {
    const { look, text } = this.#translation ?? { look: null, text: this.#settings.text };
    return roomToHash({ ...this.#settings, text, written: look ? writtenOf(look) : this.#settings.written });
  }

  /** Takes the settings of a link, and says what could not be read. */
  openLink(hash: string): void {
    const { settings, problems } = hashToRoom(hash, vocabulary);
    if (problems.length > 0) this.say(sayIn(this.language)('link', { parts: problems.join(', ') }));
    if (this.#translation && roomToHash(settings) === this.link) return;
    this.#settings = settings;
    if (this.isConnected) this.#begin();
  }

  /** Stops writing, as when the reader goes to another room. */
  pause(): void {
    this.#translation?.stop();
  }

  /** Says something in the status line, for a while. */
  say(message: string): void {
    this.#notice.say(message);
  }

  /** The map on screen, for exports. */
  get mapExport(): MapExport {
    const t = sayIn(this.language);
    const heatmap = this.renderRoot.querySelector<HeatmapElement>('mh-heatmap');
    const { text = '', look = null } = this.#translation ?? {};
    const kind = t(`kind.${this.#settings.kind}`);
    return {
      heatmaps: heatmap && !this.#asTable ? [heatmap] : [],
      words: t as Words,
      caption: [`${text.trim()} → ${look?.text ?? ''}`, `${translator.name} · ${kind}`, t('caveat')],
      settings: { model: translator.name, text, translation: look?.text ?? '', link: `#${this.link}` },
    };
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#resizes = new ResizeObserver(([entry]) => {
      const narrow = (entry?.contentRect.width ?? 0) <= oneColumn;
      if (narrow === this.#narrow) return;
      this.#narrow = narrow;
      this.requestUpdate();
    });
    this.#resizes.observe(this);
    this.#begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resizes?.disconnect();
    this.#translation?.close();
    this.#translation = null;
  }

  /** A loaded model is kept: only the sentence is another. */
  #begin(): void {
    const { text, written } = this.#settings;
    const before = this.#translation?.release() ?? null;
    this.#translation = new Translation(
      {
        load: async (onProgress) => before ?? loadTranslator(onProgress),
        changed: () => this.#changed(),
        pause: () => new Promise((resolve) => setTimeout(resolve, pace)),
      },
      text ?? firstText(this.language),
      written,
    );
    void this.#translation.begin();
  }

  #changed(): void {
    const { at } = this.#settings;
    const { look } = this.#translation ?? {};
    if (look && at !== null && at >= this.#queries(look)) this.#settings = { ...this.#settings, at: null };
    if (look && this.#told !== this.link) {
      this.#told = this.link;
      this.dispatchEvent(new CustomEvent('mh-settings', { detail: null, bubbles: true, composed: true }));
    }
    this.requestUpdate();
  }

  #queries({ source, read }: Look): number {
    return this.#settings.kind === 'encoder' ? source.length : read.length;
  }

  #set(part: Partial<RoomSettings>): void {
    this.#settings = { ...this.#settings, ...part };
    this.#pointed = null;
    this.#changed();
  }

  /** What is drawn of the look that there is; the same object as long as nothing about it changes. */
  #draw(look: Look): Picture {
    const { kind, chosen: wanted } = this.#settings;
    const last = this.#picture;
    const attention = last?.look === look && last.attention.kind === kind ? last.attention : attentionOf(look, kind);
    const chosen = fitChoice(wanted, attention);
    const same =
      last?.attention === attention && last.chosen.layer === chosen.layer && last.chosen.head === chosen.head;
    this.#picture = same ? last : { look, attention, chosen, map: mapOf(attention, chosen) };
    return this.#picture;
  }

  async #play(translation: Translation): Promise<void> {
    this.#set({ at: null });
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches) return translation.play();
    if (!translation.canGoOn) await translation.cut(0);
    return translation.finish();
  }

  #desk(translation: Translation): Desk {
    const t = sayIn(this.language);
    const { kind, at } = this.#settings;
    const { look } = translation;
    /** What is written changes, and no place of it is chosen any more. */
    const write = (work: () => Promise<void>) => {
      this.#set({ at: null });
      void work();
    };
    return {
      t,
      translation,
      look,
      picture: look && this.#draw(look),
      kind,
      at,
      asTable: this.#asTable,
      pointed: this.#pointed,
      composing: this.#composing,
      narrow: this.#narrow,
      message: this.#notice.text,
      show: (next) => this.#set({ kind: next, at: null }),
      choose: (chosen) => this.#set({ chosen }),
      lookFrom: (query) => this.#set({ at: query }),
      point: (cell) => {
        this.#pointed = cell;
        this.requestUpdate();
      },
      table: (on) => {
        this.#asTable = on;
        this.requestUpdate();
      },
      compose: (field) => {
        this.#composing = field;
        this.requestUpdate();
      },
      setText: (text, begin) =>
        write(async () => {
          if (text !== translation.text || begin) await translation.setText(text);
          if (begin) await this.#play(translation);
        }),
      setWritten: (text) => {
        if (text !== translation.writtenText) write(() => translation.setWritten(text));
      },
      play: () => void this.#play(translation),
      stop: () => translation.stop(),
      step: () => write(() => translation.step()),
      back: () => write(() => translation.cut(translation.ids.length - 1)),
      restart: () => write(() => translation.cut(0)),
      finish: () => write(() => translation.finish()),
      cut: () => {
        if (at !== null) write(() => translation.cut(at));
      },
      force: (place, id) =>
        write(async () => {
          const atTheEnd = place >= translation.ids.length;
          await translation.force(place, id);
          if (!atTheEnd && translation.canGoOn) await this.#play(translation);
        }),
      retry: () => void translation.retry(),
    };
  }

  /* ------------------------------------------------------------------------------------------------ Rendering */

  protected override willUpdate(_changed: PropertyValues): void {
    if (this.#picture && this.#picture.look !== this.#translation?.look) this.#pointed = null;
  }

  protected override render(): TemplateResult {
    if (!this.#translation) return html``;
    const desk = this.#desk(this.#translation);
    const { t, look, picture } = desk;
    return html`<div class="room">
      ${writing(desk)}
      ${picture ? html`${stage(desk, picture)} ${candidates(desk, picture.look)} ${heads(desk, picture)} ${map(desk, picture)}` : this.#waiting(desk)}
      <div class="foot-line">
        <p class="caveat">${t('caveat')} ${t('about')}</p>
        ${picture ? proof(desk, picture) : nothing}
      </div>
      <p class="unseen" role="status">${look?.ended && !desk.translation.playing ? t('done', { text: look.text }) : ''}</p>
    </div>`;
  }

  #waiting({ t, translation, retry }: Desk): TemplateResult {
    const { status } = translation;
    if (status.kind === 'failed')
      return html`<div class="stage" role="alert">
        <p class="warning">${t('failed', { reason: messageOf(status.error) })}</p>
        <button @click=${() => retry()}>${t('retry')}</button>
      </div>`;
    if (status.kind === 'ready')
      return html`<p class="stage note">${translation.text.trim() === '' ? t('empty') : nothing}</p>`;
    const { loaded, total } = status;
    const bytes = { loaded: formatMegabytes(loaded), total: formatMegabytes(total) };
    return html`<div class="stage loading" role="status">
      <p>${loaded === 0 ? t('loading') : total === 0 ? t('loading.some', bytes) : t('loading.of', bytes)}</p>
      <progress max="1" value=${total > 0 ? loaded / total : nothing} aria-label=${t('loading')}></progress>
    </div>`;
  }
}
