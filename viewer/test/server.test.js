// A served page: sliders, matrices, live runs, and strangers.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folder, launch, open, root, run, serve } from "./browser.js";

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
  // the matrices of the start stay on the page until the answer is there
  const compute = page.getByRole("button", { name: "Compute at this instant" });
  await compute.click();
  await page.waitForFunction((button) => !button.disabled, await compute.elementHandle());
  const matrix = page.locator("canvas.matrix").first();
  await matrix.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  const [{ inertia }] = JSON.parse(run("evaluate", "stanford", "--q", q.join(), "--json"));
  const entry = (await page.locator(".entry").first().textContent()).split(": ")[1];
  assert.ok(Math.abs(Number(entry.replaceAll("−", "-")) - inertia[0][0]) < 1e-5 * Math.abs(inertia[0][0]), entry);
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

test("a long run is thinned out by the server, and keeps its peaks", async () => {
  run("simulate", "planar3", "--q", "1,0.5,0.3", "--gravity", "0,-9.81,0", "--duration", "40", "--interval", "0.001", "--rtol", "1e-6",
    "--audit", "report", "-o", "long.parquet");
  run("simulate", "planar3", "--q", "1,0.5,0.3", "--gravity", "0,-9.81,0", "--duration", "40", "--interval", "0.001", "--rtol", "1e-6",
    "--audit", "report", "-o", "long.csv");
  const server = await serve("long.parquet");
  const { motion } = (await (await fetch(server.url + "scene.json")).json()).subjects[0];
  assert.equal(motion.rows, 40_001);
  assert.ok(motion.frames <= 20_000);
  const numbers = ({ values, bits }) => {
    const bytes = Buffer.from(values, "base64");
    return bits === 64 ? new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8) : new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  };
  const lines = readFileSync(join(folder, "long.csv"), "utf8").split("\n").filter((line) => line && !line.startsWith("#"));
  const names = lines[0].split(",");
  for (const name of ["kinetic", "v.joint3"]) {
    const column = motion.columns.find((c) => c.name === name);
    const thin = numbers(column);
    assert.ok(thin.length <= 6000, `${thin.length} points`);
    const k = names.findIndex((n) => n.startsWith(name));
    const all = lines.slice(1).map((line) => Number(line.split(",")[k]));
    const [low, high] = [Math.min(...all), Math.max(...all)];
    assert.ok(Math.abs(Math.max(...thin) - high) < 1e-6 * (high - low), name);
    assert.ok(Math.abs(Math.min(...thin) - low) < 1e-6 * (high - low), name);
  }
  const page = await open(browser, server.url);
  await page.evaluate(() => catena.tab("Audit"));
  assert.match(await page.locator("[role=tabpanel]:visible").textContent(), /40001, 20000 in the animation/);
  assert.deepEqual(page.errors, []);
  await page.context().close();
  server.kill();
});

test("shapes and meshes of MJCF and URDF files are drawn", async () => {
  const corners = Buffer.from(new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0]).buffer).toString("base64");
  writeFileSync(join(folder, "sail.gltf"), JSON.stringify({
    asset: { version: "2.0" }, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
    accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: "VEC3" }],
    bufferViews: [{ buffer: 0, byteLength: 36 }], buffers: [{ byteLength: 36, uri: `data:application/octet-stream;base64,${corners}` }],
  }));
  writeFileSync(join(folder, "boat.urdf"), `<robot name="boat"><link name="base"/><link name="mast"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="sail.gltf"/></geometry></visual>
    <visual><geometry><mesh filename="lost.stl"/></geometry></visual></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="mast"/><axis xyz="0 0 1"/></joint></robot>`);
  for (const [model, count] of [[join(root, "models/two_legs.xml"), 7], ["boat.urdf", 1]]) {
    const server = await serve(model);
    const page = await open(browser, server.url);
    assert.equal(await page.locator("#style").inputValue(), "visuals");
    assert.equal(await page.evaluate(() => catena.visuals()), count, model);
    if (count === 1) {
      // the middle of the triangle is under the pointer
      const [x, y] = await page.evaluate(() => (catena.look("top"), catena.project([0.3, 0.3, 0])));
      await page.mouse.click(x, y);
      assert.equal(await page.evaluate(() => catena.chosen()), 1);
      assert.match(server.complaints(), /lost\.stl does not exist/);
    }
    assert.deepEqual(page.errors, []);
    await page.context().close();
    server.kill();
  }
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
  // what cannot be done is said, and stays to be read
  await page.locator("#drive").selectOption("hold");
  await page.waitForFunction(() => /use the brakes/.test(document.querySelector("[role=status]").textContent));
  await page.waitForTimeout(200);
  assert.match(await page.locator("[role=status]").first().textContent(), /use the brakes/);
  // friction that no weight overcomes holds it
  await page.locator("#dry").fill("1");
  await page.locator("#viscous").fill("1");
  await page.keyboard.press("Escape");
  await page.evaluate(() => catena.play());
  await page.waitForFunction(() => {
    const energy = [...document.querySelectorAll(".facts dt")].find((dt) => dt.textContent === "kinetic").nextSibling.textContent;
    return Number(energy.split(" ")[0].replaceAll("−", "-")) < 1e-9;
  });
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
  // the same by keys
  await page.getByRole("button", { name: "Restart" }).click();
  await page.waitForFunction(() => catena.time() < 0.3);
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  assert.equal(await page.evaluate(() => catena.chosen()), 3);
  const [before] = await place();
  await page.locator("canvas").first().focus();
  await page.keyboard.down("Shift");
  await page.keyboard.down("ArrowRight");
  await page.waitForFunction((x) => catena.project(catena.poses().slice(21, 24))[0] > x + 15, before, { timeout: 20_000 });
  await page.keyboard.up("ArrowRight");
  await page.keyboard.up("Shift");
  assert.deepEqual(page.errors, []);
  await page.context().close();
  server.kill();
});
