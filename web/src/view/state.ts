/**
 * Everything the lens shows is a function of one immutable `LensState` and of what the engine answered for it. Updates
 * are pure: `(state, …) => state`. Positions and heads count from 0 here; the page, the URL and attributes count heads
 * from 1, as people do.
 */
import type { Ablation, AblationKind, Precision, RunOptions } from '../core/types.js';
import {
  defaultMask,
  engineMask,
  isCausal,
  isMaskEdited,
  type Mask,
  type Preset,
  type Remap,
  remapMask,
  type Scope,
  scopeOf,
  uneditedMask,
} from './mask.js';
import type { EntropyUnit, HeadRef, Palette, ScaleType, Tool } from './pictures/types.js';

export const views = ['heatmap', 'difference', 'steps'] as const;
export type View = (typeof views)[number];
export const entropyUnits = ['nats', 'bits', 'normalised'] as const satisfies readonly EntropyUnit[];
export const palettes = ['cividis', 'viridis', 'grey'] as const satisfies readonly Palette[];
export const scaleTypes = ['linear', 'log'] as const satisfies readonly ScaleType[];
export const combinations = ['average', 'side'] as const;
/** Several heads at once: their mean in one picture, or each its own. */
export type Combination = (typeof combinations)[number];
export const ablationKinds = ['zero', 'mean', 'uniform'] as const satisfies readonly AblationKind[];
/** What pressing on the heatmap does: read, or hide or show cells. */
export const tools = ['inspect', 'hide', 'show'] as const satisfies readonly Tool[];
/** What clicking a token does: pin its row, put the mask token in its place, or switch its key off. */
export type TokenTool = 'look' | 'replace' | 'pad';
type Scale = 'default' | 'none' | number;
export const precisions = ['f32', 'int8'] as const satisfies readonly Precision[];

export const temperatureRange = { min: 0.1, max: 10 } as const;

interface MaskHistory {
  readonly past: readonly Mask[];
  readonly future: readonly Mask[];
  /** Names the gesture of the newest step; more changes of the same gesture are the same step. */
  readonly gesture: string | null;
}

export interface LensState {
  readonly text: string;
  /** Folder URL of the model; empty is the model that comes with the page. */
  readonly model: string;
  /** At least one; the first is the one read in numbers. */
  readonly heads: readonly HeadRef[];
  readonly combine: Combination;
  readonly mask: Mask;
  readonly history: MaskHistory;
  readonly tool: Tool;
  readonly tokenTool: TokenTool;
  /** Do painted cells count in all heads, or in the selected ones? */
  readonly paintScope: 'all' | 'selected';
  readonly scale: Scale;
  readonly temperature: number;
  /** How linear layers are computed. */
  readonly precision: Precision;
  readonly ablations: readonly Ablation[];
  /** The query whose row is pinned, or null. */
  readonly query: number | null;
  /** The token replaced by the model's mask token, or null. Kept, but without effect, while the mask is causal. */
  readonly replaced: number | null;
  readonly view: View;
  /** Heatmap and difference as numbers in a table. */
  readonly asTable: boolean;
  readonly unit: EntropyUnit;
  readonly palette: Palette;
  readonly scaleType: ScaleType;
}

const historyLength = 200;
const noHistory: MaskHistory = { past: [], future: [], gesture: null };

/** A good sentence and a head that shows something: in layer 2, head 1, "it" looks at "cat". */
export const defaultState: LensState = {
  text: "The cat didn't cross the street because it was too tired.",
  model: '',
  heads: [{ layer: 1, head: 0 }],
  combine: 'average',
  mask: defaultMask,
  history: noHistory,
  tool: 'inspect',
  tokenTool: 'look',
  paintScope: 'all',
  scale: 'default',
  temperature: 1,
  precision: 'f32',
  ablations: [],
  query: 10,
  replaced: null,
  view: 'heatmap',
  asTable: false,
  unit: 'nats',
  palette: 'cividis',
  scaleType: 'linear',
};

export const sameHead = (a: HeadRef, b: HeadRef): boolean => a.layer === b.layer && a.head === b.head;

export const primaryHead = (state: LensState): HeadRef => state.heads[0] ?? { layer: 0, head: 0 };

/** Selects one head, or with `add` adds it to the selection or takes it out (the last one stays). */
export function selectHead(state: LensState, chosen: HeadRef, add = false): LensState {
  if (!add) return { ...state, heads: [chosen] };
  const rest = state.heads.filter((head) => !sameHead(head, chosen));
  if (rest.length === state.heads.length) return { ...state, heads: [...rest, chosen] };
  return rest.length > 0 ? { ...state, heads: rest } : state;
}

/** Moves the selection to the neighbour in the grid of heads; stops at its border. */
export function stepHead(
  state: LensState,
  step: { layers?: number; heads?: number },
  model: { layers: number; heads: number },
): LensState {
  const from = primaryHead(state);
  const clamp = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
  return selectHead(state, {
    layer: clamp(from.layer + (step.layers ?? 0), model.layers),
    head: clamp(from.head + (step.heads ?? 0), model.heads),
  });
}

/** Every change of the mask goes through here, so that it can be undone. Changes of one gesture are one step. */
export function setMask(state: LensState, mask: Mask, gesture: string | null = null): LensState {
  const { history } = state;
  const continues = gesture !== null && gesture === history.gesture;
  const past = continues ? history.past : [...history.past, state.mask].slice(-historyLength);
  return { ...state, mask, history: { past, future: [], gesture } };
}

export function undo(state: LensState): LensState {
  const { past, future } = state.history;
  const mask = past.at(-1);
  if (mask === undefined) return state;
  return { ...state, mask, history: { past: past.slice(0, -1), future: [state.mask, ...future], gesture: null } };
}

export function redo(state: LensState): LensState {
  const { past, future } = state.history;
  const mask = future[0];
  if (mask === undefined) return state;
  return { ...state, mask, history: { past: [...past, state.mask], future: future.slice(1), gesture: null } };
}

/** Takes padding and paint away; can be undone. */
export const resetMask = (state: LensState): LensState =>
  isMaskEdited(state.mask) ? setMask(state, uneditedMask(state.mask)) : state;

/**
 * Chooses a preset. Where tokens see what follows, clicking one puts the mask token in its place, for the model to fill;
 * a causal model could not.
 */
export function choosePreset(state: LensState, preset: Preset): LensState {
  const chosen = setMask(state, { ...state.mask, preset });
  return { ...chosen, tokenTool: isCausal(chosen.mask) ? 'look' : 'replace' };
}

/** What clicking a token does: replacing has no effect under a causal mask, nor in a model without a mask token. */
export const usedTokenTool = (state: LensState, hasMaskToken: boolean): TokenTool =>
  state.tokenTool === 'replace' && (isCausal(state.mask) || !hasMaskToken) ? 'look' : state.tokenTool;

/** The scopes that the tools paint in. */
export const paintScopes = (state: LensState): readonly Scope[] =>
  state.paintScope === 'all' ? ['all'] : state.heads.map(scopeOf);

export const ablationOf = (state: LensState, head: HeadRef): AblationKind | null =>
  state.ablations.find((ablation) => sameHead(ablation, head))?.kind ?? null;

/** Ablates the selected heads, or with null gives them back. */
export function ablateSelected(state: LensState, kind: AblationKind | null): LensState {
  const others = state.ablations.filter((ablation) => !state.heads.some((head) => sameHead(head, ablation)));
  const selected = kind === null ? [] : state.heads.map((head) => ({ ...head, kind }));
  return { ...state, ablations: [...others, ...selected] };
}

/** Does anything differ from a plain run under the preset mask? Then there is a before and an after. */
export const isEdited = (state: LensState): boolean =>
  isMaskEdited(state.mask) || state.ablations.length > 0 || state.scale !== 'default' || state.temperature !== 1;

/** Undoes every edit of the arithmetic and the mask; the mask part stays in the undo history. */
export const resetEdits = (state: LensState): LensState => ({
  ...resetMask(state),
  ablations: [],
  scale: 'default',
  temperature: 1,
});

/** What the edits are compared with: the same text and preset, nothing edited. */
export const uneditedState = (state: LensState): LensState => ({
  ...state,
  mask: uneditedMask(state.mask),
  ablations: [],
  scale: 'default',
  temperature: 1,
});

/** Carries everything that is tied to token positions over to a changed text. */
export function remapState(state: LensState, remap: Remap): { state: LensState; dropped: number } {
  const { mask, dropped } = remapMask(state.mask, remap);
  const carry = (masks: readonly Mask[]) => masks.map((old) => remapMask(old, remap).mask);
  const history = { ...state.history, past: carry(state.history.past), future: carry(state.history.future) };
  const move = (position: number | null) => (position === null ? null : remap(position));
  return {
    state: { ...state, mask, history, query: move(state.query), replaced: move(state.replaced) },
    dropped,
  };
}

/** Heads that the model does not have are taken out; `changed` tells whether any was. */
export function fitToModel(
  state: LensState,
  model: { layers: number; heads: number },
): { state: LensState; changed: boolean } {
  const exists = ({ layer, head }: HeadRef) => layer < model.layers && head < model.heads;
  const heads = state.heads.filter(exists);
  const ablations = state.ablations.filter(exists);
  if (heads.length === state.heads.length && ablations.length === state.ablations.length)
    return { state, changed: false };
  return { state: { ...state, heads: heads.length > 0 ? heads : [{ layer: 0, head: 0 }], ablations }, changed: true };
}

/** Does the engine have to answer anew? Scores, and of a long text the weights too, are those of the selected heads. */
export const asksAnew = (before: LensState, after: LensState): boolean =>
  (['text', 'model', 'mask', 'scale', 'temperature', 'precision', 'ablations', 'replaced', 'heads'] as const).some(
    (name) => before[name] !== after[name],
  );

interface ModelSize {
  readonly layers: number;
  readonly heads: number;
}

/** So many numbers of all maps together are handed over at each keystroke; 16 MB. */
const mostNumbers = 4 * 1024 * 1024;

/** Is a text so long that only the maps of the selected heads are asked for? */
export const isLong = (size: number, { layers, heads }: ModelSize): boolean => layers * heads * size ** 2 > mostNumbers;

/** What the engine is asked for a text of `size` tokens. */
export function runOptions(state: LensState, size: number, model: ModelSize): RunOptions {
  const causal = isCausal(state.mask);
  const chosen = { heads: state.heads.filter(({ layer, head }) => layer < model.layers && head < model.heads) };
  const replaced = !causal && state.replaced !== null && state.replaced < size ? [state.replaced] : [];
  return {
    mask: engineMask(state.mask, size, model),
    scale: state.scale,
    temperature: state.temperature,
    ablate: state.ablations,
    attention: isLong(size, model) ? chosen : 'all',
    stages: chosen,
    // A painted mask is no longer `causal` to the engine, so the end token must be said.
    endToken: !causal,
    maskTokens: replaced,
    logits: causal ? 'last' : replaced,
    topK: 5,
    tooLong: 'truncate',
  };
}
