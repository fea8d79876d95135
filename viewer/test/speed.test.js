// Pictures per second in software GL, printed.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileUrl, folder, launch, open, run } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

for (const bodies of [50, 1000]) {
  // how often depends on the machine: the rate is printed, and only that pictures follow each other is tested
  test(`${bodies} bodies are drawn again and again`, async () => {
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
    assert.ok(rate > 0, `${rate} pictures per second`);
    await page.context().close();
  });
}
