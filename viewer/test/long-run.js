// How long a run of an hour at 1 kHz, 3.6 million rows, takes to open: `npm run long-run`, or `npm run long-run -- RUN` for one that is there.

import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { catena, folder, launch, run } from "./browser.js";

const given = process.argv[2];
const file = given ? resolve(given) : join(folder, "hour.parquet");
if (!given) {
  console.log("simulating an hour …");
  run("simulate", "planar3", "--q", "0.3,0.2,0.1", "--gravity", "0,-9.81,0", "--duration", "3600", "--interval", "0.001", "-o", "hour.parquet");
}
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
const times = [];
let rows = 0;
for (let attempt = 0; attempt < 3; attempt++) {
  const begun = performance.now();
  const child = spawn(catena, ["view", "--no-open", file], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((done) => child.stdout.once("data", (text) => done(String(text).split(/\s/)[0])));
  const served = performance.now();
  await page.goto(url);
  await page.waitForFunction(() => window.catena?.ready, null, { polling: 10 });
  const ready = performance.now();
  rows = await page.evaluate(() => catena.rows());
  const [user, system] = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(" ").slice(13, 15).map(Number);
  child.kill();
  times.push(ready - begun);
  console.log(`served after ${Math.round(served - begun)} ms, drawn after ${Math.round(ready - begun)} ms; processor time of catena ${10 * (user + system)} ms`);
}
await browser.close();
console.log(`${file}: ${rows} rows, ${(statSync(file).size / 1e6).toFixed(0)} MB, opened in ${(Math.min(...times) / 1000).toFixed(2)} s at best (asked: 3)`);
process.exitCode = Math.min(...times) < 3000 ? 0 : 1;
