/** The tarball in a fresh Node project: attention, the model, and imports that touch no browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Project } from './support/project.js';

let project: Project;

beforeAll(async () => {
  project = await Project.create();
});

afterAll(() => project.remove());

describe('in Node', () => {
  test('multi-head attention runs', async () => {
    const result = (await project.runNode(`
      import { MultiHeadAttention, tensor } from 'multihead';
      const attention = await MultiHeadAttention.create({ embedDim: 12, numHeads: 3, batchFirst: true });
      const x = tensor(Float32Array.from({ length: 2 * 5 * 12 }, (_, i) => Math.sin(i)), [2, 5, 12]);
      const { output, weights } = attention.forward(x, x, x, { causal: true, averageAttnWeights: false });
      attention.dispose();
      console.log(JSON.stringify({ output: output.shape, weights: weights.shape, row: [...weights.data.slice(5, 10)] }));
    `)) as { output: number[]; weights: number[]; row: number[] };
    expect(result.output).toEqual([2, 5, 12]);
    expect(result.weights).toEqual([2, 3, 5, 5]);
    // The second query of the first head sees two keys.
    expect(result.row[0]).toBeGreaterThan(0);
    expect((result.row[0] ?? 0) + (result.row[1] ?? 0)).toBeCloseTo(1, 6);
    expect(result.row.slice(2)).toEqual([0, 0, 0]);
  });

  test('the model that comes with it reads Chinese and English', async () => {
    const result = (await project.runNode(`
      import { loadModel } from 'multihead';
      import { bilingual } from 'multihead/models/bilingual';
      const model = await loadModel(bilingual);
      const run = await model.run('小明喜欢打球, and the cat sleeps.', { mask: { causal: true }, logits: 'last' });
      const size = run.tokens.length;
      model.dispose();
      console.log(JSON.stringify({
        thread: model.thread,
        text: run.tokens.map((token) => token.text).join(''),
        shape: [run.layers, run.heads, size * size * run.layers * run.heads - run.attention.length],
        lastRow: run.attention.slice(-size).reduce((sum, weight) => sum + weight, 0),
        predictions: run.topK[0].predictions.length,
      }));
    `)) as { thread: string; text: string; shape: number[]; lastRow: number; predictions: number };
    expect(result.thread).toBe('here');
    expect(result.text).toContain('小明');
    expect(result.text).not.toContain('\ufffd');
    expect(result.shape).toEqual([4, 8, 0]);
    expect(result.lastRow).toBeCloseTo(1, 5);
    expect(result.predictions).toBe(5);
  });

  test.each(['multihead', 'multihead/element', 'multihead/models/bilingual'])(
    'importing %s needs no window, no document and no worker',
    async (entry) => {
      const result = await project.runNode(`
        const names = Object.keys(await import('${entry}'));
        console.log(JSON.stringify({ names, window: typeof window, document: typeof document }));
      `);
      expect(result).toMatchObject({ window: 'undefined', document: 'undefined' });
    },
  );

  test('require() loads the entry', async () => {
    await project.write('script.cjs', "console.log(typeof require('multihead').MultiHeadAttention.create);");
    const { stdout } = await project.run(process.execPath, '--no-warnings', 'script.cjs');
    expect(stdout.trim()).toBe('function');
  });
});
