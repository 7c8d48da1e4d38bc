/**
 * The public types of the engine: what goes in and what comes out. No code here.
 *
 * Shapes: `[L, H, T, S]` is a row-major flat `Float32Array`; L layers, H heads, T queries, S keys, E embedding width,
 * V vocabulary. For self-attention S = T = the number of tokens.
 */

/** A dense row-major tensor of f32. `data.length` is the product of `shape`. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** A dense row-major tensor of booleans, one byte each: nonzero is true. */
export interface BoolTensor {
  readonly data: Uint8Array;
  readonly shape: readonly number[];
}

/** The wasm builds. `auto` takes relaxed SIMD where the engine's host has it, else SIMD128. */
export type Build = 'simd128' | 'relaxed-simd';

/**
 * How linear layers are computed. `int8`: weights rounded to 127 levels an output channel, their inputs to 255 levels a
 * row; results move a little (see the model's README), weights take a quarter of the memory. The same on every machine.
 */
export type Precision = 'f32' | 'int8';

/** Where the engine's wasm comes from; the default is the file next to the package's own modules. */
export interface EngineOptions {
  /** Which build to load. Default `auto`. A build that the host cannot run is an error, never a silent swap. */
  readonly build?: Build | 'auto';
  /**
   * How many threads compute, the calling one included: 1 to 64, or `auto` for one a core, at most 4. Default `auto` in
   * a browser, 1 in Node.
   *
   * A browser needs a page that is cross-origin isolated, which a server makes with the headers
   * `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy: require-corp`, and lets no policy forbid
   * workers from `blob:`. Where there are no more threads, for whatever reason, the build with one computes the same
   * numbers: `threads` of the engine or model says how many there are.
   */
  readonly threads?: number | 'auto';
  /** Folder that holds `multihead-simd128.wasm`, `multihead-relaxed-simd.wasm`, and both with `-threads` in their names. */
  readonly wasmUrl?: string | URL;
  /** The wasm itself, for hosts without fetch (edge workers, single-file pages). Then `build` names what it is. */
  readonly wasm?: BufferSource | WebAssembly.Module;
}

/**
 * Which keys a query may see by their place, for MultiHeadAttention and scaledDotProductAttention: what torch has no
 * argument for. Combines with the masks given there, by the rules in section 3 of `c/include/multihead.h`.
 */
export interface VisibleKeys {
  /** Query i sees keys j <= i + queryOffset. */
  readonly causal?: boolean;
  /** Position of query 0 on the key axis: S - T for decoding. Default 0. */
  readonly queryOffset?: number;
  /** Sliding window: keys visible on each side of the query's own position; Infinity for no limit on a side. */
  readonly window?: number | readonly [left: number, right: number];
  /** The first `prefix` keys are visible to all, whatever causal and window say. */
  readonly prefix?: number;
  /** Block of each query [T] and key [S]: only keys of the query's own block are visible. Both or neither. */
  readonly queryBlocks?: readonly number[];
  readonly keyBlocks?: readonly number[];
  /** Keys from here on are padding, for each batch entry [B]. */
  readonly keyLengths?: readonly number[];
}

/** Rows of weights to return instead of all: queries `rows` of heads `heads`, each strictly ascending; absent is all. */
export interface WeightsRows {
  readonly heads?: readonly number[];
  readonly rows?: readonly number[];
}

/**
 * Which keys a query may see, for `model.run`. Parts combine: a key is visible when every part allows it (the order and
 * exact rules are in `c/include/multihead.h`, section 3). An empty object is bidirectional attention.
 */
export interface MaskOptions {
  readonly causal?: boolean;
  /** Sliding window: tokens visible on each side (`[left, right]` or one number for both). */
  readonly window?: number | readonly [left: number, right: number];
  /** The first `prefix` keys are visible to all, whatever causal and window say. */
  readonly prefix?: number;
  /** Key positions switched off, as padding is. */
  readonly padding?: readonly number[];
  /**
   * A painted mask: nonzero HIDES. Length T·T (all layers and heads), H·T·T (all layers), or L·H·T·T. It can only hide
   * more than the rest allows; to show what `causal` hides, leave `causal` out and paint the whole mask.
   */
  readonly hidden?: Uint8Array;
}

/** `zero`: the head's output is 0. `mean`: its mean over positions. `uniform`: equal weight on every visible key. */
export type AblationKind = 'zero' | 'mean' | 'uniform';

export interface Ablation {
  readonly layer: number;
  readonly head: number;
  readonly kind: AblationKind;
}

/** One head of a model. */
export interface HeadPlace {
  readonly layer: number;
  readonly head: number;
}

/** Maps to return instead of those of all heads: of these heads, these queries' rows. Order does not matter. */
export interface MapChoice {
  /** Absent: all. */
  readonly heads?: readonly HeadPlace[];
  /** Absent: all. */
  readonly rows?: readonly number[];
}

/** What an array of chosen maps holds, in its order: `[heads.length, rows.length, T]`. Heads go by layer, then head. */
export interface ChosenMaps {
  readonly heads: readonly HeadPlace[];
  readonly rows: readonly number[];
}

export interface RunOptions {
  readonly mask?: MaskOptions;
  /** Factor on QKᵀ: `default` is 1/√d_k, `none` is 1, or a number. */
  readonly scale?: 'default' | 'none' | number;
  /** softmax(scores / temperature); > 0. Default 1. */
  readonly temperature?: number;
  readonly ablate?: readonly Ablation[];
  /** Which attention maps to return. Default `all`. */
  readonly attention?: 'all' | 'none' | MapChoice;
  /** Also return `rowStatistics` and `headStatistics`, of all heads whatever `attention` says. Default true. */
  readonly statistics?: boolean;
  /**
   * Also return `rawScores` (QKᵀ) and `scores`, of all heads or of those chosen. `scores` are what softmax sees:
   * rawScores · scale / temperature, −Infinity where hidden. Of a head ablated as `uniform`, `scores` are 0 on every visible key, and `rawScores` its own.
   */
  readonly stages?: boolean | MapChoice;
  /** Also return the hidden states. */
  readonly hidden?: boolean;
  /** Positions whose logits are wanted. Default `none`. */
  readonly logits?: 'none' | 'last' | 'all' | readonly number[];
  /** How many most probable tokens to name at each position of `logits`. Default 5; 0 for none. */
  readonly topK?: number;
  /** For text input: close with the model's end token. Default: false with a causal mask, else true. */
  readonly endToken?: boolean;
  /** For text input: token positions (after the start token is added) to replace by the model's mask token. */
  readonly maskTokens?: readonly number[];
  /** Text too long: `error` (default) throws code `too-long`; `truncate` runs what fits and returns the rest in `overflow`. */
  readonly tooLong?: 'error' | 'truncate';
  /** Fail with code `nonfinite`, naming the tensor, if a NaN or infinity appears. Default true. */
  readonly checkFinite?: boolean;
  /** Rejects with an AbortError; a run that has begun finishes and is dropped. */
  readonly signal?: AbortSignal;
}

/**
 * One token. `start`..`end` is its span in the text, in UTF-16 units, of whole graphemes and without the space before a
 * word. Tokens that meet inside a grapheme (the parts of an emoji, say) share it. Start and end tokens have an empty
 * span; a hidden one keeps its own.
 */
export interface Token {
  readonly id: number;
  /**
   * Readable text: the exact slice of the input it covers (case kept), or the special token's name, as `<s>`. White space
   * is as in the input; a space that the tokenizer put in is `␣`.
   */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly special: boolean;
  /** True when it begins a word (text after a space, or a script without spaces). */
  readonly wordStart: boolean;
}

export interface Prediction {
  readonly id: number;
  /** Readable text with its leading space removed. */
  readonly text: string;
  readonly probability: number;
}

export interface TopK {
  readonly position: number;
  readonly predictions: readonly Prediction[];
}

/** Columns of `rowStatistics` and `headStatistics`, by name; meaning in `c/include/multihead.h`, section 8. */
export interface StatisticNames {
  readonly row: readonly string[];
  readonly head: readonly string[];
}

/**
 * Where the time of a run went, in milliseconds, by the clock around each call: as coarse as the host's
 * `performance.now()`, often 0.1 ms.
 */
export interface RunTimes {
  /** From text to ids and spans. */
  readonly tokenize: number;
  /** From options to what the engine takes, masks among it. */
  readonly prepare: number;
  /** Embedding, layers with their statistics, and head: `milliseconds`. */
  readonly forward: number;
  /** The most probable tokens, and one copy of all results out of the engine's memory. */
  readonly results: number;
  /** There and back between page and worker, all that is not one of the above; 0 in this thread. */
  readonly transfer: number;
}

/** What a run had to compute; the rest was in its session. */
export interface ComputedRows {
  /** Rows of hidden states, over all layers: L · T is everything, T rows in each layer. */
  readonly rows: number;
  /** The first layer with such a row; L if there is none. */
  readonly firstLayer: number;
  /** The first such row of any layer; T if there is none. */
  readonly firstRow: number;
}

export interface RunResult {
  readonly tokens: readonly Token[];
  /** Tokens that did not fit the model (only with `tooLong: 'truncate'`). */
  readonly overflow: readonly Token[];
  readonly layers: number;
  readonly heads: number;
  /** `[L, H, T, T]`, or what `chosenAttention` says; empty with `attention: 'none'`. */
  readonly attention: Float32Array;
  /** With a choice in the option `attention`: what `attention` holds. */
  readonly chosenAttention?: ChosenMaps;
  /** `[L, H, T, names.row.length]`; empty with `statistics: false`. */
  readonly rowStatistics: Float32Array;
  /** `[L, H, names.head.length]`; empty with `statistics: false`. */
  readonly headStatistics: Float32Array;
  readonly statisticNames: StatisticNames;
  /** `[L, H, T, T]` each, with `stages`; or what `chosenStages` says. */
  readonly rawScores?: Float32Array;
  readonly scores?: Float32Array;
  /** With a choice in the option `stages`: what `rawScores` and `scores` hold. */
  readonly chosenStages?: ChosenMaps;
  /** `[L + 1, T, E]`, with `hidden`. */
  readonly hidden?: Float32Array;
  /** `[positions, V]`, with `logits`. */
  readonly logits?: Float32Array;
  readonly logitPositions: readonly number[];
  readonly topK: readonly TopK[];
  /** Rows, over all layers and heads, that could see no key: zero weights, zero output. */
  readonly maskedRows: number;
  /** The engine looked at every number of this run, and all were finite; false if `checkFinite` was. */
  readonly checkedFinite: boolean;
  readonly computed: ComputedRows;
  /** Time of the forward pass and statistics alone, in milliseconds. */
  readonly milliseconds: number;
  readonly times: RunTimes;
  readonly build: Build;
}

/** What the model is, read from its `config.json`. */
export interface ModelInfo {
  readonly name: string;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly embedDim: number;
  readonly headDim: number;
  readonly ffnDim: number;
  readonly vocabulary: number;
  /** Most tokens it takes, special ones included. */
  readonly positions: number;
  /** Masks it was trained with: `causal`, `bidirectional`, `window`. */
  readonly trainedMasks: readonly string[];
  /** Half-width of the trained window, or 0. */
  readonly trainedWindow: number;
  readonly hasMaskToken: boolean;
  /** Ids of the tokens that end a text. */
  readonly endTokens: readonly number[];
  /** Largest change of an attention weight by compressed weights, as measured by who made the file; null if not said. */
  readonly attentionError: number | null;
  /** As loaded. */
  readonly precision: Precision;
  readonly parameters: number;
  readonly bytes: number;
}

/** Model files: a folder URL, or each file as URL, bytes, Blob/File, or (JSON ones) parsed object. */
export type ModelFile = string | URL | ArrayBuffer | Uint8Array | Blob;
export interface ModelFiles {
  readonly config: ModelFile | object;
  readonly weights: ModelFile;
  readonly tokenizer: ModelFile | object;
  readonly tokenizerConfig?: ModelFile | object;
  readonly name?: string;
}
export type ModelSource = string | URL | ModelFiles;

export interface Progress {
  readonly file: 'config' | 'weights' | 'tokenizer' | 'wasm';
  readonly loaded: number;
  /** 0 if unknown. */
  readonly total: number;
}

export interface LoadOptions extends EngineOptions {
  /** Default `f32`. */
  readonly precision?: Precision;
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
  /**
   * `worker`: in a Web Worker, the page never blocks (default in browsers). `here`: in this thread (default in Node).
   */
  readonly thread?: 'worker' | 'here';
  /** URL of `worker.js`, where a bundler cannot find it by itself. */
  readonly workerUrl?: string | URL;
  /** Makes the worker, for bundles that have its script inside; it must run `multihead/worker`. */
  readonly createWorker?: () => Worker;
}

export interface TokenizeOptions {
  /** Close with the model's end token. Default: as the model's tokenizer does. */
  readonly endToken?: boolean;
}

/**
 * Runs that follow one another on one model, such as those of a text that is being typed. Keeps what the last run
 * computed, hidden states, queries, keys and values, so that the next computes only what can have changed: with a causal
 * mask the rows from the first changed token on, after a changed ablation the layers from its own on. The results are
 * those of `model.run`, bit by bit. `result.computed` says how much was computed.
 */
export interface ModelSession {
  /** As `model.run`. Runs go one after the other; those on other things belong into sessions of their own. */
  run(input: string | readonly number[], options?: RunOptions): Promise<RunResult>;
  /** Frees what is kept. The session of a disposed model needs no `dispose`. */
  dispose(): void;
}

export interface GenerateOptions {
  /** Most tokens to make. Default: as many as the model takes. */
  readonly maxTokens?: number;
  /** Of the choice among tokens: softmax(logits / temperature). 0 takes the most probable. Default 1. */
  readonly temperature?: number;
  /** Choose among so many most probable tokens; 0: among all. Default 40. */
  readonly topK?: number;
  /** The same seed makes the same choices. Default 0. */
  readonly seed?: number;
  /** How many most probable tokens to name beside each choice. Default 5. */
  readonly predictions?: number;
  /** Ids at which to stop; they are not yielded. Default: the model's `endTokens`. */
  readonly stopTokens?: readonly number[];
  /**
   * For the runs: which mask, ablations, outputs. Default: a causal mask, and neither attention nor statistics. Other masks
   * than causal ones make every token anew, for all rows see it.
   */
  readonly run?: Omit<RunOptions, 'logits' | 'topK' | 'endToken' | 'signal'>;
  readonly signal?: AbortSignal;
}

/** One token that the model was given to say. */
export interface GeneratedToken {
  readonly token: Token;
  /** What it adds to the text, spaces before it included. */
  readonly text: string;
  /** Of this token, under the model: before temperature and topK. */
  readonly probability: number;
  readonly predictions: readonly Prediction[];
  /** The run that predicted it, over the tokens before it. */
  readonly result: RunResult;
}

/** A loaded model. The same interface in a worker and in this thread. */
export interface Model {
  readonly info: ModelInfo;
  readonly build: Build;
  /** How many threads compute, see the option of the same name. */
  readonly threads: number;
  /** Where it computes: `here` also where a worker was wanted but the host allows none. */
  readonly thread: 'worker' | 'here';
  /** Runs text, or token ids as they are. */
  run(input: string | readonly number[], options?: RunOptions): Promise<RunResult>;
  /**
   * As `run`, for typing: while one run is under way only the newest waiting request is kept; a replaced one resolves to
   * `undefined`.
   */
  runLatest(input: string | readonly number[], options?: RunOptions): Promise<RunResult | undefined>;
  /** For runs that follow one another: typing, painting a mask, switching heads off. */
  openSession(): ModelSession;
  /**
   * Goes on with a text token by token, until an end token, `maxTokens`, or the most tokens that the model takes. Tokens
   * are made as they are asked for; what was computed for those before is kept.
   */
  generate(
    input: string | readonly number[],
    options?: GenerateOptions,
  ): AsyncGenerator<GeneratedToken, void, undefined>;
  /** All tokens of a text, however long, or of ids as they are. */
  tokenize(input: string | readonly number[], options?: TokenizeOptions): Promise<readonly Token[]>;
  dispose(): void;
}
