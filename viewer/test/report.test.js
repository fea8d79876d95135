// A report in a browser, from disk and with the network off.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileUrl, folder, launch, open, run } from "./browser.js";

let browser;

before(async () => {
  run("simulate", "stanford", "--controller", "pd", "--q", "0.3,1,0.5,0.2,0.4,0.1", "--to", "1,0.4,0.8,1,0.5,2", "--stiffness", "200",
    "--damping", "40", "--duration", "3", "--audit", "report", "-o", "arm.csv");
  run("report", "arm.csv");
  browser = await launch();
});

after(() => browser?.close());

test("a report opens from disk with the network off, and plays", async () => {
  const page = await open(browser, fileUrl("arm.html"), { offline: true });
  assert.ok(statSync(join(folder, "arm.html")).size < 3_000_000);
  assert.equal(await page.title(), "arm.csv · catena");
  assert.match(await page.textContent(".badge"), /✓ 2 laws kept/);
  const before = await page.evaluate(() => [catena.time(), catena.poses().join()]);
  await page.keyboard.press("Space");
  await page.waitForFunction((t) => catena.time() > t + 0.3, before[0]);
  await page.keyboard.press("Space");
  const after = await page.evaluate(() => [catena.time(), catena.poses().join()]);
  assert.notEqual(after[1], before[1]);
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => catena.time()), after[0], "it stands still when paused");
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

/** Projected mass centres of the engine against the middle of what is drawn. */
test("bodies are drawn where the engine says", async () => {
  const states = JSON.parse(run("evaluate", "stanford", "--state", "arm.csv", "--json"));
  const page = await open(browser, fileUrl("arm.html"));
  // in a parallel view the outline of an ellipsoid has its centre in the middle
  await page.evaluate(() => {
    catena.parallel(true);
    catena.floor(false);
    catena.show({ style: "ellipsoids", trails: false });
  });
  const clip = await page.locator(".canvas canvas").boundingBox();
  for (const row of [0, 120, 300]) {
    const t = row * 0.01;
    await page.evaluate((t) => catena.seek(t), t);
    for (const body of [1, 3, 6]) {
      const frame = states[row].frames.find((f) => f.name === `link${body}`);
      const centre = place(frame, linkOf(`link${body}`).centre);
      const wanted = await page.evaluate((p) => catena.project(p), centre);
      const found = await middle(page, body);
      const distance = Math.hypot(found[0] + clip.x - wanted[0], found[1] + clip.y - wanted[1]);
      assert.ok(distance < 1.0, `link${body} at ${t} s is drawn ${distance.toFixed(2)} pixels off`);
      await page.evaluate(() => catena.isolate(null));
    }
  }
  await page.context().close();
});

/** The mass centre of a link of the Stanford arm, as the run tells it. */
function linkOf(name) {
  const line = readFileSync(join(folder, "arm.csv"), "utf8").split("\n").find((l) => l.startsWith("# metadata: "));
  return JSON.parse(line.slice(12)).model.link.find((l) => l.name === name);
}

/** A point of a frame in the world. */
function place({ position, quaternion: [w, x, y, z] }, p) {
  const t = [y * p[2] - z * p[1], z * p[0] - x * p[2], x * p[1] - y * p[0]].map((c) => 2 * c);
  const turned = [
    p[0] + w * t[0] + y * t[2] - z * t[1],
    p[1] + w * t[1] + z * t[0] - x * t[2],
    p[2] + w * t[2] + x * t[1] - y * t[0],
  ];
  return turned.map((c, k) => c + position[k]);
}

/** The middle of all pixels of a body that is drawn alone, in pixels of the canvas on the page. */
function middle(page, body) {
  return page.evaluate((body) => {
    catena.isolate(body);
    const canvas = document.querySelector(".canvas canvas");
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    const pen = copy.getContext("2d");
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    let [x, y, sum] = [0, 0, 0];
    for (let k = 0; k < data.length; k += 4) {
      const weight = data[k + 3];
      sum += weight;
      x += weight * ((k / 4) % copy.width + 0.5);
      y += weight * (Math.floor(k / 4 / copy.width) + 0.5);
    }
    const scale = canvas.clientWidth / canvas.width;
    return sum ? [(x / sum) * scale, (y / sum) * scale] : [NaN, NaN];
  }, body);
}

test("the cursor of the plots follows the time, and a plot moves the time", async () => {
  const page = await open(browser, fileUrl("arm.html"));
  const cursor = () => page.locator(".now").first().evaluate((line) => line.getBoundingClientRect().left);
  const over = await page.locator(".u-over").first().boundingBox();
  await page.evaluate(() => catena.seek(0));
  const start = await cursor();
  await page.evaluate(() => catena.seek(3));
  const end = await cursor();
  assert.ok(Math.abs(end - start - over.width) < 3, `${start} ${end} ${over.width}`);
  await page.mouse.click(over.x + over.width / 2, over.y + over.height / 2);
  const t = await page.evaluate(() => catena.time());
  assert.ok(Math.abs(t - 1.5) < 0.02, String(t));
  const slider = await page.locator("input.time").inputValue();
  assert.ok(Math.abs(Number(slider) - t) < 1e-9);
  // the number in the legend is the run's
  const rows = readFileSync(join(folder, "arm.csv"), "utf8").split("\n").filter((l) => /^\d/.test(l));
  await page.evaluate(() => catena.seek(2));
  const shown = await page.locator(".legend .value").first().textContent();
  assert.ok(Math.abs(Number(shown.replaceAll("−", "-")) - Number(rows[200].split(",")[1])) < 1e-3, shown);
  await page.context().close();
});

test("a click picks the body under it", async () => {
  const page = await open(browser, fileUrl("arm.html"));
  await page.evaluate(() => catena.seek(1));
  const poses = await page.evaluate(() => catena.poses());
  for (const body of [3, 1]) {
    const frame = { position: poses.slice(7 * body, 7 * body + 3), quaternion: poses.slice(7 * body + 3, 7 * body + 7) };
    // a point of the ellipsoid that no other body covers
    const spots = [[0, 0, 0.45], [0, 0, -0.45], [0, 0.05, 0], [0, 0, 0]].map((p) => place(frame, p));
    let hit = 0;
    for (const spot of spots) {
      const [x, y] = await page.evaluate((p) => catena.project(p), spot);
      await page.mouse.click(x, y);
      hit = await page.evaluate(() => catena.chosen());
      if (hit === body) break;
    }
    assert.equal(hit, body);
    assert.equal(await page.textContent(".body-data h2"), `link${body}`);
    assert.match(await page.textContent(".body-data"), body === 3 ? /4 kg/ : /9 kg/);
  }
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => catena.chosen()), 0);
  await page.keyboard.press("n");
  assert.equal(await page.evaluate(() => catena.chosen()), 1, "bodies can be chosen by keys");
  await page.context().close();
});

test("names of a run are text, whatever they contain", async () => {
  const hostile = `<img src=x onerror="document.title='owned'"></script><script>document.title='owned'</script>`;
  const model = JSON.parse(run("convert", "planar3", "--json"));
  model.name = hostile;
  model.link[0].name = hostile;
  for (const joint of model.joint) {
    if (joint.child === "link1") joint.child = hostile;
    if (joint.parent === "link1") joint.parent = hostile;
  }
  writeFileSync(join(folder, "hostile.json"), JSON.stringify(model).replaceAll('"link1"', JSON.stringify(hostile)));
  run("simulate", "hostile.json", "--duration", "0.2", "-o", "hostile.csv");
  run("report", "hostile.csv");
  const page = await open(browser, fileUrl("hostile.html"));
  for (const tab of ["Bodies", "Audit", "Model", "Matrices"]) await page.evaluate((name) => catena.tab(name), tab);
  await page.evaluate(() => catena.choose(1));
  await page.waitForTimeout(200);
  assert.equal(await page.title(), "hostile.csv · catena");
  assert.equal(await page.locator("img").count(), 0);
  assert.ok((await page.textContent(".body-data h2")).includes("<img"));
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("a phone shows the stage above the panels, without sideways scrolling", async () => {
  const page = await open(browser, fileUrl("arm.html"), { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  const stage = await page.locator(".stage").boundingBox();
  const side = await page.locator(".side").boundingBox();
  assert.ok(stage.y + stage.height <= side.y + 1);
  assert.ok(stage.width >= 380 && stage.height > 200);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await page.context().close();
});

test("dark and light, and keys without a mouse", async () => {
  const page = await open(browser, fileUrl("arm.html"), { colorScheme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.querySelector("header")).backgroundColor);
  const dark = await ground();
  await page.keyboard.press("d");
  assert.notEqual(await ground(), dark);
  await page.keyboard.press("End");
  assert.equal(await page.evaluate(() => catena.time()), 3);
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const t = await page.evaluate(() => catena.time());
  assert.ok(t > 0.005 && t < 0.02, String(t));
  // the view turns and tilts by keys, and comes back
  const corner = () => page.evaluate(() => catena.project([0.5, 0.3, 0.4]));
  const [x0, y0] = await corner();
  await page.keyboard.press("]");
  const [x1] = await corner();
  assert.ok(Math.abs(x1 - x0) > 3, `${x0} ${x1}`);
  await page.keyboard.press("[");
  await page.keyboard.press("PageUp");
  assert.ok(Math.abs((await corner())[1] - y0) > 1);
  await page.keyboard.press("PageDown");
  const back = await corner();
  assert.ok(Math.hypot(back[0] - x0, back[1] - y0) < 0.01, `${back}`);
  // from one tab to the next by arrow keys
  await page.locator("#tab-0").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("#tab-1").getAttribute("aria-selected"), "true");
  await page.context().close();
});

test("loops are marked and their opening is drawn", async () => {
  run("simulate", "four-bar-1", "--q", "70deg,-70deg,70deg", "--duration", "1", "-o", "bars.parquet");
  run("report", "bars.parquet");
  const page = await open(browser, fileUrl("bars.html"));
  assert.ok((await page.locator(".plot h3").allTextContents()).some((text) => text.includes("opening of the loops")));
  await page.evaluate(() => catena.tab("Model"));
  assert.match(await page.locator("[role=tabpanel]:visible").textContent(), /Constraints/);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("two runs lie over each other", async () => {
  run("simulate", "planar3", "--q", "0.3,0.2,0.1", "--gravity", "0,-9.81,0", "--duration", "1", "-o", "one.csv");
  run("simulate", "planar3", "--q", "0.4,0.2,0.1", "--gravity", "0,-9.81,0", "--duration", "1", "-o", "two.csv");
  run("report", "one.csv", "two.csv", "-o", "both.html");
  const page = await open(browser, fileUrl("both.html"));
  assert.deepEqual(await page.locator(".names li").allTextContents(), ["one.csv", "two.csv"]);
  assert.match(await page.locator(".legend").first().textContent(), /two\.csv/);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});
