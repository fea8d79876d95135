// The manual as a book: a search finds the page that a reader looks for, and opens it.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, root } from "./browser.js";

const hasMdbook = spawnSync("mdbook", ["--version"]).status === 0;
const skip = hasMdbook ? false : "skipped: mdBook is not installed; cargo install mdbook --locked --version 0.5.4";

let browser;
before(async () => {
  if (!hasMdbook) return;
  execFileSync(join(root, "docs", "build"), { stdio: ["ignore", "ignore", "inherit"] });
  browser = await launch();
});
after(() => browser?.close());

/** The results of a search, as a reader who types on the page sees them. */
async function results(page, words) {
  await page.goto(pathToFileURL(join(root, "target", "book", "index.html")).href);
  await page.locator("#mdbook-search-toggle, #search-toggle").first().click();
  const bar = page.locator("#mdbook-searchbar, #searchbar").first();
  await bar.waitFor({ state: "visible" });
  await bar.pressSequentially(words);
  const links = page.locator("#mdbook-searchresults a, #searchresults a");
  await links.first().waitFor({ timeout: 30_000 });
  return links;
}

for (const [words, file, heading] of [
  ["inverse kinematics", "how-to/inverse-kinematics.html", "Inverse kinematics"],
  ["microcontroller", "tutorials/microcontroller.html", "From equations to a microcontroller"],
  ["Chaplygin", "how-to/rolling.html", "Rolling"],
  ["triangle inequality", "model-format.html", "Model files"],
]) {
  test(`a search for ${words}`, { skip }, async () => {
    const page = await browser.newPage();
    const links = await results(page, words);
    const found = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    const place = found.findIndex((link) => link.split(/[?#]/)[0].endsWith(file));
    assert.notEqual(place, -1, `${file} is not among ${found.join(", ")}`);
    await links.nth(place).click();
    await page.waitForURL((url) => url.pathname.endsWith(file));
    assert.equal((await page.locator("main h1").first().textContent()).trim(), heading);
    await page.close();
  });
}

test("a word that no page has", { skip }, async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(root, "target", "book", "index.html")).href);
  await page.locator("#mdbook-search-toggle, #search-toggle").first().click();
  await page.locator("#mdbook-searchbar, #searchbar").first().pressSequentially("qqxqqzz");
  await page.getByText("No search results for 'qqxqqzz'").waitFor({ timeout: 30_000 });
  await page.close();
});
