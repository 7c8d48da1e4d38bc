import { describe, expect, it } from 'vitest';
import { countPainted, paint, tokenRemap } from '../../web/src/view/mask.js';
import {
  ablateSelected,
  ablationOf,
  choosePreset,
  defaultState,
  fitToModel,
  isEdited,
  redo,
  remapState,
  resetEdits,
  resetMask,
  runOptions,
  selectHead,
  setMask,
  stepHead,
  undo,
  uneditedState,
  usedTokenTool,
} from '../../web/src/view/state.js';

const model = { layers: 4, heads: 8 };
const hideCell = (query: number, key: number) => paint(defaultState.mask, [{ query, key }], true, ['all']);

describe('heads', () => {
  it('selects, adds and takes out, never the last', () => {
    const two = selectHead(defaultState, { layer: 3, head: 7 }, true);
    expect(two.heads).toEqual([...defaultState.heads, { layer: 3, head: 7 }]);
    const one = selectHead(two, { layer: 1, head: 0 }, true);
    expect(one.heads).toEqual([{ layer: 3, head: 7 }]);
    expect(selectHead(one, { layer: 3, head: 7 }, true)).toBe(one);
    expect(selectHead(two, { layer: 0, head: 0 }).heads).toEqual([{ layer: 0, head: 0 }]);
  });

  it('steps within the model', () => {
    expect(stepHead(defaultState, { heads: -1 }, model).heads).toEqual([{ layer: 1, head: 0 }]);
    expect(stepHead(defaultState, { layers: 5, heads: 2 }, model).heads).toEqual([{ layer: 3, head: 2 }]);
  });

  it('drops what a smaller model does not have', () => {
    const state = ablateSelected(selectHead(defaultState, { layer: 3, head: 7 }, true), 'zero');
    const small = fitToModel(state, { layers: 2, heads: 2 });
    expect(small.changed).toBe(true);
    expect(small.state.heads).toEqual([{ layer: 1, head: 0 }]);
    expect(small.state.ablations).toEqual([{ layer: 1, head: 0, kind: 'zero' }]);
    expect(fitToModel(state, model)).toEqual({ state, changed: false });
  });
});

describe('the token tool', () => {
  it('follows the preset, and can be chosen after it', () => {
    for (const [preset, tool] of [
      ['none', 'replace'],
      ['window', 'replace'],
      ['causal', 'look'],
      ['prefix', 'look'],
    ] as const)
      expect(choosePreset({ ...defaultState, tokenTool: 'pad' }, preset)).toMatchObject({
        mask: { preset },
        tokenTool: tool,
      });
    const chosen = { ...choosePreset(defaultState, 'none'), tokenTool: 'pad' } as const;
    expect(usedTokenTool(chosen, true)).toBe('pad');
  });

  it('never replaces where that has no effect', () => {
    const bidirectional = choosePreset(defaultState, 'none');
    expect(usedTokenTool(bidirectional, true)).toBe('replace');
    expect(usedTokenTool(bidirectional, false)).toBe('look');
    expect(usedTokenTool(undo(bidirectional), true)).toBe('look');
  });
});

describe('undo', () => {
  it('goes back and forth through mask changes, reset included', () => {
    const painted = setMask(defaultState, hideCell(4, 1));
    const reset = resetMask(painted);
    expect(countPainted(reset.mask)).toBe(0);
    expect(undo(reset).mask).toBe(painted.mask);
    expect(undo(undo(reset)).mask).toBe(defaultState.mask);
    expect(redo(redo(undo(undo(reset)))).mask).toEqual(reset.mask);
    expect(undo(defaultState)).toBe(defaultState);
    expect(redo(defaultState)).toBe(defaultState);
    expect(resetMask(defaultState)).toBe(defaultState);
  });

  it('takes a gesture as one step, and a new change ends the redo', () => {
    const stroke = setMask(setMask(defaultState, hideCell(4, 1), 'stroke-1'), hideCell(4, 2), 'stroke-1');
    const next = setMask(stroke, hideCell(5, 1), 'stroke-2');
    expect(undo(next).mask).toBe(stroke.mask);
    expect(undo(undo(next)).mask).toBe(defaultState.mask);
    expect(setMask(undo(next), hideCell(6, 1)).history.future).toEqual([]);
    // After an undo the same gesture name is a new step.
    expect(undo(setMask(undo(next), hideCell(6, 1), 'stroke-2')).mask).toBe(stroke.mask);
  });
});

describe('edits', () => {
  it('ablates the selected heads and gives them back', () => {
    const ablated = ablateSelected(defaultState, 'mean');
    expect(ablationOf(ablated, { layer: 1, head: 0 })).toBe('mean');
    expect(ablationOf(ablated, { layer: 0, head: 0 })).toBeNull();
    expect(ablateSelected(ablated, 'zero').ablations).toEqual([{ layer: 1, head: 0, kind: 'zero' }]);
    expect(ablateSelected(ablated, null).ablations).toEqual([]);
  });

  it.each([
    { temperature: 2 },
    { scale: 'none' },
    { ablations: [{ layer: 0, head: 0, kind: 'zero' }] },
    { mask: hideCell(4, 1) },
    { mask: { ...defaultState.mask, padding: [2] } },
  ] as const)('%j has a before, and reset leads there', (part) => {
    const state = { ...defaultState, ...part };
    expect(isEdited(state)).toBe(true);
    expect(isEdited(uneditedState(state))).toBe(false);
    expect(isEdited(resetEdits(state))).toBe(false);
  });

  it('a preset is not an edit', () => {
    expect(isEdited({ ...defaultState, mask: { ...defaultState.mask, preset: 'window' } })).toBe(false);
  });

  it('follow their tokens when the text changes', () => {
    const state = setMask({ ...defaultState, query: 4, replaced: 2 }, hideCell(4, 1));
    const { state: moved, dropped } = remapState(state, tokenRemap([2, 5, 6, 7, 8], [2, 9, 9, 5, 6, 7, 8]));
    expect(dropped).toBe(0);
    expect(moved.query).toBe(6);
    expect(moved.replaced).toBe(4);
    expect(moved.mask).toEqual(hideCell(6, 3));
    expect(undo(moved).mask).toEqual(defaultState.mask);
    const gone = remapState(state, tokenRemap([2, 5, 6, 7, 8], [2, 5]));
    expect(gone).toMatchObject({ dropped: 1, state: { query: null, replaced: null } });
  });
});

describe('run options', () => {
  it('predict the next token under a causal mask, without the end token, painted or not', () => {
    const options = runOptions({ ...defaultState, replaced: 3 }, 8, model);
    expect(options).toMatchObject({ mask: { causal: true }, endToken: false, logits: 'last', maskTokens: [] });
    const painted = runOptions(setMask(defaultState, hideCell(4, 1)), 8, model);
    expect(painted).toMatchObject({ endToken: false, logits: 'last' });
    expect(painted.mask?.hidden).toHaveLength(64);
  });

  it('predict the replaced token under a bidirectional mask', () => {
    const state = { ...defaultState, mask: { ...defaultState.mask, preset: 'none' as const }, replaced: 3 };
    expect(runOptions(state, 8, model)).toMatchObject({ mask: {}, endToken: true, logits: [3], maskTokens: [3] });
    expect(runOptions(state, 3, model)).toMatchObject({ logits: [], maskTokens: [] });
  });
});
