/** What AdamW remembers of one number of a model, read from a checkpoint. */
import type { ParameterInfo } from '../train/trainer.js';

export interface Moments {
  /** Running mean of the gradient. */
  readonly mean: number;
  /** Running mean of its square. */
  readonly variance: number;
}

/** Of number `index` of tensor `name`, from a file of `Trainer.checkpoint`. Both arrays lie as all parameters do. */
export function readMoments(
  checkpoint: Uint8Array,
  parameters: readonly ParameterInfo[],
  name: string,
  index: number,
): Moments {
  let before = 0;
  for (const parameter of parameters) {
    if (parameter.name === name) break;
    before += parameter.shape.reduce((count, size) => count * size, 1);
  }
  const view = new DataView(checkpoint.buffer, checkpoint.byteOffset, checkpoint.byteLength);
  const headerBytes = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(checkpoint.subarray(8, 8 + headerBytes))) as Readonly<
    Record<string, { readonly data_offsets: readonly [number, number] }>
  >;
  const at = (array: string): number => {
    const entry = header[array];
    if (entry === undefined) throw new Error(`the checkpoint has no ${array}`);
    return view.getFloat32(8 + headerBytes + entry.data_offsets[0] + 4 * (before + index), true);
  };
  return { mean: at('trainer.mean'), variance: at('trainer.variance') };
}
