/** What was trained loads as any model does, reads its task's sequences as they are written, and looks as it looked. */
import { expect, test } from 'vitest';
import { loadModelHere } from '../../web/src/core/model.js';
import { configOf, tokenizerOf } from '../../web/src/study/model-files.js';
import { defaultSettings, type Settings } from '../../web/src/study/settings.js';
import { encode, makeSequences, spell } from '../../web/src/study/task.js';
import { taskIds, taskOf } from '../../web/src/study/tasks/index.js';
import { createTrainingApi } from '../../web/src/worker/serve-training.js';

function unwrap<T>(outcome: { readonly value: T } | { readonly error: { readonly message: string } }): T {
  if ('error' in outcome) throw new Error(outcome.error.message);
  return outcome.value;
}

test.each(
  taskIds.flatMap((task) => [
    { task, scaled: true },
    { task, scaled: false },
  ]),
)('$task, scaled: $scaled', async ({ task, scaled }) => {
  const settings: Settings = { ...defaultSettings, task, scaled, width: 16, heads: 2, batch: 2, rate: 0.02 };
  const api = createTrainingApi();
  unwrap(await api.begin(settings));
  unwrap(await api.advance(1e9, 5, null));
  const words = makeSequences(taskOf(task), 'held-out', 5, 0, 1)[0] ?? [];
  const { probe } = unwrap(await api.probe(words));
  const weights = unwrap(await api.save());
  const model = await loadModelHere({ config: configOf(settings), tokenizer: tokenizerOf(settings), weights });
  const text = spell(taskOf(task), words);
  const result = await model.run(text, { mask: { causal: true }, tooLong: 'truncate', topK: 0 });
  const { tokens } = encode(taskOf(task), [words]);
  const read = result.tokens.map(({ id }) => id);
  expect(read).toEqual([...tokens.subarray(0, read.length)]);
  expect(read.length).toBeGreaterThanOrEqual(words.length);
  // The model looks as the trainer saw it look; here without the padding.
  const [rows, all] = [read.length, tokens.length];
  let largest = 0;
  for (let map = 0; map < settings.layers * settings.heads; map++)
    for (let i = 0; i < rows; i++)
      for (let j = 0; j <= i; j++)
        largest = Math.max(
          largest,
          Math.abs(
            (result.attention[(map * rows + i) * rows + j] ?? 9) - (probe.attention[(map * all + i) * all + j] ?? -9),
          ),
        );
  expect(largest).toBeLessThan(1e-5);
  // Saving changes nothing.
  expect(unwrap(await api.probe(words)).probe.attention).toEqual(probe.attention);
  model.dispose();
});
