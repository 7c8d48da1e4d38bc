/** Text, token by token: each run computes the rows of one more token, the rest is in its session. */
import { MultiheadError } from './errors.js';
import { checkOptions, type Known } from './options.js';
import { uniform } from './random.js';
import { checkRun } from './run-options.js';
import type { GeneratedToken, GenerateOptions, Model, ModelInfo, Prediction, RunResult, Token } from './types.js';

const OPTIONS: Known<GenerateOptions> = {
  maxTokens: true,
  temperature: true,
  topK: true,
  seed: true,
  predictions: true,
  stopTokens: true,
  run: true,
  signal: true,
};

type Settings = Required<Omit<GenerateOptions, 'run' | 'signal'>>;

/** `model.generate`, over any model. Options are checked at the first `next()`. */
export async function* generate(
  model: Model,
  input: string | readonly number[],
  options: GenerateOptions = {},
): AsyncGenerator<GeneratedToken, void, undefined> {
  const settings = readSettings(options, model.info);
  const wanted = {
    mask: { causal: true },
    attention: 'none' as const,
    statistics: false,
    ...options.run,
    logits: 'last' as const,
    topK: Math.max(settings.topK, settings.predictions),
    ...(options.signal && { signal: options.signal }),
  };
  checkRun(input, wanted);
  const random = uniform(settings.seed);
  const session = model.openSession();
  try {
    let result = await session.run(input, { ...wanted, ...(typeof input === 'string' && { endToken: false }) });
    const ids = result.tokens.map((token) => token.id);
    for (let made = 0; made < settings.maxTokens && ids.length < model.info.positions; made++) {
      if (made > 0) result = await session.run(ids, wanted);
      const id = choose(result, settings, random);
      if (settings.stopTokens.includes(id)) return;
      ids.push(id);
      yield describe(await model.tokenize(ids), result, settings.predictions);
    }
  } finally {
    session.dispose();
  }
}

function readSettings(options: GenerateOptions, info: ModelInfo): Settings {
  checkOptions('generate', options, OPTIONS);
  const settings = {
    maxTokens: options.maxTokens ?? info.positions,
    temperature: options.temperature ?? 1,
    topK: options.topK ?? Math.min(40, info.vocabulary),
    seed: options.seed ?? 0,
    predictions: options.predictions ?? 5,
    stopTokens: options.stopTokens ?? info.endTokens,
  };
  const wholes = { maxTokens: Number.MAX_SAFE_INTEGER, topK: info.vocabulary, predictions: info.vocabulary };
  for (const [name, most] of Object.entries(wholes)) {
    const value = settings[name as keyof typeof wholes];
    if (Number.isInteger(value) && value >= 0 && value <= most) continue;
    throw wrong(name, value, `a whole number from 0 to ${most}`);
  }
  if (!(settings.temperature >= 0 && Number.isFinite(settings.temperature))) {
    throw wrong('temperature', settings.temperature, 'a finite number, 0 or more');
  }
  if (!Number.isInteger(settings.seed)) throw wrong('seed', settings.seed, 'a whole number');
  if (!Array.isArray(settings.stopTokens)) throw wrong('stopTokens', settings.stopTokens, 'a list of ids');
  return settings;
}

function wrong(name: string, value: unknown, wanted: string): MultiheadError {
  return new MultiheadError('argument', `${name} of generate is ${String(value)}: it must be ${wanted}`);
}

function choose(result: RunResult, { temperature, topK }: Settings, random: () => number): number {
  const logits = result.logits ?? new Float32Array();
  if (temperature === 0) return logits.indexOf(logits.reduce((most, logit) => Math.max(most, logit)));
  const candidates =
    topK > 0
      ? predictionsOf(result)
          .slice(0, topK)
          .map(({ id }) => id)
      : [...logits.keys()];
  const most = candidates.reduce((largest, id) => Math.max(largest, logits[id] ?? 0), Number.NEGATIVE_INFINITY);
  const weights = candidates.map((id) => Math.exp(((logits[id] ?? 0) - most) / temperature));
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  const chosen = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  // Rounding may leave a crumb after the last.
  return candidates[chosen < 0 ? candidates.length - 1 : chosen] ?? 0;
}

const predictionsOf = (result: RunResult): readonly Prediction[] => result.topK[0]?.predictions ?? [];

/** The last of `tokens`, as `result` predicted it. */
function describe(tokens: readonly Token[], result: RunResult, predictions: number): GeneratedToken {
  const token = tokens.at(-1) as Token;
  const before = tokens.at(-2)?.end ?? 0;
  const logits = result.logits ?? new Float32Array();
  const most = logits.reduce((largest, logit) => Math.max(largest, logit), Number.NEGATIVE_INFINITY);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  return {
    token,
    text: token.special ? '' : ' '.repeat(Math.max(0, token.start - before)) + token.text,
    probability: Math.exp((logits[token.id] ?? Number.NEGATIVE_INFINITY) - most) / sum,
    predictions: predictionsOf(result).slice(0, predictions),
    result,
  };
}
