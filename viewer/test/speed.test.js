// Pictures per second in software GL, printed.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileUrl, folder, launch, open, run } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

for (const [bodies, least] of [[50, 15], [1000, 6]]) {
  // the limits are those of a busy machine with two cores; what was reached is printed
  test(`${bodies} bodies are drawn often enough`, async () => {
    run("simulate", `chain-${bodies}`, "--controller", "gravity", "--v", Array(bodies).fill(0.2).join(), "--duration", bodies > 100 ? "0.5" : "2",
      "--interval", "0.02", "--rtol", "1e-5", "--audit", "report", "-o", `chain${bodies}.parquet`);
    run("report", `chain${bodies}.parquet`);
    const size = statSync(join(folder, `chain${bodies}.html`)).size;
    assert.ok(size < 3_000_000, `${size} bytes`);
    const page = await open(browser, fileUrl(`chain${bodies}.html`), { viewport: { width: 1280, height: 800 } });
    await page.evaluate(() => catena.play());
    await page.waitForTimeout(2500);
    const rate = await page.evaluate(async () => {
      const [from, begun] = [catena.pictures(), performance.now()];
      await new Promise((resolve) => setTimeout(resolve, 3000));
      return ((catena.pictures() - from) * 1000) / (performance.now() - begun);
    });
    const sharpness = await page.evaluate(() => catena.sharpness());
    console.log(`${bodies} bodies: ${rate.toFixed(1)} pictures/s at ${sharpness.toFixed(2)} pixels per pixel, report ${size} bytes`);
    assert.ok(rate > least, `${rate} pictures per second`);
    await page.context().close();
  });
}
