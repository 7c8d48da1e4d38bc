/** The README's JavaScript runs in a fresh project as it stands, and prints what its comments say. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Project } from './support/project.js';

let project: Project;
let blocks: string[];

beforeAll(async () => {
  const readme = await readFile('README.md', 'utf8');
  blocks = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code ?? '');
  project = await Project.create();
});

afterAll(() => project.remove());

/** Runs the block that has `mark` in it, and compares what it prints with what its comments say. */
async function expectPromised(mark: string): Promise<void> {
  const code = blocks.find((block) => block.includes(mark)) ?? '';
  await project.write('block.mjs', code);
  const { stdout } = await project.run(process.execPath, 'block.mjs');
  // Node spaces lists its own way.
  expect(stdout.replace(/\[ /g, '[').replace(/ \]/g, ']').trim().split('\n')).toEqual(promised(code));
}

/** What `// …` after each console.log says will be printed. */
const promised = (code: string) => [...code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, said]) => said);

test.each([
  ['attention as PyTorch users know it', 'MultiHeadAttention'],
  ['text, token by token', 'generate'],
  ['a network that learns', 'Trainer'],
])('%s', (_, mark) => expectPromised(mark));

test('a whole model', async () => {
  const code = blocks.find((block) => block.includes('model.run')) ?? '';
  await project.write('model.mjs', code);
  const { stdout } = await project.run(process.execPath, 'model.mjs');
  const [prediction, length, entropy] = stdout.trim().split('\n');
  expect(prediction).toBe(promised(code)[0]);
  expect(Math.sqrt(Number(length) / (4 * 8)) % 1).toBe(0);
  // The first token sees itself alone.
  expect(Number(entropy)).toBe(0);
});
