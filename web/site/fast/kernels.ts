/** What the page on speed measures, and the arithmetic of each: operations, and the bytes that must move. */

export interface Kernel {
  readonly id: string;
  /** The attention core from ready Q, K, V; or the module with its four projections. */
  readonly kind: 'core' | 'module';
  readonly tokens: number;
  readonly heads: number;
  readonly headDim: number;
  /** All attention weights are handed out. */
  readonly weights: boolean;
  readonly causal: boolean;
  /** Floating-point operations of products; those that a mask leaves. */
  readonly flops: number;
  /** Inputs, weights of the projections and outputs, each once: less cannot move. */
  readonly bytes: number;
}

export interface Point extends Kernel {
  readonly gigaflops: number;
}

export interface Roof {
  readonly place: 'L1' | 'L3' | 'memory';
  readonly kilobytes: number;
  readonly gigabytesPerSecond: number;
}

export interface Roofline {
  readonly build: string;
  /** Multiply-adds on registers. */
  readonly gigaflops: number;
  readonly roofs: readonly Roof[];
  readonly points: readonly Point[];
}

type Shape = Omit<Kernel, 'flops' | 'bytes'>;

function withArithmetic(shape: Shape): Kernel {
  const { kind, tokens, heads, headDim, weights, causal } = shape;
  const width = heads * headDim;
  const pairs = causal ? (tokens * (tokens + 1)) / 2 : tokens * tokens;
  const projections = kind === 'module' ? 4 * width * width : 0;
  const rows = kind === 'module' ? 2 : 4;
  return {
    ...shape,
    // QKᵀ and the product with V: 2 · 2 · D for each visible pair and head.
    flops: 4 * pairs * width + 2 * tokens * projections,
    bytes: 4 * (rows * tokens * width + projections + (weights ? heads * tokens * tokens : 0)),
  };
}

const base = { heads: 12, headDim: 64, weights: false, causal: false } as const;

export const kernels: readonly Kernel[] = (
  [
    { ...base, id: 'module-1', kind: 'module', tokens: 1 },
    { ...base, id: 'module-8', kind: 'module', tokens: 8 },
    { ...base, id: 'module-64', kind: 'module', tokens: 64 },
    { ...base, id: 'module-512', kind: 'module', tokens: 512 },
    { ...base, id: 'core-64', kind: 'core', tokens: 64 },
    { ...base, id: 'core-512', kind: 'core', tokens: 512 },
    { ...base, id: 'core-512-weights', kind: 'core', tokens: 512, weights: true },
    { ...base, id: 'core-512-causal', kind: 'core', tokens: 512, causal: true },
    { ...base, id: 'core-2048', kind: 'core', tokens: 2048, heads: 8 },
  ] as const
).map(withArithmetic);

/** Operations for each byte that must move: the horizontal axis of a roofline. */
export function intensity({ flops, bytes }: Kernel): number {
  return flops / bytes;
}
