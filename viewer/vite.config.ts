// Builds the page as one file with script and style inside: crates/catena-view/assets/viewer.html.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** The licences of the libraries that the page carries, as a comment: they ask to be kept with every copy. */
const licences = ["three", "uplot"]
  .map((name) => `${name}: ${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`)
  .join("\n\n")
  .replaceAll("--", "- -");

/** Puts the only script and the only style sheet into the page, and lets no other script run. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += item.code;
        else if (name.endsWith(".css")) style += String(item.source);
        else continue;
        delete bundle[name];
      }
      const page = Object.values(bundle).find((item) => item.fileName.endsWith(".html"));
      if (!page || page.type !== "asset") throw new Error("the page is missing");
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const hash = createHash("sha256").update(script).digest("base64");
      const policy =
        `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; ` +
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";
      page.source = String(page.source)
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
        .replace(/\s*<script[^>]*src=[^>]*><\/script>/g, "")
        .replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace("<!--style-->", () => `<style>${style.trim()}</style>`)
        .replace("<!--script-->", () => `<script>${script}</script>\n    <!-- ${licences} -->`);
      page.fileName = "viewer.html";
    },
  };
}

export default defineConfig({
  base: "./",
  logLevel: "warn",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    outDir: process.env.CATENA_VIEWER_OUT ?? "../crates/catena-view/assets",
    emptyOutDir: false,
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1_000_000,
    chunkSizeWarningLimit: 1000,
    rollupOptions: { output: { format: "iife" } },
  },
});
