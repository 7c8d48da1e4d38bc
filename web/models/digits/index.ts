/**
 * Two small classifiers of handwritten digits, and how they read a picture. Both see 8 x 8 patches; in one every patch
 * sees every other, in its twin only those of its window, and the windows shift from layer to layer.
 *
 * @example
 * import { Trainer } from 'multihead/train';
 * import { digits, patchesOf } from 'multihead/models/digits';
 * const { network, layerMasks, weights } = digits.vit;
 * const model = await Trainer.create(network);
 * model.load(new Uint8Array(await (await fetch(weights)).arrayBuffer()));
 * const { logits, attention } = model.probe({ patches: patchesOf(picture), layerMasks, logits: true });
 */
export { samples } from './samples.js';

/** Pixels of a picture's side, as in MNIST. */
export const pictureSide = 28;

/** Patches of a side. */
export const gridSide = 8;

/** Pixels of a patch's side. */
export const patchSide = 4;

/** Empty pixels around the picture, which make its side a multiple of a patch's. */
const border = (gridSide * patchSide - pictureSide) / 2;

const patchCount = gridSide ** 2;

/**
 * The patches [64, 16] of a picture [28, 28] with values from 0 (paper) to 1 (ink): rows of patches from the top, each from
 * the left; the pixels of a patch likewise.
 */
export function patchesOf(picture: ArrayLike<number>): Float32Array {
  if (picture.length !== pictureSide ** 2) {
    throw new RangeError(`the picture has ${picture.length} pixels: it must have ${pictureSide} x ${pictureSide}`);
  }
  const patches = new Float32Array(patchCount * patchSide ** 2);
  for (let y = 0; y < pictureSide; y++)
    for (let x = 0; x < pictureSide; x++) {
      const [row, column] = [y + border, x + border];
      const patch = Math.floor(row / patchSide) * gridSide + Math.floor(column / patchSide);
      patches[patch * patchSide ** 2 + (row % patchSide) * patchSide + (column % patchSide)] =
        picture[y * pictureSide + x] ?? 0;
    }
  return patches;
}

const windowSide = 4;

/**
 * The window of each patch: squares of 4 x 4, shifted by 2 in every other layer. Where a shifted window leaves the picture
 * the original wraps around and masks what came in from the other side (Liu et al. 2021, Swin, section 3.2): the same
 * patches see one another.
 */
function windows(shift: number): number[] {
  const along = (position: number) => Math.floor((position + shift) / windowSide);
  return Array.from({ length: patchCount }, (_, patch) => {
    const [row, column] = [Math.floor(patch / gridSide), patch % gridSide];
    return along(row) * gridSide + along(column);
  });
}

const shared = {
  architecture: 'classifier',
  layers: 4,
  heads: 4,
  embedDim: 64,
  ffnDim: 128,
  vocabulary: 10,
  patchDim: patchSide ** 2,
} as const;

export const digits = {
  /** A vision transformer (Dosovitskiy et al. 2021): a class token, place 0, gathers what the patches say. */
  vit: {
    network: { ...shared, classToken: true, positions: patchCount + 1 },
    layerMasks: undefined,
    // Bundlers find the files by exactly this form.
    weights: new URL('./vit.safetensors', import.meta.url),
  },
  /** Windows and shifted windows in turn; what it says is the mean over all patches. */
  windowed: {
    network: { ...shared, classToken: false, positions: patchCount },
    layerMasks: [0, windowSide / 2, 0, windowSide / 2].map((shift) => ({
      queryBlocks: windows(shift),
      keyBlocks: windows(shift),
    })),
    weights: new URL('./windowed.safetensors', import.meta.url),
  },
} as const;
