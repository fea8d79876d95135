// The pictures of docs/viewer.md and of the README: `npm run screenshots`.

import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileUrl, folder, launch, open, root, run, serve } from "./browser.js";

const target = join(root, "docs/viewer");
mkdirSync(target, { recursive: true });
const browser = await launch();

async function shot(name, url, prepare, options = {}) {
  const page = await open(browser, `${url}#fine`, { viewport: { width: 1200, height: 720 }, ...options });
  await prepare(page);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(target, `${name}.png`) });
  await page.context().close();
  console.log(`docs/viewer/${name}.png`);
}

run("simulate", "stanford", "--controller", "computed-torque", "--q", "-0.4,2.3,0.4,0.2,0.4,0.1", "--to", "1.3,0.9,0.9,1.6,1.0,2",
  "--stiffness", "60", "--damping", "12", "--duration", "3", "--audit", "report", "-o", "arm.csv");
run("report", "arm.csv");
await shot("report", fileUrl("arm.html"), (page) => page.evaluate(() => catena.seek(2.1)));
await shot("phone", fileUrl("arm.html"), (page) => page.evaluate(() => catena.seek(2.1)), { viewport: { width: 390, height: 780 } });

const server = await serve("stanford");
await shot("model", server.url, async (page) => {
  await page.waitForSelector(".effort[data-value]");
  for (const [k, value] of [0.5, 1.1, 0.7, 0.4, 0.8, 0.3].entries()) {
    await page.locator(`#freedom-${k}`).evaluate((input, value) => {
      input.value = value;
      input.dispatchEvent(new Event("input"));
    }, String(value));
  }
  await page.waitForSelector(".findings .good");
  await page.evaluate(() => catena.show({ axes: true }));
});
server.kill();

const live = await serve("pendulum-5", "--live");
await shot("live", live.url, async (page) => {
  await page.waitForFunction(() => document.querySelector("[role=status]").textContent === "paused");
  await page.evaluate(() => catena.zoom(1.6));
  const [x, y] = await page.evaluate(() => catena.project(catena.poses().slice(35, 38)));
  await page.keyboard.down("Shift");
  await page.mouse.move(x, y + 4);
  await page.mouse.down();
  await page.mouse.move(x + 180, y - 160, { steps: 5 });
  for (let step = 1; step <= 40; step++) {
    await page.getByRole("button", { name: "Step 20 ms" }).evaluate((button) => button.click());
    await page.waitForFunction((t) => Math.abs(catena.time() - t) < 1e-6, 0.02 * step);
  }
});
live.kill();

run("simulate", "four-bar-3", "--random", "1", "--duration", "4", "--audit", "report", "-o", "bars.parquet");
run("report", "bars.parquet");
await shot("loops", fileUrl("bars.html"), (page) => page.evaluate(() => catena.seek(0.45)), { colorScheme: "dark" });

run("simulate", "zoo", "--random", "1", "--duration", "1", "--audit", "report", "-o", "zoo.csv");
run("report", "zoo.csv");
await shot("matrices", fileUrl("zoo.html"), async (page) => {
  await page.evaluate(() => catena.tab("Matrices"));
  await page.locator("canvas.matrix").first().hover({ position: { x: 60, y: 60 } });
});

run("simulate", "pendulum-5", "--random", "3", "--duration", "3", "-o", "pendulum.csv");
run("render", "pendulum.csv", "-o", "pendulum.gif", "--size", "360x270", "--rate", "12");
copyFileSync(join(folder, "pendulum.gif"), join(target, "pendulum.gif"));
await browser.close();
