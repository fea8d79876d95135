// Pictures for papers: the stage alone, every wanted instant as a PNG in the document.

import { colour, h, short } from "./page";
import type { Render, Scene } from "./scene";
import { Stage } from "./stage";

export function renderAll(app: HTMLElement, scene: Scene, wanted: Render) {
  const { width, height } = wanted;
  document.documentElement.dataset.theme = wanted.dark ? "dark" : "light";
  document.body.className = "render";
  const holder = h("div");
  holder.style.width = `${width}px`;
  holder.style.height = `${height}px`;
  app.replaceChildren(holder);
  const stage = new Stage(holder, scene, "fine");
  stage.sharpness = 1;
  stage.look(wanted.view);
  const paper = h("canvas", { width, height });
  const pen = paper.getContext("2d")!;
  const pictures = h("div");
  for (const t of wanted.times) {
    stage.moveTo(t);
    stage.render();
    // one colour: movies in GIF have no room for more
    pen.fillStyle = colour("--sky");
    pen.fillRect(0, 0, width, height);
    pen.drawImage(stage.canvas, 0, 0, width, height);
    if (wanted.clock) {
      pen.fillStyle = colour("--soft");
      pen.font = `${Math.max(12, Math.round(height / 32))}px system-ui, "DejaVu Sans", sans-serif`;
      pen.fillText(`t = ${t.toFixed(2)} s`, 0.02 * width, height - 0.03 * height);
    }
    pictures.append(h("i", { class: "picture" }, paper.toDataURL("image/png")));
  }
  app.replaceChildren(pictures);
  document.title = `${short(wanted.times.length)} pictures`;
}
