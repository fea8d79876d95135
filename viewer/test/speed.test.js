// How fast pictures are drawn in software GL: printed.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileUrl, folder, launch, open, run } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** Draw calls of a picture, whatever the number of bodies: copies of a shape are one mesh. */
const MOST_CALLS = 40;

/** Bodies, and the milliseconds that a picture should take on a machine of its own: 60 and 20 pictures a second. */
const ASKED = [
  [50, 1000 / 60],
  [1000, 1000 / 20],
];

for (const [bodies, asked] of ASKED) {
  // The rate depends on what else the machine does: the best of some windows is printed. A wrong way of drawing shows in the draw calls.
  test(`${bodies} bodies are drawn again and again`, async () => {
    run("simulate", `chain-${bodies}`, "--controller", "gravity", "--v", Array(bodies).fill(0.2).join(), "--duration", bodies > 100 ? "0.1" : "2",
      "--interval", bodies > 100 ? "0.004" : "0.02", "--rtol", "1e-5", "--audit", "report", "-o", `chain${bodies}.parquet`);
    run("report", `chain${bodies}.parquet`);
    const size = statSync(join(folder, `chain${bodies}.html`)).size;
    assert.ok(size < 3_000_000, `${size} bytes`);
    const page = await open(browser, fileUrl(`chain${bodies}.html`), { viewport: { width: 1280, height: 800 } });
    const cost = Math.min(...(await page.evaluate(() => [1, 2, 3].map(() => catena.cost(20)))));
    await page.evaluate(() => catena.play());
    await page.waitForTimeout(700);
    const rates = await page.evaluate(async () => {
      const rates = [];
      for (let window = 0; window < 6; window++) {
        const [from, begun] = [catena.pictures(), performance.now()];
        await new Promise((resolve) => setTimeout(resolve, 600));
        rates.push(((catena.pictures() - from) * 1000) / (performance.now() - begun));
      }
      return rates;
    });
    const sharpness = await page.evaluate(() => catena.sharpness());
    console.log(
      `${bodies} bodies: ${Math.max(...rates).toFixed(1)} pictures/s at best, ${Math.min(...rates).toFixed(1)} at worst, ` +
        `${cost.toFixed(1)} ms each (asked: ${asked.toFixed(1)}), ${sharpness.toFixed(2)} pixels per pixel, report ${size} bytes`,
    );
    assert.ok(Math.max(...rates) > 0, `${rates} pictures per second`);
    const calls = await page.evaluate(() => catena.drawCalls());
    assert.ok(calls > 0 && calls <= MOST_CALLS, `${calls} draw calls`);
    await page.context().close();
  });
}
