/** Both builds of the engine, as a user gets them: every test of this folder runs in each. */
import { type Build, type Engine, loadEngine } from '../../web/src/index.js';

export const BUILDS: readonly Build[] = ['simd128', 'relaxed-simd'];

const engines = new Map<Build, Promise<Engine>>();

export function engineOf(build: Build): Promise<Engine> {
  let engine = engines.get(build);
  if (!engine) {
    engine = loadEngine({ build });
    engines.set(build, engine);
  }
  return engine;
}
