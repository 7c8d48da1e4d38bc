/**
 * Which keys each query may see, as the page knows it: a preset, tokens switched off, and painted cells on top. Pure.
 *
 * Order of say: a cell painted for one head, then a cell painted for all heads, then padding and preset. Painting can
 * therefore also SHOW what the preset hides. Positions count tokens from 0; the start token is 0.
 */
import type { MaskOptions } from '../core/types.js';
import type { CellRef, HeadRef } from './pictures/types.js';

export const presets = ['none', 'causal', 'window', 'prefix'] as const;
export type Preset = (typeof presets)[number];

/** Where a painted cell counts: in every head, or in one (`layer.head`, both from 0). */
export type Scope = 'all' | `${number}.${number}`;

/** Painted cells of one scope: `cellCode` → hidden. */
export type Cells = ReadonlyMap<number, boolean>;

export interface Mask {
  readonly preset: Preset;
  /** Keys visible on each side, for the preset `window`; ≥ 0. */
  readonly window: number;
  /** Keys visible to all, for the preset `prefix`; ≥ 0. */
  readonly prefix: number;
  /** Positions whose keys are switched off, ascending. */
  readonly padding: readonly number[];
  readonly painted: ReadonlyMap<Scope, Cells>;
}

export const defaultMask: Mask = { preset: 'causal', window: 8, prefix: 3, padding: [], painted: new Map() };

/** More than any text has tokens, so that one number can name a cell. */
const cellStride = 1 << 16;
export const cellCode = (cell: CellRef): number => cell.query * cellStride + cell.key;
export const cellOf = (code: number): CellRef => ({ query: Math.floor(code / cellStride), key: code % cellStride });
export const scopeOf = ({ layer, head }: HeadRef): Scope => `${layer}.${head}`;

export function headOf(scope: Scope): HeadRef | null {
  if (scope === 'all') return null;
  const [layer = 0, head = 0] = scope.split('.').map(Number);
  return { layer, head };
}

/** Does the model read from left to right, so that its last row predicts the next token? */
export const isCausal = (mask: Mask): boolean => mask.preset === 'causal' || mask.preset === 'prefix';

/** Differs from its preset. */
export const isMaskEdited = (mask: Mask): boolean => mask.padding.length > 0 || mask.painted.size > 0;

export const countPainted = (mask: Mask): number =>
  [...mask.painted.values()].reduce((sum, cells) => sum + cells.size, 0);

function presetHides(mask: Mask, { query, key }: CellRef): boolean {
  switch (mask.preset) {
    case 'none':
      return false;
    case 'causal':
      return key > query;
    case 'window':
      return Math.abs(query - key) > mask.window;
    case 'prefix':
      return key > query && key >= mask.prefix;
  }
}

const unpaintedHides = (mask: Mask, cell: CellRef): boolean =>
  mask.padding.includes(cell.key) || presetHides(mask, cell);

function hides(mask: Mask, scope: Scope, cell: CellRef): boolean {
  const code = cellCode(cell);
  return mask.painted.get(scope)?.get(code) ?? mask.painted.get('all')?.get(code) ?? unpaintedHides(mask, cell);
}

/** The same as `presetHides`, for a whole row: texts of thousands of tokens have millions of cells. */
function hideByPreset({ preset, window, prefix }: Mask, row: Uint8Array, query: number): void {
  switch (preset) {
    case 'none':
      break;
    case 'causal':
      row.fill(1, query + 1);
      break;
    case 'window':
      row.fill(1, 0, Math.max(0, query - Math.floor(window)));
      row.fill(1, query + Math.floor(window) + 1);
      break;
    case 'prefix':
      row.fill(1, Math.max(query + 1, prefix));
      break;
  }
}

/** `[size, size]`, 1 where the head hides the key. */
function hiddenCells(mask: Mask, size: number, scope: Scope): Uint8Array {
  const hidden = new Uint8Array(size * size);
  const padded = mask.padding.filter((key) => key < size);
  for (let query = 0; query < size; query++) {
    const row = hidden.subarray(query * size, (query + 1) * size);
    hideByPreset(mask, row, query);
    for (const key of padded) row[key] = 1;
  }
  for (const layer of scope === 'all' ? ['all' as const] : ['all' as const, scope]) {
    for (const [code, isHidden] of mask.painted.get(layer) ?? []) {
      const { query, key } = cellOf(code);
      if (query < size && key < size) hidden[query * size + key] = isHidden ? 1 : 0;
    }
  }
  return hidden;
}

/** `[size, size]`, 1 where the head may look. */
export function visibleCells(mask: Mask, size: number, head: HeadRef): Uint8Array {
  const cells = hiddenCells(mask, size, scopeOf(head));
  for (let cell = 0; cell < cells.length; cell++) cells[cell] = 1 - (cells[cell] as number);
  return cells;
}

/** The mask without padding and paint: what "before" means in a comparison. */
export const uneditedMask = (mask: Mask): Mask => ({ ...mask, padding: [], painted: new Map() });

function presetOptions(mask: Mask): MaskOptions {
  switch (mask.preset) {
    case 'none':
      return {};
    case 'causal':
      return { causal: true };
    case 'window':
      return { window: mask.window };
    case 'prefix':
      return { causal: true, prefix: mask.prefix };
  }
}

/** For the engine. Geometry alone while nothing is painted; else the whole mask as cells, since paint may show. */
export function engineMask(mask: Mask, size: number, model: { layers: number; heads: number }): MaskOptions {
  if (mask.painted.size === 0) {
    const geometry = presetOptions(mask);
    const padding = mask.padding.filter((position) => position < size);
    return padding.length > 0 ? { ...geometry, padding } : geometry;
  }
  const shared = hiddenCells(mask, size, 'all');
  const scopes = [...mask.painted.keys()].filter((scope) => scope !== 'all');
  if (scopes.length === 0) return { hidden: shared };

  const hidden = new Uint8Array(model.layers * model.heads * shared.length);
  for (let head = 0; head < model.layers * model.heads; head++) hidden.set(shared, head * shared.length);
  for (const scope of scopes) {
    const { layer, head } = headOf(scope) ?? { layer: 0, head: 0 };
    if (layer < model.layers && head < model.heads)
      hidden.set(hiddenCells(mask, size, scope), (layer * model.heads + head) * shared.length);
  }
  return { hidden };
}

/** Paints cells in every scope given. A cell that ends up as it is without paint is no edit, and is forgotten. */
export function paint(mask: Mask, cells: readonly CellRef[], hidden: boolean, scopes: readonly Scope[]): Mask {
  const painted = new Map(mask.painted);
  const edit = (scope: Scope, change: (cells: Map<number, boolean>) => void) => {
    const edited = new Map(painted.get(scope));
    change(edited);
    if (edited.size > 0) painted.set(scope, edited);
    else painted.delete(scope);
  };
  const codes = cells.map(cellCode);
  for (const scope of scopes) {
    if (scope === 'all') {
      // The last word counts: what was painted for single heads in these cells gives way.
      for (const other of [...painted.keys()])
        edit(other, (map) => {
          for (const code of codes) map.delete(code);
        });
      edit('all', (map) => {
        for (const cell of cells) if (unpaintedHides(mask, cell) !== hidden) map.set(cellCode(cell), hidden);
      });
    } else {
      const shared = { ...mask, painted };
      edit(scope, (map) => {
        for (const cell of cells) {
          if (hides(shared, 'all', cell) === hidden) map.delete(cellCode(cell));
          else map.set(cellCode(cell), hidden);
        }
      });
    }
  }
  return { ...mask, painted };
}

/** Switches a key off, or on again. */
export function togglePadding(mask: Mask, position: number): Mask {
  const padding = mask.padding.includes(position)
    ? mask.padding.filter((other) => other !== position)
    : [...mask.padding, position].sort((a, b) => a - b);
  return { ...mask, padding };
}

export type Remap = (position: number) => number | null;

/**
 * Where each token of the old text is in the new one. Equal beginnings and ends keep their tokens; in the changed middle
 * a token keeps its place while there is one (a word replaced by a word keeps its edits), and otherwise is gone: null.
 */
export function tokenRemap(before: readonly number[], after: readonly number[]): Remap {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return (position) => {
    if (position < start) return position;
    if (position >= before.length) return null;
    if (position >= before.length - end) return position + after.length - before.length;
    return position < after.length - end ? position : null;
  };
}

/** Carries padding and paint over to a changed text. `dropped` counts the edits whose tokens are gone. */
export function remapMask(mask: Mask, remap: Remap): { mask: Mask; dropped: number } {
  let dropped = 0;
  const padding: number[] = [];
  for (const position of mask.padding) {
    const moved = remap(position);
    if (moved === null) dropped++;
    else padding.push(moved);
  }
  const painted = new Map<Scope, Cells>();
  for (const [scope, cells] of mask.painted) {
    const moved = new Map<number, boolean>();
    for (const [code, hidden] of cells) {
      const cell = cellOf(code);
      const query = remap(cell.query);
      const key = remap(cell.key);
      if (query === null || key === null) dropped++;
      else moved.set(cellCode({ query, key }), hidden);
    }
    if (moved.size > 0) painted.set(scope, moved);
  }
  return { mask: { ...mask, padding, painted }, dropped };
}
