// Pictures and movies: `catena render`.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { catena, folder, launch, run } from "./browser.js";

let browser;

before(async () => {
  run("simulate", "planar3", "--q", "1,0.5,0.3", "--gravity", "0,-9.81,0", "--duration", "1", "-o", "swing.csv");
  browser = await launch();
});

after(() => browser?.close());

/** Is a program there? */
const has = (name) => spawnSync(name, ["-version"], { stdio: "ignore" }).status === 0;

/** What a browser sees of a picture or movie. */
async function seen(name) {
  const page = await browser.newPage();
  // inside of the page: pixels of another file are not to be read
  const kind = { mp4: "video/mp4", gif: "image/gif", png: "image/png" }[name.split(".")[1]];
  const address = `data:${kind};base64,${readFileSync(join(folder, name)).toString("base64")}`;
  await page.setContent(kind === "video/mp4" ? `<video muted preload="auto" src="${address}"></video>` : `<img src="${address}">`);
  const found = await page.evaluate(async () => {
    const video = document.querySelector("video");
    if (!video) {
      const { naturalWidth: width, naturalHeight: height } = document.querySelector("img");
      return { width, height };
    }
    if (video.readyState < 2) await new Promise((done) => video.addEventListener("loadeddata", done));
    const look = async (t) => {
      const there = new Promise((done) => video.addEventListener("seeked", done, { once: true }));
      video.currentTime = t;
      await there;
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
      const pen = canvas.getContext("2d");
      pen.drawImage(video, 0, 0);
      return Array.from(pen.getImageData(0, 0, canvas.width, canvas.height).data);
    };
    const [first, last] = [await look(0.01), await look(0.9)];
    const changed = first.filter((x, k) => Math.abs(x - last[k]) > 40).length;
    return { width: video.videoWidth, height: video.videoHeight, duration: video.duration, changed, brightest: Math.max(...first.slice(0, 4000)) };
  });
  await page.close();
  return found;
}

/** Bytes of a picture: red, green, blue, opacity of every pixel. */
async function pixels(name) {
  const page = await browser.newPage();
  await page.setContent(`<img src="data:image/png;base64,${readFileSync(join(folder, name)).toString("base64")}">`);
  const found = await page.evaluate(() => {
    const picture = document.querySelector("img");
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
    const pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    return Array.from(pen.getImageData(0, 0, canvas.width, canvas.height).data);
  });
  await page.close();
  return found;
}

test("the browser makes a movie that a browser plays", async () => {
  const { drawn_by } = JSON.parse(run("render", "swing.csv", "-o", "swing.mp4", "--size", "321x200", "--rate", "20", "--json"));
  assert.equal(drawn_by, "browser");
  const { width, height, duration, changed, brightest } = await seen("swing.mp4");
  assert.deepEqual([width, height], [322, 200], "sides are even");
  assert.ok(Math.abs(duration - 21 / 20) < 1e-3, `${duration} s`);
  assert.ok(changed > 500, "the mechanism moves");
  assert.ok(brightest > 230, "on a light ground");
  if (!has("ffprobe")) {
    console.log("skipped: ffprobe is not here to read the movie");
    return;
  }
  const told = execFileSync("ffprobe", ["-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames,r_frame_rate",
    "-of", "csv=p=0", join(folder, "swing.mp4")], { encoding: "utf8" });
  assert.equal(told.trim(), "h264,20/1,21");
});

test("without a browser ffmpeg makes the movie, and without either it is told what to install", async () => {
  if (has("ffmpeg")) {
    run("render", "swing.csv", "-o", "sticks.mp4", "--size", "320x200", "--rate", "20", "--with", "sticks");
    const { width, height, changed } = await seen("sticks.mp4");
    assert.deepEqual([width, height], [320, 200]);
    assert.ok(changed > 100);
  } else {
    console.log("skipped: ffmpeg is not here");
  }
  const bare = spawnSync(catena, ["render", "swing.csv", "-o", "none.mp4", "--rate", "5"], { cwd: folder, env: { PATH: "" }, encoding: "utf8" });
  assert.notEqual(bare.status, 0);
  assert.match(bare.stderr, /needs a browser that encodes H\.264, or ffmpeg/);
  assert.match(bare.stderr, /install chromium or ffmpeg/);
});

test("stills and GIF have the wanted size, view and colours", async () => {
  run("render", "swing.csv", "-o", "still.png", "--size", "300x180", "--at", "0.5");
  run("render", "swing.csv", "-o", "other.png", "--size", "300x180", "--at", "0.5", "--from", "1,-2,0.5", "--zoom", "1.5", "--dark");
  run("render", "swing.csv", "-o", "swing.gif", "--size", "200x120", "--rate", "5");
  assert.deepEqual(await seen("still.png"), { width: 300, height: 180 });
  assert.deepEqual(await seen("swing.gif"), { width: 200, height: 120 });
  const share = async (name) => (await pixels(name)).filter((x, k) => k % 4 < 3 && x > 200).length / (3 * 300 * 180);
  assert.ok((await share("still.png")) > 0.9, "light");
  assert.ok((await share("other.png")) < 0.1, "dark");
  const plain = spawnSync(catena, ["render", "swing.csv", "-o", "plain.png", "--view", "front"], { cwd: folder, env: { PATH: "" }, encoding: "utf8" });
  assert.equal(plain.status, 0, plain.stderr);
  assert.match(plain.stderr, /drawn as sticks/);
});
