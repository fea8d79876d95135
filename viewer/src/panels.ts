// The panels beside the stage: body, audit, model.

import { colourOf, h, short } from "./page";
import { type Finding, type Motion, type Subject, valueAt } from "./scene";

const vector = (x: ArrayLike<number>) => `(${Array.from(x, (c) => short(c)).join(", ")})`;

function facts(list: [string, Node | string | number | null | undefined][]): HTMLElement {
  const element = h("dl", { class: "facts" });
  for (const [name, value] of list) {
    if (value != null && value !== "") element.append(h("dt", {}, name), h("dd", {}, value));
  }
  return element;
}

const MARKS = { good: "✓", note: "·", warning: "!" };

/** What is worth knowing, with a sign for each level. */
export function findingsList(findings: Finding[]): HTMLElement {
  return h("ul", { class: "findings" },
    ...findings.map(({ level, text }) =>
      h("li", { class: level }, h("span", { class: "sign", title: level }, MARKS[level] ?? "·"), text)));
}

/** The tree of bodies as buttons, and the data of the chosen one. */
export class BodyPanel {
  readonly element = h("div");
  private readonly data = h("div", { class: "body-data" });
  private readonly live = h("div");
  private readonly buttons: HTMLButtonElement[] = [];
  private body = 0;

  constructor(private readonly subject: Subject, private readonly motion: Motion | null, choose: (body: number) => void) {
    const { bodies } = subject.model;
    const depth = bodies.map(() => 0);
    const list = h("ul", { class: "tree" });
    const MOST = 400;
    bodies.slice(0, MOST).forEach((body, k) => {
      if (k === 0) return;
      depth[k] = depth[body.parent!] + 1;
      const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(k - 1);
      const button = h("button", { class: "body", "aria-pressed": "false", onclick: () => choose(k) },
        swatch, body.name, h("small", {}, ` ${body.kind} ${body.joint}`));
      button.style.paddingLeft = `${0.4 + 0.7 * Math.min(depth[k] - 1, 12)}rem`;
      this.buttons[k] = button;
      list.append(h("li", {}, button));
    });
    if (bodies.length > MOST) list.append(h("li", { class: "soft" }, `… and ${bodies.length - MOST} more`));
    this.element.append(this.data, h("h3", {}, "Tree"), list);
    this.choose(0);
  }

  choose(body: number) {
    this.buttons[this.body]?.setAttribute("aria-pressed", "false");
    this.body = body;
    this.buttons[body]?.setAttribute("aria-pressed", "true");
    if (this.element.isConnected) this.buttons[body]?.scrollIntoView({ block: "nearest" });
    if (!body) {
      this.data.replaceChildren(h("p", { class: "soft" }, "Choose a body in the picture or in the tree; n and p go from one to the next."));
      return;
    }
    const { model } = this.subject;
    const own = model.bodies[body];
    const freedoms = model.freedoms.filter((f) => f.body === body);
    const loops = model.constraints.filter((c) => c.bodies?.includes(body));
    this.data.replaceChildren(
      h("h2", {}, own.name),
      facts([
        ["joint", `${own.joint}, ${own.kind}`],
        ["carried by", model.bodies[own.parent!].name],
        ["joined rigidly", own.merged!.join(", ")],
        ["mass", `${short(own.mass, 6)} kg`],
        ["mass centre", own.shape ? `${vector(own.shape.p)} m` : null],
        ["principal moments", own.shape ? `${vector(own.shape.moments)} kg·m²` : null],
        ["limits", freedoms.filter((f) => f.limits).map((f) => `${f.name}: ${short(f.limits![0])} … ${short(f.limits![1])} ${f.unit}`).join("; ")],
        ["closes", loops.map((c) => `${c.kind} ${c.name}`).join(", ")],
      ]),
      this.live,
    );
  }

  /** Numbers that change with time. */
  moveTo(t: number, world: ArrayLike<number>[]) {
    if (!this.body || !this.element.isConnected) return;
    const m = world[this.body];
    const rows: [string, string][] = [["origin", `${vector([m[12], m[13], m[14]])} m`]];
    const own = this.subject.model.bodies[this.body];
    const freedoms = new Set(this.subject.model.freedoms.filter((f) => f.body === this.body).map((f) => f.name));
    for (const curve of this.motion?.curves ?? []) {
      const dot = curve.name.indexOf(".");
      const rest = curve.name.slice(dot + 1);
      if (dot > 0 && (freedoms.has(rest) || rest.startsWith(`${own.joint}.`)) && rows.length < 30) {
        rows.push([curve.name, `${short(valueAt(curve, t), 5)} ${curve.unit}`]);
      }
    }
    this.live.replaceChildren(facts(rows));
  }
}

/** What the run's own audit found. */
export function auditPanel(subject: Subject, seek: (t: number) => void): HTMLElement {
  const audit = subject.audit;
  const panel = h("div", {});
  if (!audit?.laws) {
    panel.append(h("p", { class: "soft" }, "The run is not finished: it has no audit yet."));
  } else {
    const rows = audit.laws.map((law) => {
      const verdict = law.kept == null ? "not seen" : law.kept ? "✓ kept" : "✗ broken";
      return h("tr", { class: law.kept === false ? "bad" : "" },
        h("th", { scope: "row" }, law.law),
        h("td", {}, short(law.worst, 2)),
        h("td", {}, short(law.allowed, 2)),
        h("td", {}, law.time == null ? "–" : h("button", { class: "link", title: "go there", onclick: () => seek(law.time!) }, `${short(law.time)} s`)),
        h("td", {}, verdict));
    });
    panel.append(
      h("p", { class: "soft" }, "Largest relative error of the run in each law of mechanics."),
      h("table", { class: "audit" },
        h("thead", {}, h("tr", {}, ...["law", "worst", "allowed", "at", ""].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...rows)));
    if (audit.events?.length) {
      panel.append(h("h3", {}, "Events"), h("ul", { class: "events" },
        ...audit.events.slice(0, 100).map((event) =>
          h("li", {}, h("button", { class: "link", onclick: () => seek(event.time) }, `${short(event.time, 6)} s`), ` ${event.name}`))));
    }
  }
  const word = (key: string) => (subject.facts?.[key] == null ? null : String(subject.facts[key]));
  panel.append(
    h("h3", {}, "Run"),
    facts([
      ["method", word("method")],
      ["tolerances", word("rtol") ? `relative ${word("rtol")}, absolute ${word("atol")}` : null],
      ["step", word("step")],
      ["steps", audit?.steps != null ? `${audit.steps}, ${audit.rejected} rejected, ${audit.evaluations} evaluations` : null],
      ["samples", subject.motion ? `${subject.motion.rows}, ${subject.motion.frames} in the animation` : null],
      ["not shown", subject.motion?.columns_left_out ? `${subject.motion.columns_left_out} columns` : null],
      ["seed", word("seed")],
      ["made by", [word("program"), word("system"), word("cpu")].filter(Boolean).join(", ")],
    ]));
  if (subject.command) {
    const code = h("code", {}, subject.command);
    panel.append(h("h3", {}, "To reproduce"), h("pre", { tabindex: 0 }, code),
      h("button", { onclick: (event: Event) => {
        void navigator.clipboard?.writeText(subject.command!);
        (event.target as HTMLElement).textContent = "Copied";
      } }, "Copy"));
  }
  return panel;
}

/** The model in words. */
export function modelPanel(subject: Subject): HTMLElement {
  const { model } = subject;
  const kinds = new Map<string, number>();
  model.bodies.slice(1).forEach((body) => kinds.set(body.kind!, (kinds.get(body.kind!) ?? 0) + 1));
  const list = (title: string, texts: string[]) =>
    texts.length ? h("div", {}, h("h3", {}, title), h("ul", {}, ...texts.slice(0, 60).map((text) => h("li", {}, text)))) : null;
  return h("div", {},
    facts([
      ["model", model.name],
      ["bodies", model.bodies.length - 1],
      ["freedoms", model.nv],
      ["joints", [...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ")],
      ["base", model.base],
      ["mass", `${short(model.mass, 6)} kg`],
      ["gravity", `${vector(model.gravity)} m/s²`],
    ]),
    subject.findings?.length ? h("div", {}, h("h3", {}, "Doctor"), findingsList(subject.findings)) : null,
    list("Constraints", model.constraints.map((c) =>
      `${c.name}: ${c.kind}, ${c.rows} ${c.rows === 1 ? "row" : "rows"}${c.bodies ? `, ${c.bodies.map((b) => model.bodies[b].name).join(" – ")}` : ""}`)),
    list("Assumptions", model.assumptions),
    subject.equations ? h("div", {}, h("h3", {}, "Equations of motion"), h("iframe", { class: "equations", sandbox: "", srcdoc: subject.equations, title: "equations of motion" })) : null);
}
