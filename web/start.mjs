// npm start: installs, builds what is stale, and serves the page. `npm start -- --host` serves the whole network too,
// for a classroom; `--port N` asks for another port. Imports nothing but Node's own modules: nothing may be installed.
import { spawnSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkNode, installPackages } from './prerequisites.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PORTS_TO_TRY = 20;

function fail(message) {
  console.error(`npm start: ${message}`);
  process.exit(1);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { host: { type: 'boolean', default: false }, port: { type: 'string', default: '5173' } },
    });
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      fail(`--port ${values.port} is not a port: give a number from 1 to 65535`);
    }
    return { host: values.host, port };
  } catch (error) {
    return fail(`${error.message}. The options are --host and --port N`);
  }
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) {
    fail(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
  }
}

function prepare() {
  try {
    checkNode();
    installPackages();
  } catch (error) {
    fail(error.message);
  }
}

/** Listens on the first free port from `port` on. */
async function listen(server, port, host) {
  for (let tried = port; tried < port + PORTS_TO_TRY; tried++) {
    const error = await new Promise((resolve) => {
      server.once('error', resolve);
      server.listen(tried, host, () => {
        server.off('error', resolve);
        resolve(undefined);
      });
    });
    if (!error) {
      return tried;
    }
    if (error.code !== 'EADDRINUSE') {
      fail(`cannot listen on port ${tried}: ${error.message}`);
    }
    console.log(`port ${tried} is taken`);
  }
  return fail(`ports ${port} to ${port + PORTS_TO_TRY - 1} are all taken: choose another with --port N`);
}

function networkAddresses(port) {
  return Object.values(networkInterfaces())
    .flat()
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => `http://${address}:${port}/`);
}

const options = readOptions();
prepare();
run('./build.sh', ['all']);

const { ISOLATED, staticServer } = await import('./static-server.mjs');
const server = staticServer(`${ROOT}build/site`, ISOLATED);
const port = await listen(server, options.port, options.host ? '0.0.0.0' : 'localhost');
console.log(`\nmultihead is at http://localhost:${port}/   (ctrl-C ends it)`);
if (options.host) {
  for (const address of networkAddresses(port)) {
    console.log(`on this network at ${address}`);
  }
}
