/**
 * From a key to the picture: how long the built site takes to show what a keystroke changes, all heads drawn anew.
 *
 *     node tests/bench/keystroke.mjs [--site build/site] [--edits 100] [--json]
 *
 * Real keys go through the browser into sentences of about 16, 32 and 64 tokens, half of them at the end and half in the
 * middle of the text. All times count from the browser's own time stamp of the key:
 *
 *   ask       until the worker has been asked
 *   worker    until its answer is in the page; of it, as the result itself says: `tokenize`, `prepare`, `forward` (the pass
 *             with its statistics), `results` (their copy out of the engine), `transfer` (the rest: messages above all)
 *   draw      until the last script of the rendering has run, that of every element and of every canvas; of it, `heads` is
 *             the one canvas with the maps of all heads, and the layout of the page that its first text makes the browser do
 *   busy      `ask`, `worker` and `draw` together: all that is ours to do before the browser takes over
 *   pixels    until the frame with the answer is laid out, painted and handed to the compositor
 *
 * A screen adds the wait for its next frame, up to 16.7 ms at 60 Hz whatever the page does. So `pixels` is measured twice:
 * with frames that begin as soon as they can, which is what the target in milliseconds is about, and at 60 Hz, as people
 * see it.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { staticServer } from '../../web/static-server.mjs';

const { values: options } = parseArgs({
  options: {
    site: { type: 'string', default: 'build/site' },
    edits: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
  },
});

const FLAGS = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];
const NO_WAIT = ['--disable-frame-rate-limit', '--disable-gpu-vsync'];

const STORY =
  `The cat didn't cross the street because it was too tired. The old man who lived next door saw it sit in the
 rain and brought it a bowl of warm milk. When his sister came home from the market in the evening, she found both of them
 asleep by the fire, and the letter that she had sent him lay on the table, still closed.`.replaceAll('\n', '');

/** Words of the story that make about this many tokens. */
const SIZES = [16, 32, 64];

/** What is typed and taken back again, so that the text keeps its length. */
const WORD = ' and the dog';

function startServer(folder) {
  const server = staticServer(folder);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** In the page, before its own scripts: notes when each thing of a keystroke happens. */
function watch() {
  const now = { key: 0, asked: 0, answered: 0 };
  globalThis.strokes = [];
  const Native = globalThis.Worker;
  globalThis.Worker = class extends Native {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', () => {
        now.answered = performance.now();
      });
    }
    postMessage(...given) {
      now.asked = performance.now();
      super.postMessage(...given);
    }
  };
  const stamp = (event) => {
    now.key = event.timeStamp;
  };
  // A drawing begins with a cleared canvas; what it draws with last, ends it.
  const drawing = { heads: null, headsBegin: 0, headsEnd: 0, end: 0 };
  const { prototype } = globalThis.CanvasRenderingContext2D;
  for (const name of ['clearRect', 'fillRect', 'fillText', 'drawImage', 'stroke']) {
    const native = prototype[name];
    prototype[name] = function (...given) {
      const isHeads = this.canvas === drawing.heads;
      if (isHeads && name === 'clearRect') drawing.headsBegin = performance.now();
      native.apply(this, given);
      drawing.end = performance.now();
      if (isHeads) drawing.headsEnd = drawing.end;
    };
  }
  addEventListener('keydown', stamp, { capture: true });
  addEventListener('multihead-answer', (event) => {
    if (now.key === 0) return;
    const { result } = event.detail.answer;
    const stroke = { ...now, tokens: result.tokens.length, times: result.times };
    // All arrays of a result are views of one buffer.
    stroke.bytes = result.attention.buffer.byteLength;
    now.key = 0;
    // Pictures render after the lens, in microtasks of this same task, and their canvases are drawn after all of them.
    const { renderRoot } = event.target;
    drawing.heads = renderRoot.querySelector('mh-heads')?.renderRoot.querySelector('canvas');
    const pictures = [...renderRoot.querySelectorAll('mh-heads, mh-heatmap, mh-entropy, mh-legend, mh-bars')];
    Promise.all(pictures.map((picture) => picture.updateComplete)).then(() => {
      stroke.rendered = performance.now();
    });
    requestAnimationFrame(() => {
      // A message from within the frame's callback arrives after the frame.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        stroke.shown = performance.now();
        stroke.drawn = Math.max(stroke.rendered, drawing.end);
        stroke.heads = drawing.headsEnd - drawing.headsBegin;
        globalThis.strokes.push(stroke);
      };
      port2.postMessage(null);
    });
  });
}

async function openPage(flags, url) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  await page.addInitScript(watch);
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('multihead-lens')?.heatmaps.length > 0);
  return { browser, page };
}

/** Puts the beginning of the story into the field: as many words as give `size` tokens. */
async function writeStory(page, size) {
  const words = STORY.split(' ');
  const tokens = await page.evaluate(
    ({ words, size }) => {
      const lens = document.querySelector('multihead-lens');
      const next = () => new Promise((resolve) => lens.addEventListener('multihead-answer', resolve, { once: true }));
      const fill = async (count) => {
        const answer = next();
        lens.text = words.slice(0, count).join(' ');
        return (await answer).detail.answer.result.tokens.length;
      };
      return (async () => {
        let [count, tokens] = [4, 0];
        while (count < words.length && tokens < size - 2) {
          count++;
          tokens = await fill(count);
        }
        return tokens;
      })();
    },
    { words, size },
  );
  await page.locator('multihead-lens textarea').focus();
  return tokens;
}

/** Types and takes back words until `count` keystrokes are on screen; returns their times. */
async function typeAndMeasure(page, count) {
  await page.evaluate(() => {
    globalThis.strokes.length = 0;
  });
  for (let typed = 0; typed < count; ) {
    await placeCaret(page, typed % (4 * WORD.length) < 2 * WORD.length ? 1 : 0.5);
    for (const key of [...WORD, ...Array.from(WORD, () => 'Backspace')]) {
      if (typed === count) break;
      await page.keyboard.press(key === ' ' ? 'Space' : key);
      typed++;
      // A space at the end changes no token, yet it is answered and drawn as any other key.
      await page.waitForFunction((wanted) => globalThis.strokes.length >= wanted, typed, { polling: 20 });
      await page.waitForTimeout(100);
    }
  }
  return page.evaluate(() => globalThis.strokes);
}

const placeCaret = (page, share) =>
  page.locator('multihead-lens textarea').evaluate((field, share) => {
    const space = share === 1 ? -1 : field.value.indexOf(' ', field.value.length * share);
    field.setSelectionRange(space < 0 ? field.value.length : space, space < 0 ? field.value.length : space);
  }, share);

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const round = (value) => Math.round(value * 10) / 10;
  return { p50: round(quantile(sorted, 0.5)), p95: round(quantile(sorted, 0.95)), min: round(sorted[0]) };
}

const stages = {
  ask: (stroke) => stroke.asked - stroke.key,
  worker: (stroke) => stroke.answered - stroke.asked,
  tokenize: (stroke) => stroke.times.tokenize,
  prepare: (stroke) => stroke.times.prepare,
  forward: (stroke) => stroke.times.forward,
  results: (stroke) => stroke.times.results,
  transfer: (stroke) => stroke.times.transfer,
  draw: (stroke) => stroke.drawn - stroke.answered,
  heads: (stroke) => stroke.heads,
  busy: (stroke) => stroke.drawn - stroke.key,
  pixels: (stroke) => stroke.shown - stroke.key,
};

async function measure(url, flags, names) {
  const { browser, page } = await openPage(flags, url);
  try {
    const results = [];
    for (const size of SIZES) {
      await writeStory(page, size);
      await typeAndMeasure(page, 2 * WORD.length);
      const strokes = await typeAndMeasure(page, Number(options.edits));
      const tokens = strokes.map((stroke) => stroke.tokens);
      const times = Object.fromEntries(names.map((name) => [name, summary(strokes.map(stages[name]))]));
      const bytes = Math.max(...strokes.map((stroke) => stroke.bytes));
      results.push({ size, tokens: [Math.min(...tokens), Math.max(...tokens)], strokes: strokes.length, bytes, times });
    }
    return { version: browser.version(), results };
  } finally {
    await browser.close();
  }
}

function printTable(title, { results }) {
  console.log(
    `\n${title}\n${'tokens'.padEnd(10)}${'stage'.padEnd(10)}${['p50', 'p95', 'min'].map((name) => name.padStart(8)).join('')}  ms`,
  );
  for (const { tokens, bytes, times } of results) {
    console.log(`an answer is up to ${Math.round(bytes / 1024)} KB`);
    for (const [name, { p50, p95, min }] of Object.entries(times)) {
      const numbers = [p50, p95, min].map((value) => value.toFixed(1).padStart(8)).join('');
      console.log(`${tokens.join('-').padEnd(10)}${name.padEnd(10)}${numbers}`);
    }
  }
}

const server = await startServer(options.site);
const url = `http://127.0.0.1:${server.address().port}/`;
const load = () => loadavg().map((value) => Math.round(value * 10) / 10);
const before = load();
try {
  const free = await measure(url, [...FLAGS, ...NO_WAIT], Object.keys(stages));
  const screen = await measure(url, FLAGS, ['busy', 'pixels']);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, load: [before, load()], chromium: free.version };
  if (options.json) console.log(JSON.stringify({ machine, free: free.results, screen: screen.results }, null, 2));
  else {
    console.log(
      `${machine.cpu}, ${machine.cores} cores, load ${before[0]} to ${load()[0]}, Chromium ${free.version}, no GPU`,
    );
    printTable('Frames begin as soon as they can', free);
    printTable('Frames at 60 Hz: the wait for the next one is in pixels', screen);
  }
} finally {
  server.closeAllConnections();
  server.close();
}
