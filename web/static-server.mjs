// A static file server: a folder over plain http, with the right types, and no special header if none is asked for.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.safetensors': 'application/octet-stream',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};

/** Headers that let a page share memory between workers, and so have threads. Its files come from here alone anyway. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

/** The file that a request path names inside `folder`, or null if it leads out of it or cannot be read as a path. */
function fileOf(folder, requestUrl) {
  try {
    const path = decodeURIComponent(new URL(requestUrl, 'http://host').pathname);
    const file = normalize(join(folder, path.endsWith('/') ? `${path}index.html` : path));
    return file.startsWith(normalize(folder + sep)) && !file.includes('\0') ? file : null;
  } catch {
    return null;
  }
}

async function isFile(path) {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function sendText(response, status, text) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

/** An http server, not yet listening, of the files in `folder`, each sent with `headers` too. */
export function staticServer(folder, headers = {}) {
  return createServer(async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return sendText(response, 405, 'only GET and HEAD');
    }
    const file = fileOf(folder, request.url);
    if (!file || !(await isFile(file))) {
      return sendText(response, 404, 'not found');
    }
    const { size } = await stat(file);
    response.writeHead(200, {
      ...headers,
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-length': size,
      'cache-control': 'no-cache',
    });
    if (request.method === 'HEAD') {
      return response.end();
    }
    createReadStream(file)
      .on('error', () => response.destroy())
      .pipe(response);
  });
}
