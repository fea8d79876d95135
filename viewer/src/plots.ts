// Curves over time, linked to the cursor.

import uPlot from "uplot";
import { colour, colourOf, dashOf, h, short } from "./page";
import { type Curve, type Motion, type Subject, valueAt } from "./scene";

/** Kinds of curves in the order they are shown: title and what belongs to it. */
const KINDS: { key: string; title: string; has: (name: string) => boolean }[] = [
  { key: "q", title: "Positions", has: (n) => n.startsWith("q.") },
  { key: "tau", title: "Efforts", has: (n) => n.startsWith("tau.") },
  { key: "energy", title: "Energies", has: (n) => ["kinetic", "gravitational", "elastic", "total", "work", "dissipated"].includes(n) },
  { key: "error", title: "Errors in the laws", has: (n) => n.startsWith("error.") },
  { key: "v", title: "Velocities", has: (n) => n.startsWith("v.") },
  { key: "friction", title: "Dry friction", has: (n) => n.startsWith("friction.") },
  { key: "a", title: "Accelerations", has: (n) => n.startsWith("a.") },
  { key: "base", title: "Base", has: (n) => n.startsWith("base.") },
];

const ERRORS: Record<string, string> = {
  "error.energy": "energy balance",
  "error.effort": "inverse dynamics of the motion",
  "error.momentum": "linear momentum",
  "error.angular_momentum": "angular momentum",
  "error.loops": "opening of the loops",
};

/** More curves are not drawn in one chart. */
const MOST = 8;

interface Line {
  subject: number;
  curve: Curve;
  label: string;
  body: number;
  colour: string;
  dash?: number[];
}

interface Chart {
  title: string;
  unit: string;
  kind: string;
  lines: Line[];
}

/** The body that a column belongs to; 0 for none. */
export function bodyOf(subject: Subject, name: string): number {
  const dot = name.indexOf(".");
  if (dot < 0) return 0;
  const rest = name.slice(dot + 1);
  const freedom = subject.model.freedoms.find((f) => f.name === rest);
  if (freedom) return freedom.body;
  return Math.max(0, subject.model.bodies.findIndex((body, k) => k > 0 && rest.startsWith(`${body.joint}.`)));
}

function charts(subjects: Subject[], motions: (Motion | null)[]): Chart[] {
  const found: Chart[] = [];
  for (const kind of KINDS) {
    const byUnit = new Map<string, Chart>();
    motions.forEach((motion, subject) => {
      let index = 0;
      for (const curve of motion?.curves ?? []) {
        if (!kind.has(curve.name)) continue;
        // errors have little in common but that they should be nothing
        const key = kind.key === "error" ? curve.name : curve.unit;
        const title = kind.key === "error" ? `${kind.title}: ${ERRORS[curve.name] ?? curve.name.slice(6)}` : kind.title;
        let chart = byUnit.get(key);
        if (!chart) byUnit.set(key, (chart = { title, unit: curve.unit || "quaternion", kind: kind.key, lines: [] }));
        const body = bodyOf(subjects[subject], curve.name);
        const number = body > 0 && kind.key !== "energy" ? body - 1 : index;
        const same = chart.lines.filter((line) => line.subject === subject && line.body === body && body > 0).length;
        const dot = curve.name.indexOf(".");
        chart.lines.push({
          subject, curve, body,
          label: (kind.key === "error" ? ERRORS[curve.name] : dot < 0 ? curve.name : curve.name.slice(dot + 1)) ?? curve.name,
          colour: colourOf(number),
          dash: subject > 0 ? [8, 5] : (dashOf(number) ?? [undefined, [6, 4], [2, 3], [10, 3, 2, 3]][same % 4]),
        });
        index++;
      }
    });
    found.push(...byUnit.values());
  }
  return found;
}

/** All charts of a scene. */
export class Plots {
  readonly element = h("div", { class: "plots" });
  private drawn: { chart: Chart; plot: uPlot; line: HTMLElement; values: HTMLElement[]; lines: Line[] }[] = [];
  private readonly charts: Chart[];
  private chosen = 0;
  private time = 0;
  private lastText = 0;

  constructor(private readonly subjects: Subject[], motions: (Motion | null)[], private readonly seek: (t: number) => void) {
    this.charts = charts(subjects, motions);
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  get isEmpty() {
    return this.charts.length === 0;
  }

  /** Draws everything anew: after a change of colours or of the chosen body. */
  draw() {
    for (const { plot } of this.drawn) plot.destroy();
    this.drawn = [];
    this.element.replaceChildren();
    const isZero = (chart: Chart) => chart.lines.every((line) => line.curve.values.every((x: number) => x === 0));
    for (const chart of this.charts) if (!isZero(chart)) this.drawChart(chart);
    const zeros = this.charts.filter(isZero).map((chart) => `${chart.title} (${chart.unit})`);
    if (zeros.length) this.element.append(h("p", { class: "soft" }, `Zero all the time: ${zeros.join(", ")}.`));
    this.resize();
    this.moveTo(this.time, true);
  }

  choose(body: number) {
    if (body === this.chosen) return;
    this.chosen = body;
    if (this.element.isConnected) this.draw();
  }

  private drawChart(chart: Chart) {
    let lines = chart.lines;
    let remark = "";
    const perSubject = lines.filter((line) => line.subject === 0).length;
    if (perSubject > MOST) {
      const own = lines.filter((line) => this.chosen > 0 && line.body === this.chosen);
      lines = own.length ? own : lines.filter((line) => lines.filter((l) => l.subject === line.subject).indexOf(line) < MOST);
      remark = own.length ? `of the chosen body; ${perSubject} in all` : `first ${MOST} of ${perSubject}; choose a body to see its own`;
    }
    const text = colour("--soft");
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: text, grid, ticks: grid, font: "11px system-ui, sans-serif" };
    const options: uPlot.Options = {
      width: 300,
      height: 170,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, size: 28, values: (_, ticks) => ticks.map((t) => `${short(t)} s`) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((t) => short(t, 5)) },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.label, stroke: line.colour, width: line.body === this.chosen && this.chosen > 0 ? 2.5 : 1.5,
          dash: line.dash, points: { show: false }, spanGaps: true,
        })),
      ],
    };
    const shared = lines.every((line) => line.curve.time === lines[0].curve.time);
    const data = shared
      ? [lines[0].curve.time, ...lines.map((line) => line.curve.values)]
      : uPlot.join(lines.map((line) => [line.curve.time, line.curve.values] as unknown as uPlot.AlignedData));
    const values = lines.map(() => h("output", { class: "value" }));
    const legend = h("ul", { class: "legend" });
    lines.forEach((line, k) => {
      const run = this.subjects.length > 1 ? ` · ${this.subjects[line.subject].name}` : "";
      const key = h("span", { class: line.dash ? "key dashed" : "key", "aria-hidden": "true" });
      key.style.borderColor = line.colour;
      legend.append(h("li", {}, key, `${line.label}${run} `, values[k]));
    });
    const holder = h("div", { class: "chart", role: "img", "aria-label": `${chart.title} in ${chart.unit} over time` });
    this.element.append(
      h("section", { class: "plot" },
        h("h3", {}, chart.title, " ", h("small", {}, `${chart.unit}${remark ? ` · ${remark}` : ""}`)),
        holder, legend),
    );
    const plot = new uPlot(options, data as uPlot.AlignedData, holder);
    const line = h("div", { class: "now" });
    plot.over.append(line);
    const seek = (event: PointerEvent) => {
      const box = plot.over.getBoundingClientRect();
      this.seek(plot.posToVal(event.clientX - box.left, "x"));
    };
    plot.over.addEventListener("pointerdown", (event) => {
      plot.over.setPointerCapture(event.pointerId);
      seek(event);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) seek(event);
    });
    this.drawn.push({ chart, plot, line, values, lines });
  }

  private resize() {
    const width = this.element.clientWidth;
    if (!width) return;
    for (const { plot } of this.drawn) {
      if (plot.width !== width) plot.setSize({ width, height: 170 });
    }
    this.moveTo(this.time, true);
  }

  /** Moves the cursor; numbers follow a few times a second. */
  moveTo(t: number, exact = false) {
    this.time = t;
    const now = performance.now();
    const texts = exact || now - this.lastText > 120;
    if (texts) this.lastText = now;
    for (const { plot, line, values, lines } of this.drawn) {
      line.style.transform = `translateX(${plot.valToPos(t, "x")}px)`;
      if (texts) lines.forEach((l, k) => (values[k].textContent = short(valueAt(l.curve, t))));
    }
  }
}
