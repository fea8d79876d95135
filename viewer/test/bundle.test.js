// The committed bundle is what the sources make.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, root, viewer } from "./browser.js";

test("the sources make the committed bundle, byte for byte", () => {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit"], { cwd: viewer, stdio: "inherit" });
  execFileSync(process.execPath, ["node_modules/vite/bin/vite.js", "build"], {
    cwd: viewer,
    env: { ...process.env, CATENA_VIEWER_OUT: folder },
    stdio: "inherit",
  });
  const made = readFileSync(join(folder, "viewer.html"));
  const committed = readFileSync(join(root, "crates/catena-view/assets/viewer.html"));
  assert.ok(made.equals(committed), "run `npm run build` in viewer/ and commit the bundle");
  assert.ok(made.length < 1_000_000, `${made.length} bytes`);
  console.log(`bundle: ${made.length} bytes`);
});
