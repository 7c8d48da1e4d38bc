/**
 * The keyboard model of the pictures, pure: where a key leads from where the focus is. No DOM.
 *
 * In a map the row labels are column −1 and the column labels are row −1, so that the keyboard reaches what the pointer
 * can click. There is no corner (−1, −1).
 */
import type { HeadRef } from './types.js';

/** What a KeyboardEvent tells, as far as it matters here; the event itself fits. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey?: boolean;
  readonly metaKey?: boolean;
  readonly altKey?: boolean;
  readonly shiftKey?: boolean;
  readonly isComposing?: boolean;
}

export interface GridPosition {
  readonly row: number;
  readonly column: number;
}

export interface GridSize {
  readonly rows: number;
  readonly columns: number;
}

export type GridAction =
  | { readonly kind: 'move'; readonly to: GridPosition }
  /** Pin or paint where the focus is. */
  | { readonly kind: 'act' }
  | { readonly kind: 'release' }
  | { readonly kind: 'step'; readonly of: 'head' | 'layer'; readonly by: 1 | -1 }
  | { readonly kind: 'table' };

/** What a key does in a map with the focus at `at`; null: not ours, leave it to the browser. */
export function mapKey(at: GridPosition, press: KeyPress, size: GridSize): GridAction | null {
  if (press.isComposing || press.altKey) return null;
  const jump = press.ctrlKey === true || press.metaKey === true;
  const move = moveTarget(at, press.key, jump, size);
  if (move) return { kind: 'move', to: move };
  if (jump) return null;
  switch (press.key) {
    case 'Enter':
    case ' ':
      return { kind: 'act' };
    case 'Escape':
      return { kind: 'release' };
    case 'PageUp':
      return { kind: 'step', of: 'head', by: -1 };
    case 'PageDown':
      return { kind: 'step', of: 'head', by: 1 };
    case '[':
      return { kind: 'step', of: 'layer', by: -1 };
    case ']':
      return { kind: 'step', of: 'layer', by: 1 };
    case 't':
    case 'T':
      return { kind: 'table' };
    default:
      return null;
  }
}

function moveTarget(at: GridPosition, key: string, jump: boolean, size: GridSize): GridPosition | null {
  const { row, column } = at;
  const last = { row: size.rows - 1, column: size.columns - 1 };
  switch (key) {
    case 'ArrowUp':
      return { row: jump ? 0 : Math.max(column < 0 ? 0 : -1, row - 1), column };
    case 'ArrowDown':
      return { row: jump ? last.row : Math.min(last.row, row + 1), column };
    case 'ArrowLeft':
      return { row, column: jump ? 0 : Math.max(row < 0 ? 0 : -1, column - 1) };
    case 'ArrowRight':
      return { row, column: jump ? last.column : Math.min(last.column, column + 1) };
    case 'Home':
      return { row: jump ? 0 : row, column: 0 };
    case 'End':
      return { row: jump ? last.row : row, column: last.column };
    default:
      return null;
  }
}

/** The nearest position inside the grid; where a map has shrunk under the focus. */
export function clampPosition(at: GridPosition, size: GridSize): GridPosition {
  const row = Math.min(at.row, size.rows - 1);
  const column = Math.min(at.column, size.columns - 1);
  return row < 0 && column < 0 ? { row: 0, column: 0 } : { row, column };
}

/**
 * Where a key leads among the heads; null: not a movement. In a `strip` left and right go on into the neighbouring
 * layer, since layers follow one another there.
 */
export function headsKey(
  at: HeadRef,
  press: KeyPress,
  size: { readonly layers: number; readonly heads: number; readonly layout: 'grid' | 'strip' },
): HeadRef | null {
  if (press.isComposing || press.altKey || press.metaKey) return null;
  const { layers, heads, layout } = size;
  const { layer, head } = at;
  const flat = (step: number) => {
    const index = Math.min(layers * heads - 1, Math.max(0, layer * heads + head + step));
    return { layer: Math.floor(index / heads), head: index % heads };
  };
  switch (press.key) {
    case 'ArrowLeft':
      return layout === 'strip' ? flat(-1) : { layer, head: Math.max(0, head - 1) };
    case 'ArrowRight':
      return layout === 'strip' ? flat(1) : { layer, head: Math.min(heads - 1, head + 1) };
    case 'ArrowUp':
      return { layer: Math.max(0, layer - 1), head };
    case 'ArrowDown':
      return { layer: Math.min(layers - 1, layer + 1), head };
    case 'Home':
      return { layer: press.ctrlKey ? 0 : layer, head: 0 };
    case 'End':
      return { layer: press.ctrlKey ? layers - 1 : layer, head: heads - 1 };
    default:
      return null;
  }
}
