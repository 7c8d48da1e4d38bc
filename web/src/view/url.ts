/**
 * State ↔ URL hash, readable and exact for any Unicode text: `#text=…&heads=2.1,3.7&mask=causal&paint=all:h4.1-3`.
 * Heads count from 1, token positions from 0 (the start token). Only what differs from the default is written; a part
 * that cannot be read keeps its default and is named in `problems`.
 */
import { type Cells, cellCode, cellOf, defaultMask, headOf, type Mask, presets, type Scope, scopeOf } from './mask.js';
import type { HeadRef } from './pictures/types.js';
import {
  ablationKinds,
  combinations,
  defaultState,
  entropyUnits,
  type LensState,
  palettes,
  precisions,
  sameHead,
  scaleTypes,
  temperatureRange,
  views,
} from './state.js';

/** Token positions above this are not read from a link: more than any page can show, and no way to fill its memory. */
const maxPosition = 4095;
const maxHeads = 1024;

interface Parameter {
  readonly name: string;
  /** The value as text; null when there is nothing to say. */
  readonly write: (state: LensState) => string | null;
  /** The state with the value taken in; null when it cannot be read. */
  readonly read: (text: string, state: LensState) => LensState | null;
}

function readNumber(text: string, min: number, max: number): number | null {
  const value = Number(text);
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && value >= min && value <= max ? value : null;
}

const readPosition = (text: string): number | null =>
  /^\d{1,4}$/.test(text) ? readNumber(text, 0, maxPosition) : null;

function readHead(text: string): HeadRef | null {
  const match = /^(\d{1,4})\.(\d{1,4})$/.exec(text);
  if (match === null) return null;
  const [layer, head] = [Number(match[1]) - 1, Number(match[2]) - 1];
  return layer >= 0 && head >= 0 ? { layer, head } : null;
}

const writeHead = ({ layer, head }: HeadRef): string => `${layer + 1}.${head + 1}`;

/** Reads every part of a list, or nothing. */
function readList<T>(text: string, separator: string, read: (part: string) => T | null): T[] | null {
  const list = text.split(separator).map(read);
  return list.some((item) => item === null) ? null : (list as T[]);
}

/** A parameter whose value is one of a few words, kept in the state under its own name. */
function choice<K extends 'view' | 'unit' | 'palette' | 'combine' | 'scaleType' | 'precision'>(
  name: string,
  key: K,
  values: readonly LensState[K][],
): Parameter {
  return {
    name,
    write: (state) => (state[key] === defaultState[key] ? null : state[key]),
    read: (text, state) => {
      const value = values.find((known) => known === text);
      return value === undefined ? null : { ...state, [key]: value };
    },
  };
}

/** A parameter that is a token position, or absent for none. */
function position(name: string, key: 'query' | 'replaced'): Parameter {
  return {
    name,
    write: (state) => state[key]?.toString() ?? null,
    read: (text, state) => {
      const value = readPosition(text);
      return value === null ? null : { ...state, [key]: value };
    },
  };
}

/** The last of those that name the same head. */
const distinctHeads = <T extends HeadRef>(heads: readonly T[]): T[] =>
  heads.filter((head, index) => !heads.slice(index + 1).some((later) => sameHead(head, later)));

const withMask = (state: LensState, part: Partial<Mask>): LensState => ({ ...state, mask: { ...state.mask, ...part } });

function maskSize(name: 'window' | 'prefix'): Parameter {
  return {
    name,
    write: ({ mask }) => (mask[name] === defaultMask[name] ? null : `${mask[name]}`),
    read: (text, state) => {
      const value = readPosition(text);
      return value === null ? null : withMask(state, { [name]: value });
    },
  };
}

/** Runs of neighbouring cells in a row: `h4.1-3,s2.7` hides keys 1 to 3 of query 4 and shows key 7 of query 2. */
function writeCells(cells: Cells): string {
  const runs: { hidden: boolean; query: number; from: number; to: number }[] = [];
  for (const [code, hidden] of [...cells].sort(([a], [b]) => a - b)) {
    const { query, key } = cellOf(code);
    const last = runs.at(-1);
    if (last?.query === query && last.hidden === hidden && last.to === key - 1) last.to = key;
    else runs.push({ hidden, query, from: key, to: key });
  }
  return runs
    .map(({ hidden, query, from, to }) => `${hidden ? 'h' : 's'}${query}.${from}${to > from ? `-${to}` : ''}`)
    .join(',');
}

function readCells(text: string): Cells | null {
  const cells = new Map<number, boolean>();
  for (const run of text.split(',')) {
    const match = /^([hs])(\d{1,4})\.(\d{1,4})(?:-(\d{1,4}))?$/.exec(run);
    if (match === null) return null;
    const [query, from] = [Number(match[2]), Number(match[3])];
    const to = Number(match[4] ?? match[3]);
    if (query > maxPosition || to > maxPosition || to < from) return null;
    for (let key = from; key <= to; key++) cells.set(cellCode({ query, key }), match[1] === 'h');
  }
  return cells;
}

function readScope(text: string): Scope | null {
  if (text === 'all') return 'all';
  const head = readHead(text);
  return head === null ? null : scopeOf(head);
}

function writeScope(scope: Scope): string {
  const head = headOf(scope);
  return head === null ? 'all' : writeHead(head);
}

function readPainted(text: string): Mask['painted'] | null {
  const painted = readList(text, ';', (part) => {
    const colon = part.indexOf(':');
    const scope = readScope(part.slice(0, Math.max(colon, 0)));
    const cells = readCells(part.slice(colon + 1));
    return scope === null || cells === null ? null : ([scope, cells] as const);
  });
  return painted === null ? null : new Map(painted);
}

const parameters: readonly Parameter[] = [
  { name: 'text', write: (state) => state.text, read: (text, state) => ({ ...state, text }) },
  {
    name: 'model',
    write: (state) => state.model || null,
    read: (model, state) => (/^(https?:\/\/|\.{0,2}\/)/.test(model) ? { ...state, model } : null),
  },
  {
    name: 'heads',
    write: (state) => state.heads.map(writeHead).join(','),
    read: (text, state) => {
      const heads = readList(text, ',', readHead);
      return heads === null || heads.length > maxHeads ? null : { ...state, heads: distinctHeads(heads) };
    },
  },
  choice('combine', 'combine', combinations),
  {
    name: 'mask',
    write: (state) => state.mask.preset,
    read: (text, state) => {
      const preset = presets.find((known) => known === text);
      return preset === undefined ? null : withMask(state, { preset });
    },
  },
  maskSize('window'),
  maskSize('prefix'),
  {
    name: 'padding',
    write: ({ mask }) => mask.padding.join(',') || null,
    read: (text, state) => {
      const padding = readList(text, ',', readPosition);
      return padding && withMask(state, { padding: [...new Set(padding)].sort((a, b) => a - b) });
    },
  },
  {
    name: 'paint',
    write: ({ mask }) =>
      [...mask.painted].map(([scope, cells]) => `${writeScope(scope)}:${writeCells(cells)}`).join(';') || null,
    read: (text, state) => {
      const painted = readPainted(text);
      return painted && withMask(state, { painted });
    },
  },
  {
    name: 'scale',
    write: ({ scale }) => (scale === 'default' ? null : `${scale}`),
    read: (text, state) => {
      const scale = text === 'none' || text === 'default' ? text : readNumber(text, -1e6, 1e6);
      return scale === null ? null : { ...state, scale };
    },
  },
  {
    name: 'temperature',
    write: ({ temperature }) => (temperature === 1 ? null : `${temperature}`),
    read: (text, state) => {
      const temperature = readNumber(text, temperatureRange.min, temperatureRange.max);
      return temperature === null ? null : { ...state, temperature };
    },
  },
  choice('precision', 'precision', precisions),
  {
    name: 'ablate',
    write: ({ ablations }) => ablations.map((one) => `${writeHead(one)}.${one.kind}`).join(',') || null,
    read: (text, state) => {
      const ablations = readList(text, ',', (part) => {
        const dot = part.lastIndexOf('.');
        const head = readHead(part.slice(0, dot));
        const kind = ablationKinds.find((known) => known === part.slice(dot + 1));
        return head === null || kind === undefined ? null : { ...head, kind };
      });
      return ablations && { ...state, ablations: distinctHeads(ablations) };
    },
  },
  position('query', 'query'),
  position('replace', 'replaced'),
  choice('view', 'view', views),
  {
    name: 'table',
    write: ({ asTable }) => (asTable ? '1' : null),
    read: (text, state) => (text === '1' ? { ...state, asTable: true } : null),
  },
  choice('unit', 'unit', entropyUnits),
  choice('palette', 'palette', palettes),
  choice('colours', 'scaleType', scaleTypes),
];

/** Spaces as `+`, so that a shared sentence stays readable. Half surrogate pairs, which no URL can hold, become �. */
export const encodeText = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')).replaceAll('%20', '+');

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Splits `#a=1&b=2` into its decoded pairs; the value is null where its percent-encoding is broken. */
export function hashPairs(hash: string): readonly (readonly [name: string, value: string | null])[] {
  return hash
    .replace(/^#/, '')
    .split('&')
    .filter((pair) => pair.includes('='))
    .map((pair) => [pair.slice(0, pair.indexOf('=')), decode(pair.slice(pair.indexOf('=') + 1))] as const);
}

/** The hash without its `#`. */
export function stateToHash(state: LensState): string {
  const pairs = parameters.flatMap(({ name, write }) => {
    const value = write(state);
    // Structured values use only characters that a hash may hold as they are.
    return value === null ? [] : [`${name}=${name === 'text' || name === 'model' ? encodeText(value) : value}`];
  });
  return pairs.join('&');
}

/** `problems` names the parameters that could not be read. The default's pinned query belongs to its own text. */
export function hashToState(hash: string): { state: LensState; problems: readonly string[] } {
  const pairs = hashPairs(hash);
  const problems: string[] = [];
  let state = pairs.some(([name]) => name === 'text') ? { ...defaultState, query: null } : defaultState;
  for (const [name, value] of pairs) {
    const parameter = parameters.find((known) => known.name === name);
    if (parameter === undefined) continue;
    const read = value === null ? null : parameter.read(value, state);
    if (read === null) problems.push(name);
    else state = read;
  }
  return { state, problems };
}
