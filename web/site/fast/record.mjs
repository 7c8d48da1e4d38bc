// node web/site/fast/record.mjs: runs the page's own measurement in headless Chromium and keeps it as recorded.json, which
// the page shows first. Needs a built site (./build.sh) and an idle machine.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { staticServer } from '../../static-server.mjs';

const server = staticServer(fileURLToPath(new URL('../../../build/site', import.meta.url)));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/fast/`);
const { roofline, source } = await page.evaluate(() => {
  const measured = new Promise((resolve) => addEventListener('measured', ({ detail }) => resolve(detail)));
  document.querySelector('#measure').click();
  return measured;
});
if (!('date' in source && source.date instanceof Date)) throw new Error((await page.textContent('#progress')) ?? '');
const recorded = {
  date: new Date().toISOString().slice(0, 10),
  processor: cpus()[0].model,
  browser: `Chromium ${browser.version().split('.')[0]}`,
  roofline,
};
writeFileSync(new URL('./recorded.json', import.meta.url), `${JSON.stringify(recorded, null, 2)}\n`);
await browser.close();
server.close();
