/**
 * The Translate room ↔ URL hash: `#room=translate&text=…&target=…&show=decoder&head=2.3&at=4`. Heads count from 1, or
 * `2.mean`; tokens from 0. Without a target the model translates all of it; `tokens` in its place names tokens that no
 * text gives. What cannot be read keeps its default and is named in `problems`.
 */
import type { Look, Written } from '../../study/translator.js';
import { encodeText, hashPairs } from '../url.js';
import { type Chosen, type Kind, kinds } from './maps.js';

export interface RoomSettings {
  /** Null: the example that the room begins with. */
  readonly text: string | null;
  /** Null: what the model writes. */
  readonly written: Written | null;
  readonly kind: Kind;
  readonly chosen: Chosen;
  readonly at: number | null;
}

const defaultChoice: Chosen = { layer: 1, head: 'mean' };

const defaults: RoomSettings = { text: null, written: null, kind: 'cross', chosen: defaultChoice, at: null };

/** Above this nothing is read as a token, a layer, a head or a place. */
const most = 65_535;

export function roomToHash(settings: RoomSettings): string {
  const { text, written, kind, chosen, at } = settings;
  const pairs: (readonly [string, string])[] = [['room', 'translate']];
  if (text !== null) pairs.push(['text', encodeText(text)]);
  if (written) pairs.push('text' in written ? ['target', encodeText(written.text)] : ['tokens', written.ids.join('.')]);
  if (kind !== defaults.kind) pairs.push(['show', kind]);
  if (chosen.layer !== defaultChoice.layer || chosen.head !== defaultChoice.head)
    pairs.push(['head', `${chosen.layer + 1}.${chosen.head === 'mean' ? 'mean' : chosen.head + 1}`]);
  if (at !== null) pairs.push(['at', `${at}`]);
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

type Reader = (value: string) => Partial<RoomSettings> | null;

const readersFor = (vocabulary: number): Readonly<Record<string, Reader>> => ({
  text: (text) => ({ text }),
  target: (text) => ({ written: { text } }),
  tokens: (value) => {
    const ids = value === '' ? [] : value.split('.').map(readNumber);
    return ids.every((id) => id !== null && id < vocabulary) ? { written: { ids: ids as number[] } } : null;
  },
  show: (value) => {
    const kind = kinds.find((known) => known === value);
    return kind ? { kind } : null;
  },
  head: (value) => {
    const match = /^(\d+)\.(\d+|mean)$/.exec(value);
    const layer = readNumber(match?.[1] ?? '');
    const head = match?.[2] === 'mean' ? 'mean' : readNumber(match?.[2] ?? '');
    if (!layer || !head) return null;
    return { chosen: { layer: layer - 1, head: head === 'mean' ? head : head - 1 } };
  },
  at: (value) => {
    const at = readNumber(value);
    return at === null ? null : { at };
  },
});

/** `vocabulary`: how many tokens there are. */
export function hashToRoom(
  hash: string,
  vocabulary: number,
): { readonly settings: RoomSettings; readonly problems: readonly string[] } {
  const readers = readersFor(vocabulary);
  const problems: string[] = [];
  let settings = defaults;
  for (const [name, value] of hashPairs(hash)) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!reader) continue;
    const read = value === null ? null : reader(value);
    if (read) settings = { ...settings, ...read };
    else problems.push(name);
  }
  return { settings, problems };
}

/** What a link must say of a translation for another page to show the same; null: nothing, the model writes it so. */
export function writtenOf(look: Look): Written | null {
  const ids = look.written.map(({ id }) => id);
  const greedy = ids.every((id, place) => id === look.candidates[place]?.[0]?.id);
  if (greedy && (look.ended || look.full)) return null;
  return look.respells && !look.ended ? { text: look.text } : { ids };
}

function readNumber(text: string): number | null {
  return /^\d{1,5}$/.test(text) && Number(text) <= most ? Number(text) : null;
}
