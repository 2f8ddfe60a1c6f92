// Opens a page in a browser, as a maintainer does that it was sent to, and prints what it looks like as JSON.
import { chromium } from 'playwright-core';

const [, , browserFile, file, shots] = process.argv;
const browser = await chromium.launch({ executablePath: browserFile, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 0 });
const seen = {};
for (const [name, options] of Object.entries({
  phone: { viewport: { width: 375, height: 800 }, colorScheme: 'dark', isMobile: true },
  desk: { viewport: { width: 1100, height: 900 }, colorScheme: 'light' },
})) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(0); // a busy machine has the time of the test
  context.setDefaultNavigationTimeout(0);
  const page = await context.newPage();
  const loaded = [];
  const wrong = [];
  page.on('request', (request) => loaded.push(request.url()));
  page.on('console', (message) => wrong.push(message.text()));
  await page.goto('file://' + file);
  const detail = page.locator('details').first();
  const inside = detail.locator('pre').first();
  const tall = async (locator) => (await locator.boundingBox())?.height ?? 0;
  const folded = await tall(inside);
  const boxes = await page.locator('.pair').count();
  await page.emulateMedia({ media: 'print' });
  const printed = await tall(inside);
  await page.emulateMedia({ media: 'screen' });
  await detail.locator('summary').click();
  const open = await tall(inside);
  if (shots) {
    await page.screenshot({ path: `${shots}-${name}.png` });
  }
  seen[name] = {
    folded,
    open,
    printed,
    boxes,
    wrong,
    loaded: loaded.filter((url) => !url.startsWith('file://')),
    // On a phone a page must not be wider than the screen, wherever it is unfolded.
    ...(await page.evaluate(() => {
      document.querySelectorAll('details').forEach((one) => { one.open = true; });
      const [paper, ink] = ['backgroundColor', 'color'].map((of) => getComputedStyle(document.documentElement)[of].match(/[0-9]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
      const columns = [...document.querySelectorAll('.pair')].map((pair) => [...pair.children].map((child) => child.getBoundingClientRect()));
      return {
        width: document.documentElement.scrollWidth,
        screen: window.innerWidth,
        paper,
        ink,
        beside: columns.filter(([a, b]) => Math.abs(a.top - b.top) < 2 && b.left >= a.right).length,
        below: columns.filter(([a, b]) => b.top >= a.bottom).length,
      };
    })),
  };
  await context.close();
}
await browser.close();
console.log(JSON.stringify(seen));
