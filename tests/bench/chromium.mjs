// Headless Chromium on a page of the repository, isolated so that its clock ticks in microseconds.
import { chromium } from 'playwright-core';
import { staticServer } from '../../web/static-server.mjs';
import { ROOT } from '../runner/command.mjs';

const FLAGS = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Serves the repository; resolves to { url, close }. */
export async function serveRepository() {
  const server = staticServer(ROOT.replace(/\/$/, ''));
  server.prependListener('request', (_, response) => {
    response.setHeader('cross-origin-opener-policy', 'same-origin');
    response.setHeader('cross-origin-embedder-policy', 'require-corp');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Chromium with an empty profile; `CHROMIUM` names another browser. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** The same in a process whose id is known: resolves to { connected: the browser, pid, close }. */
export async function launchServer() {
  const server = await chromium.launchServer({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
  });
  const connected = await chromium.connect(server.wsEndpoint());
  return { connected, pid: server.process().pid, close: () => server.close() };
}

/** An empty page of the server. What the page complains about is shown. */
export async function openPage(browser, url, path = 'tests/bench/page.html') {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  page.on('pageerror', (error) => console.error(`  page: ${String(error).slice(0, 300)}`));
  await page.goto(url + path);
  return page;
}
