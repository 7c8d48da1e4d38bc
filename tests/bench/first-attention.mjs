/**
 * From an address to the first attention on the screen: the built site in a browser with an empty profile, the model
 * included.
 *
 *     node tests/bench/first-attention.mjs [--site build/site] [--site other/site] [--times 9] [--requests]
 *
 * Several sites take turns. Times count from the start of the navigation: `script` until the page's own code runs, `answer` until the first
 * maps are in the page, `shown` until they are painted. `--requests` lists when each file of the fastest start was asked for and there.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { staticServer } from '../../web/static-server.mjs';
import { launch } from './chromium.mjs';

const { values: options } = parseArgs({
  options: {
    site: { type: 'string', multiple: true, default: ['build/site'] },
    times: { type: 'string', default: '9' },
    requests: { type: 'boolean', default: false },
  },
});

/** In the page, before its own scripts. */
function watch() {
  globalThis.stages = new Promise((resolve) => {
    addEventListener('multihead-answer', () => {
      const answer = performance.now();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          port1.close();
          const [paint] = performance.getEntriesByName('first-contentful-paint');
          resolve({ words: paint?.startTime ?? Number.NaN, answer, shown: performance.now() });
        };
        port2.postMessage(null);
      });
    });
  });
}

async function startOnce(url) {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    await page.addInitScript(watch);
    const requests = [];
    page.on('requestfinished', (request) => requests.push(request));
    await page.goto(url, { waitUntil: 'commit' });
    const { origin, ...stages } = await page.evaluate(async () => ({
      origin: performance.timeOrigin,
      ...(await globalThis.stages),
    }));
    const files = requests.map((request) => {
      const { startTime, responseEnd } = request.timing();
      const from = startTime - origin;
      return { name: new URL(request.url()).pathname.split('/').at(-1) || '/', from, to: from + responseEnd };
    });
    return { stages, files };
  } finally {
    await browser.close();
  }
}

const servers = options.site.map((folder) => staticServer(folder));
await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))));
const starts = servers.map(() => []);
const load = () => loadavg()[0].toFixed(1);
const before = load();
for (let time = 0; time < Number(options.times); time++)
  for (const [index, server] of servers.entries())
    starts[index].push(await startOnce(`http://127.0.0.1:${server.address().port}/`));

console.log(`load ${before} to ${load()}, ${options.times} starts each with an empty profile; milliseconds`);
for (const [index, folder] of options.site.entries()) {
  const runs = starts[index].sort((a, b) => a.stages.shown - b.stages.shown);
  const column = (name) => runs.map(({ stages }) => stages[name]).sort((a, b) => a - b);
  const texts = Object.keys(runs[0].stages).map((name) => {
    const sorted = column(name);
    return `${name} ${sorted[sorted.length >> 1].toFixed(0)} (least ${sorted[0].toFixed(0)})`;
  });
  console.log(`${folder}: ${texts.join(', ')}`);
  if (!options.requests) continue;
  for (const { name, from, to } of runs[0].files.sort((a, b) => a.from - b.from))
    console.log(`  ${from.toFixed(0).padStart(5)} ${to.toFixed(0).padStart(5)}  ${name}`);
}
for (const server of servers) {
  server.closeAllConnections();
  server.close();
}
