// What `npm start` and `npm test` need before anything of ours can run. Imports nothing but Node's own modules: nothing
// may be installed yet.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Throws if this Node.js is older than 20.19. */
export function checkNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`Node.js ${version} is too old: 20.19 or newer is needed (https://nodejs.org)`);
  }
}

/** npm keeps a lock file of its own in node_modules; an older one means that package-lock.json has changed since. */
export function installPackages() {
  const installed = `${ROOT}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${ROOT}package-lock.json`).mtimeMs) {
    return;
  }
  console.log('installing npm packages');
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) {
    throw new Error(`npm ci failed${error ? `: ${error.message}` : ''}`);
  }
}
