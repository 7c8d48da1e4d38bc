import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a command at the top of the repository. Its output streams through, unless `quiet`, which collects it.
 * Never rejects: a command that cannot start has code 127 and says so in `output`.
 */
export function run(command, args, { quiet = false, env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', (error) => resolve({ code: 127, output: `${command}: ${error.message}\n` }));
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 1, output: signal ? `${output}${command}: ${signal}\n` : output }),
    );
  });
}

/** Is there such a command on PATH? */
export async function has(command) {
  return (await run('sh', ['-c', `command -v ${command}`], { quiet: true })).code === 0;
}

/** `./build.sh` with these arguments; an error if it fails, since nothing after it would make sense. */
export async function build(...args) {
  const { code } = await run('./build.sh', args);
  if (code !== 0) {
    throw new Error(`./build.sh ${args.join(' ')} failed`);
  }
}

/** Runs a program of a package in node_modules. */
export function runPackage(script, args, options) {
  return run(process.execPath, [`node_modules/${script}`, ...args], options);
}

/** `work` on each item, `limit` of them at a time; the results in the order of the items. */
export async function mapAtOnce(items, limit, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}
