// The inertia matrix and its factor as pictures: what is zero, what is large, and the number under the pointer.

import { colour, h, short } from "./page";
import type { Matrices, Subject } from "./scene";

/** A matrix as coloured cells. Arrow keys move from entry to entry. */
function picture(title: string, matrix: number[][], names: string[]): HTMLElement {
  const n = matrix.length;
  const side = Math.max(150, Math.min(300, 24 * n));
  const canvas = h("canvas", { width: 2 * side, height: 2 * side, tabindex: 0, role: "img", class: "matrix" });
  canvas.style.width = canvas.style.height = `${side}px`;
  const filled = matrix.flat().filter((x) => x !== 0).length;
  canvas.setAttribute("aria-label", `${title}: ${n} by ${n}, ${filled} entries that are not zero; arrow keys read them`);
  const output = h("output", { class: "entry", "aria-live": "polite" }, `${filled} of ${n * n} entries are not zero`);
  const sizes = matrix.flat().map(Math.abs).filter((x) => x > 0);
  const [low, high] = [Math.log10(Math.min(...sizes)), Math.log10(Math.max(...sizes))];
  const draw = (row = -1, column = -1) => {
    const pen = canvas.getContext("2d")!;
    pen.clearRect(0, 0, 2 * side, 2 * side);
    const cell = (2 * side) / n;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const x = matrix[i][j];
        pen.fillStyle = colour("--inset");
        if (x !== 0) {
          // small entries pale, large ones strong; blue is positive, orange negative
          const strength = high > low ? (Math.log10(Math.abs(x)) - low) / (high - low) : 1;
          pen.fillStyle = `rgb(${x > 0 ? "0 114 178" : "213 94 0"} / ${0.18 + 0.82 * Math.max(0, strength)})`;
        }
        const gap = cell > 8 ? 1.5 : 0;
        pen.fillRect(j * cell + gap / 2, i * cell + gap / 2, cell - gap, cell - gap);
      }
    }
    if (row >= 0) {
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 3;
      pen.strokeRect(column * cell, row * cell, cell, cell);
      output.textContent = `${names[row]} · ${names[column]}: ${short(matrix[row][column], 8)}`;
    }
  };
  let at: [number, number] = [0, 0];
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const index = (x: number, size: number) => Math.min(n - 1, Math.max(0, Math.floor((x / size) * n)));
    at = [index(event.clientY - box.top, box.height), index(event.clientX - box.left, box.width)];
    draw(...at);
  });
  canvas.addEventListener("keydown", (event) => {
    const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = step[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    at = [Math.min(n - 1, Math.max(0, at[0] + move[0])), Math.min(n - 1, Math.max(0, at[1] + move[1]))];
    draw(...at);
  });
  draw();
  const element = h("figure", { class: "matrix-figure" }, h("figcaption", {}, title), canvas, output);
  element.addEventListener("repaint", () => draw());
  return element;
}

/** The matrices panel. `ask` gets them for the present position, where there is a server; the caption says which position they belong to. */
export function matricesPanel(subject: Subject, ask: (() => Promise<Matrices>) | null): HTMLElement {
  const names = subject.model.freedoms.map((f) => f.name);
  const place = h("div", { class: "matrices" });
  const instant = h("span", {}, subject.motion ? "At the start of the run. " : "At the position that the page was opened with. ");
  const show = (matrices: Matrices) => {
    const spread = Math.max(...matrices.d) / Math.min(...matrices.d);
    const rows = matrices.d.map((d, k) => h("tr", {}, h("th", { scope: "row" }, names[k]), h("td", {}, short(d, 6))));
    place.replaceChildren(
      picture("Inertia matrix I", matrices.inertia, names),
      picture("Factor U of I = U D Uᵀ", matrices.u, names),
      h("details", { open: matrices.d.length <= 12 },
        h("summary", {}, `Pivots D, spread ${short(spread, 3)}`),
        h("table", { class: "numbers" }, h("tbody", {}, ...rows))),
    );
  };
  if (subject.matrices) show(subject.matrices);
  else place.append(h("p", { class: "soft" }, `The matrices of ${names.length} freedoms are not part of this page.`));
  const panel = h("div", {},
    h("p", { class: "soft" }, instant, "Zero entries are left empty: different branches of a tree are decoupled."),
    place);
  if (ask) {
    const button = h("button", {
      onclick: async () => {
        button.disabled = true;
        try {
          show(await ask());
          instant.textContent = "At the position shown when the button was last pressed. ";
        } catch (error) {
          place.replaceChildren(h("p", { class: "bad" }, String(error)));
        }
        button.disabled = false;
      },
    }, "Compute at this instant");
    panel.prepend(button);
  }
  return panel;
}
