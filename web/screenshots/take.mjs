// Takes the README's pictures of the built page: ./build.sh all && node web/screenshots/take.mjs [NAME...]
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { staticServer } from '../static-server.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const pictures = [
  { name: 'explore', locale: 'en', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'explore-zh', locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
];

const server = staticServer(here('../../build/site'));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const wanted = process.argv.slice(2);
const isWanted = ({ name }) => wanted.length === 0 || wanted.includes(name);
for (const { name, ...options } of pictures.filter(isWanted)) {
  const page = await browser.newPage(options);
  await page.addInitScript(() => {
    window.answered = new Promise((resolve) => addEventListener('multihead-answer', resolve, { once: true }));
  });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(async () => {
    await window.answered;
    // Typing once more shows the time from key to pixels in the proof.
    const lens = document.querySelector('multihead-lens');
    for (const text of [`${lens.text} `, lens.text]) {
      const answer = new Promise((resolve) => lens.addEventListener('multihead-answer', resolve, { once: true }));
      lens.change((state) => ({ ...state, text }));
      await answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  });
  await page.screenshot({ path: here(`${name}.png`) });
  await page.close();
}

// A head that has formed: the same seed trains the same model, wherever and whenever it is.
const trainings = [
  { name: 'train', locale: 'en', colorScheme: 'light', hash: '#room=train', least: 600 },
  { name: 'train-zh', locale: 'zh-CN', colorScheme: 'dark', hash: '#room=train', least: 450 },
];
for (const { name, hash, least, ...options } of trainings.filter(isWanted)) {
  const page = await browser.newPage({ ...options, viewport: { width: 1440, height: 900 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/${hash}`);
  await page.locator('multihead-train mh-heatmap').waitFor();
  const play = page.locator('multihead-train .play');
  await play.click();
  await page.waitForFunction(
    (steps) =>
      Number.parseInt(
        document.querySelector('multihead-train').renderRoot.querySelector('.facts dd').textContent,
        10,
      ) >= steps,
    least,
    { timeout: 0 },
  );
  await play.click();
  await page.waitForTimeout(500);
  await page.screenshot({ path: here(`${name}.png`) });
  await page.close();
}

if (isWanted({ name: 'digits' })) {
  const page = await browser.newPage({ locale: 'en', viewport: { width: 1440, height: 900 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/#room=digits`);
  await page.locator('multihead-digits').getByRole('radio').nth(1).check();
  await page.locator('multihead-digits .hidden-patch').first().waitFor();
  await page.screenshot({ path: here('digits.png') });
  await page.close();
}

// Written up to a token of its middle, whose links stand out.
if (isWanted({ name: 'translate' })) {
  const page = await browser.newPage({ locale: 'en', viewport: { width: 1440, height: 980 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/#room=translate`);
  await page.locator('multihead-translate mh-heatmap').waitFor();
  await page.locator('multihead-translate mh-alignment button').nth(1).click();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);
  await page.screenshot({ path: here('translate.png') });
  await page.close();
}
await browser.close();
server.close();
