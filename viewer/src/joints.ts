// Sliders for the joints of a model: the engine answers with poses, holding efforts and findings.

import { h, short } from "./page";
import { askFindings, askPosture, type Posture } from "./server";
import type { Freedom, Subject } from "./scene";
import { findingsList } from "./panels";

/** A coordinate that a slider moves: a position, or a turn about an axis where the joint has a quaternion. */
interface Slider {
  freedom: number;
  input: HTMLInputElement;
  value: HTMLOutputElement;
  effort: HTMLOutputElement;
  bar: HTMLElement;
}

export class JointsPanel {
  readonly element = h("div");
  /** Positions now. */
  q: number[];
  private readonly sliders: Slider[] = [];
  private readonly state = h("p", { class: "soft", role: "status" });
  private readonly findings = h("div");
  private asking = false;
  private wanted: { held: number | null } | null = null;
  private timer = 0;

  constructor(private readonly subject: Subject, private readonly show: (posture: Posture) => void) {
    const { model } = subject;
    this.q = [...(subject.state?.q ?? [])];
    const table = h("div", { class: "sliders" });
    const MOST = 60;
    // what all names begin with tells nothing
    const common = commonBegin(model.freedoms.map((f) => f.name));
    model.freedoms.slice(0, MOST).forEach((freedom, k) => table.append(this.slider(freedom, k, freedom.name.slice(common))));
    this.element.append(
      h("p", { class: "soft" }, "Move a joint; the engine computes poses and the efforts that hold the weight."),
      h("div", { class: "row" }, h("button", { onclick: () => this.reset() }, "Reset"),
        h("button", { onclick: () => this.random() }, "Random position")),
      table,
      model.freedoms.length > MOST ? h("p", { class: "soft" }, `… and ${model.freedoms.length - MOST} more freedoms`) : "",
      this.state, h("h3", {}, "Doctor"), this.findings);
    this.ask(null);
  }

  private slider(freedom: Freedom, k: number, name: string): HTMLElement {
    const reach = Math.max(freedom.turns ? Math.PI : 1, 2 * Math.abs(this.get(k)));
    let [low, high] = freedom.limits ?? [-reach, reach];
    low = Math.max(low, -4 * reach);
    high = Math.min(high, 4 * reach);
    const input = h("input", { type: "range", min: low, max: high, step: "any", id: `freedom-${k}`, value: this.get(k) });
    const value = h("output", { for: `freedom-${k}` });
    const effort = h("output", { class: "effort" });
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    const slider = { freedom: k, input, value, effort, bar };
    this.sliders.push(slider);
    input.addEventListener("input", () => {
      this.set(k, Number(input.value));
      this.ask(k);
    });
    return h("div", { class: "slider" },
      h("label", { for: `freedom-${k}`, title: freedom.name }, name), input, value, h("span", { class: "effort-cell" }, bar, effort));
  }

  /** Where the quaternion of a freedom begins in q, and which of its three turns the freedom is. */
  private quaternionOf(k: number): [number, number] {
    const { bodies, freedoms } = this.subject.model;
    const body = bodies[freedoms[k].body];
    return [body.q![1] - 4, k - (body.v![1] - 3)];
  }

  /** The position of a freedom: its coordinate, or a component of the rotation vector. */
  private get(k: number): number {
    const { q } = this.subject.model.freedoms[k];
    return q === null ? this.turn(k)[this.quaternionOf(k)[1]] : this.q[q];
  }

  private turn(k: number): number[] {
    const [at] = this.quaternionOf(k);
    const [w, x, y, z] = this.q.slice(at, at + 4);
    const size = Math.hypot(x, y, z);
    const angle = 2 * Math.atan2(size, w);
    return [x, y, z].map((c) => (size > 0 ? (c / size) * angle : 0));
  }

  private set(k: number, value: number) {
    const { q } = this.subject.model.freedoms[k];
    if (q !== null) {
      this.q[q] = value;
      return;
    }
    const [at, axis] = this.quaternionOf(k);
    const turn = this.turn(k);
    turn[axis] = value;
    const angle = Math.hypot(...turn);
    const s = angle > 0 ? Math.sin(angle / 2) / angle : 0.5;
    this.q.splice(at, 4, Math.cos(angle / 2), ...turn.map((c) => c * s));
  }

  private reset() {
    this.q = [...(this.subject.state?.q ?? [])];
    this.ask(null);
  }

  private random() {
    this.sliders.forEach(({ freedom, input }) => {
      const [low, high] = [Number(input.min), Number(input.max)];
      this.set(freedom, low + (high - low) * (0.25 + 0.5 * Math.random()));
    });
    this.ask(null);
  }

  /** Asks the engine; while it answers, only the latest question waits. */
  private async ask(held: number | null) {
    this.wanted = { held };
    if (this.asking) return;
    this.asking = true;
    while (this.wanted) {
      const { held }: { held: number | null } = this.wanted;
      this.wanted = null;
      try {
        const posture = await askPosture(this.q, held);
        if (!this.wanted) this.take(posture, held);
      } catch (error) {
        this.state.textContent = error instanceof Error ? error.message : String(error);
        this.state.className = "bad";
      }
    }
    this.asking = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.diagnose(), 250);
  }

  private take(posture: Posture, held: number | null) {
    this.q = posture.q;
    const largest = Math.max(1e-9, ...posture.gravity.map(Math.abs));
    for (const { freedom, input, value, effort, bar } of this.sliders) {
      const { unit, force_unit, turns } = this.subject.model.freedoms[freedom];
      const now = this.get(freedom);
      if (freedom !== held) input.value = String(now);
      value.textContent = turns ? `${short((now * 180) / Math.PI, 4)}°` : `${short(now)} ${unit}`;
      // what is left of a sum that cancels is no effort
      const shown = Math.abs(posture.gravity[freedom]) < 1e-12 * largest ? 0 : posture.gravity[freedom];
      effort.textContent = `${short(shown)} ${force_unit}`;
      effort.dataset.value = String(posture.gravity[freedom]);
      bar.style.width = `${(50 * Math.abs(posture.gravity[freedom])) / largest}%`;
      bar.classList.toggle("negative", posture.gravity[freedom] < 0);
    }
    this.state.className = "soft";
    this.state.textContent =
      `Potential energy ${short(posture.potential, 6)} J` +
      (posture.gap === null ? "." : `; loops open by ${short(posture.gap, 2)}; efforts are those of the tree with its loops open.`);
    this.show(posture);
  }

  private async diagnose() {
    try {
      this.findings.replaceChildren(findingsList(await askFindings(this.q)));
    } catch (error) {
      this.findings.replaceChildren(h("p", { class: "bad" }, String(error)));
    }
  }
}

/** How many letters all names share at their beginning, up to a mark between words. */
function commonBegin(names: string[]): number {
  const [first, ...others] = names;
  if (!others.length) return 0;
  let count = 0;
  while (count < first.length && others.every((name) => name[count] === first[count])) count++;
  return Math.max(first.lastIndexOf("_", count - 1), first.lastIndexOf(".", count - 1)) + 1;
}
