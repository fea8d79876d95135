// A browser without a window, with software GL, and the program's answers.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, statSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const viewer = dirname(dirname(fileURLToPath(import.meta.url)));
export const root = dirname(viewer);

/** The program: CATENA names it, else the newest build. */
export const catena =
  process.env.CATENA ?? ["release", "debug"]
    .map((profile) => join(root, "target", profile, "catena"))
    .filter(existsSync)
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]; // the one built last

const browsers = [process.env.CATENA_BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A folder that is removed when the process ends. */
export const folder = mkdtempSync(join(tmpdir(), "catena-viewer-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Runs the program in the folder. */
export function run(...words) {
  return execFileSync(catena, words, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
}

/** Serves a page; `kill` stops it, `complaints` are what the program said beside its address. A server that a failed test leaves behind ends with
 * the process of the tests, which does not wait for it. */
export function serve(...words) {
  const child = spawn(catena, ["view", "--no-open", ...words], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let complaints = "";
  child.stderr.on("data", (text) => (complaints += text));
  process.on("exit", () => child.kill());
  for (const handle of [child, child.stdout, child.stderr]) handle.unref();
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (text) => resolve({ url: String(text).split(/\s/)[0], kill: () => child.kill(), complaints: () => complaints }));
    child.once("exit", (code) => reject(new Error(`catena view ended with ${code}: ${complaints}`)));
  });
}

export function launch() {
  const executablePath = browsers.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no browser: install chromium, or name one in CATENA_BROWSER");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--enable-unsafe-swiftshader"] });
}

export const fileUrl = (name) => pathToFileURL(join(folder, name)).href;

/** Opens a page that is to show no error. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  await page.goto(url);
  await page.waitForFunction(() => window.catena?.ready, null, { timeout: 60_000 });
  return page;
}
