/** What is in the tarball, and that its manifest tells the truth about it. */
import { readFile } from 'node:fs/promises';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { Project } from './support/project.js';

type Target = string | { readonly [condition: string]: Target };

const files = inject('packedFiles');

function targetsOf(target: Target): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(targetsOf);
}

async function manifest(): Promise<{ exports: Record<string, Target> }> {
  return JSON.parse(await readFile('package.json', 'utf8'));
}

describe('the tarball', () => {
  test('holds the built package and nothing else', () => {
    const strange = files.filter((path) => !/^(dist\/.+|package\.json|README\.md|LICENSE)$/.test(path));
    expect(strange).toEqual([]);
    expect(files.filter((path) => /(?<!\.d)\.ts$|\.map$|\.test\./.test(path))).toEqual([]);
  });

  test.each([
    'dist/index.js',
    'dist/wasm/multihead-simd128.wasm',
    'dist/wasm/multihead-relaxed-simd.wasm',
    'dist/wasm/multihead-train-simd128.wasm',
    'dist/wasm/multihead-train-relaxed-simd.wasm',
    'dist/train/index.js',
    'dist/wasm/multihead-simd128-threads.wasm',
    'dist/wasm/multihead-relaxed-simd-threads.wasm',
    'dist/models/bilingual/model.safetensors',
    'dist/models/bilingual/config.json',
    'dist/models/bilingual/tokenizer.json',
    'dist/models/translator/index.js',
    'dist/models/translator/translator.safetensors',
    'dist/view/translate/define.js',
    'dist/embed/multihead-lens.js',
    'dist/embed/models/bilingual/model.safetensors',
    'LICENSE',
  ])('has %s', (path) => {
    expect(files).toContain(path);
  });

  test('has the weights of other models than the lens’s only once', () => {
    const weights = files.filter((path) => path.endsWith('.safetensors') && path.startsWith('dist/embed/'));
    expect(weights).toEqual(['dist/embed/models/bilingual/model.safetensors']);
  });

  test('has every target of its exports', async () => {
    const targets = Object.values((await manifest()).exports).flatMap(targetsOf);
    for (const target of targets) {
      const pattern = new RegExp(`^${target.slice(2).replaceAll('.', '\\.').replace('*', '.+')}$`);
      expect(
        files.some((path) => pattern.test(path)),
        target,
      ).toBe(true);
    }
  });

  test('has types beside every module', () => {
    const modules = files.filter((path) => path.endsWith('.js') && !path.startsWith('dist/embed/'));
    expect(modules.length).toBeGreaterThan(10);
    expect(modules.filter((path) => !files.includes(path.replace(/\.js$/, '.d.ts')))).toEqual([]);
  });

  test('awaits nothing at the top of a module, so that require() can load it', async () => {
    const modules = files.filter((path) => path.endsWith('.js'));
    for (const path of modules) {
      expect(await readFile(path, 'utf8'), path).not.toMatch(
        /^((export )?(const|let|var) [^=]+= )?(await|for await)\b/m,
      );
    }
  });
});

describe('publint', () => {
  let project: Project;
  beforeAll(async () => {
    project = await Project.create();
  });
  afterAll(() => project.remove());

  test('has nothing to say', async () => {
    const { messages, pkg } = await publint({
      pkgDir: project.path('node_modules/multihead'),
      pack: false,
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});
