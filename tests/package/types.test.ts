/** The types that ship, read by a stranger's compiler in its strictest mood. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Project } from './support/project.js';

const CONSUMER = `
import { loadModel, type Model, MultiHeadAttention, type RunResult, tensor } from 'multihead';
import 'multihead/element';
import { bilingual } from 'multihead/models/bilingual';

export async function weights(): Promise<Float32Array | undefined> {
  const attention = await MultiHeadAttention.create({ embedDim: 8, numHeads: 2 });
  const x = tensor(new Float32Array(24), [3, 1, 8]);
  return attention.forward(x, x, x).weights?.data;
}

export async function entropy(text: string): Promise<Float32Array> {
  const model: Model = await loadModel(bilingual, { thread: 'here' });
  const run: RunResult = await model.run(text, { mask: { causal: true, window: [8, 0] } });
  return run.rowStatistics;
}

export async function wrong(model: Model): Promise<void> {
  // @ts-expect-error: the option is misspelt
  await model.run('text', { mask: { casual: true } });
}

export const lens: HTMLElementTagNameMap['multihead-lens'] = document.createElement('multihead-lens');
`;

let project: Project;

beforeAll(async () => {
  project = await Project.create('typescript');
  await project.write('consumer.ts', CONSUMER);
});

afterAll(() => project.remove());

test.each([
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
])('compile with module resolution $moduleResolution', async (options) => {
  const compilerOptions = {
    ...options,
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
  };
  await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const { stdout } = await project.run('node_modules/.bin/tsc', '-p', '.');
  expect(stdout).toBe('');
});
