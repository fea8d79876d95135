// A served page: sliders, matrices, live runs, and strangers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, run, serve } from "./browser.js";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

test("sliders move the model, and the efforts are the engine's gravity torques", async () => {
  const server = await serve("stanford");
  const page = await open(browser, server.url);
  await page.waitForSelector(".effort[data-value]");
  const before = await page.evaluate(() => catena.poses().join());
  const slide = (k, value) =>
    page.locator(`#freedom-${k}`).evaluate((input, value) => {
      input.value = value;
      input.dispatchEvent(new Event("input"));
    }, String(value));
  const q = [0.3, 1.1, 0.4, -0.5, 0.7, 0.2];
  for (const [k, value] of q.entries()) await slide(k, value);
  const [{ gravity }] = JSON.parse(run("evaluate", "stanford", "--q", q.join(), "--json"));
  await page.waitForFunction(
    (wanted) => {
      const shown = [...document.querySelectorAll(".effort")].map((e) => Number(e.dataset.value));
      return shown.length === wanted.length && shown.every((x, k) => Math.abs(x - wanted[k]) < 1e-6);
    },
    gravity,
  );
  assert.ok(gravity.some((x) => Math.abs(x) > 1));
  assert.notEqual(await page.evaluate(() => catena.poses().join()), before);
  await page.waitForSelector(".findings .good");
  await page.evaluate(() => catena.tab("Matrices"));
  await page.getByRole("button", { name: "Compute at this instant" }).click();
  const matrix = page.locator("canvas.matrix").first();
  await matrix.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  const [{ inertia }] = JSON.parse(run("evaluate", "stanford", "--q", q.join(), "--json"));
  const entry = (await page.locator(".entry").first().textContent()).split(": ")[1];
  assert.ok(Math.abs(Number(entry.replace("−", "-")) - inertia[0][0]) < 1e-5 * Math.abs(inertia[0][0]), entry);
  assert.deepEqual(page.errors, []);
  await page.context().close();
  server.kill();
});

test("a slider of a closed chain takes the loop along", async () => {
  const server = await serve("four-bar-1");
  const page = await open(browser, server.url);
  await page.waitForSelector(".effort[data-value]");
  await page.locator("#freedom-0").evaluate((input) => {
    input.value = "1.1";
    input.dispatchEvent(new Event("input"));
  });
  await page.waitForFunction(() => /loops open by (0|[\d.]+e−1\d)/.test(document.querySelector("[role=status]").textContent));
  assert.ok(Math.abs(Number(await page.locator("#freedom-0").inputValue()) - 1.1) < 1e-6);
  await page.context().close();
  server.kill();
});

test("a page of another site gets nothing", async () => {
  const server = await serve("planar3");
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto("data:text/html,<title>stranger</title>");
  const answers = await page.evaluate(async (url) => {
    const attempt = (path, options) => fetch(url + path, options).then((r) => r.text(), () => "refused");
    const socket = new Promise((resolve) => {
      const s = new WebSocket(url.replace("http", "ws") + "live");
      s.onopen = () => resolve("open");
      s.onerror = () => resolve("refused");
    });
    return [await attempt("scene.json"), await attempt("pose", { method: "POST", body: '{"q":[0,0,0]}' }), await socket];
  }, server.url);
  assert.deepEqual(answers, ["refused", "refused", "refused"]);
  const rebound = await fetch(server.url + "scene.json", { headers: { origin: "http://evil.example" } });
  assert.equal(rebound.status, 403);
  assert.equal((await fetch(server.url + "Cargo.toml")).status, 404);
  await context.close();
  server.kill();
});

test("a live run moves, pauses and steps", async () => {
  const server = await serve("pendulum-3", "--live", "--random", "2");
  const page = await open(browser, server.url);
  await page.waitForFunction(() => document.querySelector("[role=status]").textContent === "paused");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => catena.time() > 0.3);
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelector("[role=status]").textContent === "paused");
  const paused = await page.evaluate(() => catena.time());
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => catena.time()), paused);
  await page.getByRole("button", { name: "Step 20 ms" }).click();
  await page.waitForFunction((t) => Math.abs(catena.time() - t - 0.02) < 1e-6, paused);
  assert.deepEqual(page.errors, []);
  await page.context().close();
  server.kill();
});

test("Shift and the pointer pull a body along", async () => {
  const server = await serve("pendulum-3", "--live");
  const page = await open(browser, server.url);
  await page.waitForFunction(() => document.querySelector("[role=status]").textContent === "paused");
  await page.locator("#gravity").fill("0");
  // the mass centre of the last rod, half of its length below its joint
  const place = () =>
    page.evaluate(() => {
      const [x, y, z] = catena.poses().slice(21, 24);
      return catena.project([x, y, z]);
    });
  await page.evaluate(() => catena.play());
  const [x, y] = await place();
  await page.keyboard.down("Shift");
  await page.mouse.move(x, y + 3);
  await page.mouse.down();
  await page.mouse.move(x + 120, y - 60, { steps: 4 });
  await page.waitForFunction(
    ([x]) => {
      const [px, py, pz] = catena.poses().slice(21, 24);
      return catena.project([px, py, pz])[0] > x + 25;
    },
    [x],
    { timeout: 20_000 },
  );
  await page.mouse.up();
  await page.keyboard.up("Shift");
  assert.deepEqual(page.errors, []);
  await page.context().close();
  server.kill();
});
