/** Packs the package once for all tests of this folder, as `npm publish` would. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the tarball. */
    tarball: string;
    /** Paths of the files in it, without the leading `package/`. */
    packedFiles: string[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'multihead-pack-'));
  // The test runner has built already, which is all that the package's scripts would do.
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', args, { maxBuffer: 1 << 24 });
  const [pack] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  project.provide('tarball', join(folder, pack.filename));
  project.provide(
    'packedFiles',
    pack.files.map(({ path }) => path),
  );
  return () => rm(folder, { recursive: true });
}
