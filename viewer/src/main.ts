// The page: stage, transport, panels, keys.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { JointsPanel } from "./joints";
import { Live } from "./live";
import { matricesPanel } from "./matrices";
import type { Detail, Style } from "./mechanism";
import { colourOf, h, short } from "./page";
import { auditPanel, BodyPanel, modelPanel } from "./panels";
import { Plots } from "./plots";
import { askMatrices, loadScene } from "./server";
import { renderAll } from "./render";
import type { Scene } from "./scene";
import { Stage } from "./stage";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];

const HELP: [string, string][] = [
  ["space", "play, pause"],
  ["← →", "one frame back, on; with Shift a second"],
  ["home, end", "start, end"],
  [", .", "slower, faster"],
  ["n p", "next, previous body"],
  ["Esc", "deselect the body"],
  ["f", "whole mechanism into view"],
  ["1 2 3", "from the front, the side, the top"],
  ["[ ] page up, down", "turn and tilt the view"],
  ["+ −", "nearer, farther"],
  ["o", "parallel or perspective view"],
  ["b", "bodies as ellipsoids, boxes, links, visuals"],
  ["x c r t l g", "axes, mass centres, frames, trails, loops, floor"],
  ["m", "camera follows the mass centre"],
  ["d", "dark or light"],
  ["Shift + arrows", "pull the chosen body of a live run"],
];

class Page {
  private readonly stage: Stage;
  private readonly plots: Plots;
  private readonly bodies: BodyPanel;
  private readonly joints: JointsPanel | null = null;
  private readonly live: Live | null = null;
  private readonly start: number;
  private readonly end: number;
  private time: number;
  private playing = false;
  private loops = true;
  private speed = 1;
  private chosen = 0;
  private stale = true;
  private lastTick = 0;
  private lastText = 0;
  private lastSlide = 0;
  private slow = 0;
  /** Pixels per pixel while it plays. */
  private moving = Infinity;
  private readonly play = h("button", { class: "play", "aria-label": "play", title: "play, pause (space)", onclick: () => this.toggle() }, "▶");
  private readonly slider = h("input", { type: "range", class: "time", min: 0, max: 1, step: "any", value: 0, "aria-label": "time" });
  private readonly clock = h("output", { class: "clock" });
  private readonly speeds = h("select", { "aria-label": "speed", title: "speed (, .)" }, ...SPEEDS.map((s) => h("option", { value: s, selected: s === 1 }, `${s} ×`)));
  private readonly toggles = new Map<string, HTMLButtonElement>();
  private readonly help: HTMLDialogElement;

  constructor(app: HTMLElement, private readonly scene: Scene) {
    const [subject] = scene.subjects;
    document.title = `${subject.name} · catena`;
    const holder = h("div", { class: "canvas" });
    const side = h("aside", { class: "side" });
    this.help = this.makeHelp();
    app.replaceChildren(
      this.header(),
      h("main", {}, h("section", { class: "stage", "aria-label": "mechanism" }, holder), side),
      this.transport(), this.help);
    this.stage = new Stage(holder, scene, wantedDetail());
    this.stage.onchange = () => (this.stale = true);
    this.stage.canvas.setAttribute("aria-label", `${subject.model.name}: ${subject.model.bodies.length - 1} bodies in three dimensions`);
    holder.after(this.toolbar());
    if (scene.subjects.length > 1) holder.after(this.names());

    const motions = this.stage.mechanisms.map((m) => m.motion);
    const spans = motions.flatMap((m) => (m ? [[m.start, m.end]] : []));
    this.start = Math.min(...spans.map((s) => s[0]), Infinity);
    this.end = Math.max(...spans.map((s) => s[1]), -Infinity);
    if (!spans.length) this.start = this.end = 0;
    this.time = this.start;
    this.slider.min = String(this.start);
    this.slider.max = String(this.end);
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    this.speeds.addEventListener("change", () => (this.speed = Number(this.speeds.value)));

    this.plots = new Plots(scene.subjects, motions, (t) => this.seek(t));
    this.bodies = new BodyPanel(subject, motions[0], (body) => this.choose(body === this.chosen ? 0 : body));
    const tabs: [string, HTMLElement][] = [];
    if (scene.abilities.includes("live")) {
      this.live = new Live(subject, this.stage, () => {
        this.play.textContent = this.live?.running ? "❚❚" : "▶";
        this.time = this.live?.time ?? 0;
        this.tellTime(false);
        this.stale = true;
      });
      tabs.push(["Live", this.live.element]);
    }
    if (!this.plots.isEmpty) tabs.push(["Plots", this.plots.element]);
    if (scene.abilities.includes("pose") && !subject.motion && !this.live) {
      this.joints = new JointsPanel(subject, (posture) => {
        this.stage.mechanisms[0].movePoses(posture.poses);
        this.stage.keepUp();
        this.stage.makeRoom();
        this.stale = true;
      });
      tabs.push(["Joints", this.joints.element]);
    }
    tabs.push(["Bodies", this.bodies.element]);
    if (subject.motion) tabs.push(["Audit", h("div", {}, ...scene.subjects.flatMap((s) => [scene.subjects.length > 1 ? h("h2", {}, s.name) : "", auditPanel(s, (t) => this.seek(t))]))]);
    tabs.push(["Model", modelPanel(subject)]);
    const ask = scene.abilities.includes("matrices") ? () => askMatrices(this.coordinates()) : null;
    if (subject.matrices || ask) tabs.push(["Matrices", matricesPanel(subject, ask)]);
    this.makeTabs(side, tabs);

    document.body.classList.toggle("still", !subject.motion && !this.live);
    document.body.classList.toggle("live", this.live !== null);
    this.picking();
    window.addEventListener("keydown", (event) => this.key(event));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    this.seek(this.start);
    requestAnimationFrame((now) => this.tick(now));
    this.expose();
  }

  private coordinates(): number[] {
    const motion = this.stage.mechanisms[0].motion;
    return motion ? motion.coordinatesAt(this.time) : (this.live?.q ?? this.joints?.q ?? this.scene.subjects[0].state?.q ?? []);
  }

  private header(): HTMLElement {
    const [subject] = this.scene.subjects;
    const laws = this.scene.subjects.flatMap((s) => s.audit?.laws ?? []);
    const broken = laws.filter((law) => law.kept === false).length;
    const badge = !subject.motion
      ? null
      : laws.length
        ? h("span", { class: broken ? "badge bad" : "badge good" }, broken ? `✗ ${broken} of ${laws.length} laws broken` : `✓ ${laws.length} laws kept`)
        : h("span", { class: "badge" }, "not finished");
    const { model } = subject;
    return h("header", {},
      h("span", { class: "brand" }, "catena"),
      h("h1", {}, this.scene.subjects.map((s) => s.name).join(" · ")),
      h("span", { class: "summary" }, `${model.name === subject.name ? "" : `${model.name} · `}${model.bodies.length - 1} bodies · ${model.nv} freedoms${model.constraints.length ? ` · ${model.constraints.length} ${model.constraints.length === 1 ? "constraint" : "constraints"}` : ""} · ${short(model.mass)} kg`),
      badge,
      h("span", { class: "space" }),
      h("button", { class: "icon", title: "dark or light (d)", "aria-label": "dark or light", onclick: () => this.dark() }, "◐"),
      h("button", { class: "icon", title: "keys (?)", "aria-label": "help", onclick: () => this.help.showModal() }, "?"));
  }

  private names(): HTMLElement {
    return h("ul", { class: "names" }, ...this.scene.subjects.map((s, k) => h("li", { class: k ? "pale" : "" }, s.name)));
  }

  private makeHelp(): HTMLDialogElement {
    const dialog = h("dialog", { class: "help", "aria-label": "keys" },
      h("h2", {}, "Keys"),
      h("dl", { class: "facts" }, ...HELP.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
      h("p", { class: "soft" }, "Drag turns the view, the wheel or two fingers zoom, the right button moves. Drag in a plot to move through time."),
      h("button", { onclick: () => dialog.close() }, "Close"));
    return dialog;
  }

  private transport(): HTMLElement {
    const loop = h("button", { class: "icon", "aria-pressed": "true", title: "repeat from the beginning", "aria-label": "repeat", onclick: () => {
      this.loops = !this.loops;
      loop.setAttribute("aria-pressed", String(this.loops));
    } }, "⟲");
    return h("footer", { class: "transport" },
      this.play,
      h("button", { class: "icon step", title: "one frame back (←)", "aria-label": "one frame back", onclick: () => this.stepFrames(-1) }, "‹"),
      h("button", { class: "icon step", title: "one frame on (→)", "aria-label": "one frame on", onclick: () => this.stepFrames(1) }, "›"),
      this.slider, this.clock, this.speeds, loop);
  }

  private toolbar(): HTMLElement {
    const bar = h("div", { class: "toolbar", role: "toolbar", "aria-label": "view" });
    const names: Record<Style, string> = { ellipsoids: "Ellipsoids", boxes: "Boxes", links: "Links", visuals: "Visuals" };
    const styles = h("select", { "aria-label": "how bodies are drawn", title: "how bodies are drawn (b)", onchange: () => this.setStyle(styles.value as Style) },
      ...this.stage.styles.map((style) => h("option", { value: style, selected: style === this.stage.shown.style }, names[style])));
    styles.id = "style";
    const add = (key: string, text: string, title: string, get: () => boolean, set: (on: boolean) => void) => {
      const button = h("button", { "aria-pressed": String(get()), title, onclick: () => {
        set(!get());
        button.setAttribute("aria-pressed", String(get()));
        this.stage.moveTo(this.time);
        this.stale = true;
      } }, text);
      this.toggles.set(key, button);
      bar.append(button);
    };
    bar.append(styles);
    const { shown } = this.stage;
    const layer = (name: "axes" | "centres" | "frames" | "trails" | "loops") => [() => shown[name], (on: boolean) => this.stage.show({ [name]: on })] as const;
    add("x", "Axes", "joint axes (x)", ...layer("axes"));
    add("c", "Centres", "mass centres of the bodies and, larger, of all (c)", ...layer("centres"));
    add("r", "Frames", "frames of the bodies (r)", ...layer("frames"));
    if (this.stage.mechanisms[0].motion) add("t", "Trails", "trails of the tips (t)", ...layer("trails"));
    if (this.scene.subjects[0].model.constraints.length) add("l", "Loops", "cut joints (l)", ...layer("loops"));
    add("g", "Floor", "floor (g)", () => this.stage.floorShown, (on) => (this.stage.floorShown = on));
    add("m", "Follow", "camera follows the mass centre (m)", () => this.stage.follows, (on) => this.stage.setFollows(on));
    add("o", "Parallel", "parallel view (o)", () => this.stage.parallel, (on) => this.stage.setParallel(on));
    bar.append(h("button", { title: "whole mechanism into view (f)", onclick: () => this.stage.look("corner") }, "Fit"));
    return bar;
  }

  private setStyle(style: Style) {
    this.stage.show({ style });
    (document.getElementById("style") as HTMLSelectElement).value = style;
    this.stage.moveTo(this.time);
    this.stale = true;
  }

  private makeTabs(side: HTMLElement, tabs: [string, HTMLElement][]) {
    const list = h("div", { role: "tablist", class: "tabs" });
    const panels = h("div", { class: "panels" });
    const buttons: HTMLButtonElement[] = [];
    const show = (k: number) => {
      buttons.forEach((button, i) => {
        button.setAttribute("aria-selected", String(i === k));
        button.tabIndex = i === k ? 0 : -1;
      });
      tabs.forEach(([, panel], i) => (panel.hidden = i !== k));
      if (tabs[k][1] === this.plots.element) this.plots.draw();
      this.moveTexts(true);
    };
    tabs.forEach(([name, panel], k) => {
      panel.id = `panel-${k}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${k}`);
      panels.append(panel);
      const button = h("button", { role: "tab", id: `tab-${k}`, "aria-controls": `panel-${k}`, onclick: () => show(k) }, name);
      button.addEventListener("keydown", (event) => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const next = (k + step + tabs.length) % tabs.length;
        show(next);
        buttons[next].focus();
      });
      buttons.push(button);
      list.append(button);
    });
    side.append(list, panels);
    show(0);
    this.showTab = (name) => {
      const k = tabs.findIndex(([title]) => title === name);
      if (k >= 0) show(k);
    };
  }

  private showTab: (name: string) => void = () => {};

  /** A click that is no drag chooses a body. */
  private picking() {
    const { canvas } = this.stage;
    let down: [number, number] | null = null;
    canvas.addEventListener("pointerdown", (event) => (down = event.shiftKey ? null : [event.clientX, event.clientY]));
    canvas.addEventListener("pointerup", (event) => {
      if (!down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const hit = this.stage.pick(event.clientX, event.clientY);
      this.choose(hit && hit.subject === 0 ? hit.body : 0);
      if (hit) this.showTab("Bodies");
    });
  }

  private choose(body: number) {
    this.chosen = body;
    this.stage.mechanisms[0].select(body);
    this.bodies.choose(body);
    this.plots.choose(body);
    this.moveTexts(true);
    this.stale = true;
  }

  private toggle() {
    if (this.live) {
      this.live.toggle();
      return;
    }
    if (this.end <= this.start) return;
    this.playing = !this.playing;
    // a picture that stands still is drawn with all pixels
    this.stage.sharpness = this.playing ? this.moving : Infinity;
    this.stale = true;
    if (this.playing && this.time >= this.end) this.seek(this.start);
    this.play.textContent = this.playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.playing ? "pause" : "play");
  }

  private seek(t: number) {
    this.time = Math.min(this.end, Math.max(this.start, t));
    this.stage.moveTo(this.time);
    this.tellTime(true);
    this.stale = true;
  }

  private stepFrames(count: number) {
    if (this.live) {
      if (count > 0) this.live.send({ step: 0.02 });
      return;
    }
    const motion = this.stage.mechanisms[0].motion;
    if (!motion) return;
    if (this.playing) this.toggle();
    const gap = (motion.end - motion.start) / Math.max(1, motion.time.length - 1);
    this.seek(this.time + count * gap);
  }

  private tellTime(exact: boolean) {
    // a slider that is painted anew for every picture costs as much as the plots
    const now = performance.now();
    if (exact || now - this.lastSlide > 40) {
      this.lastSlide = now;
      this.slider.value = String(this.time);
    }
    this.plots.moveTo(this.time, exact);
    this.moveTexts(exact);
  }

  /** Texts change a few times a second: nobody reads faster. */
  private moveTexts(exact: boolean) {
    const now = performance.now();
    if (!exact && now - this.lastText < 100) return;
    this.lastText = now;
    this.clock.textContent = this.live ? `${this.time.toFixed(2)} s` : `${this.time.toFixed(3)} / ${short(this.end, 5)} s`;
    this.slider.setAttribute("aria-valuetext", `${short(this.time)} seconds`);
    this.bodies.moveTo(this.time, this.stage.mechanisms[0].world.map((m) => m.elements));
  }

  private tick(now: number) {
    const passed = Math.min(0.25, (now - this.lastTick) / 1000);
    if (this.playing) {
      let t = this.time + passed * this.speed;
      if (t >= this.end) {
        if (this.loops) t = this.start + ((t - this.start) % (this.end - this.start));
        else {
          t = this.end;
          this.toggle();
        }
      }
      this.time = t;
      this.stage.moveTo(t);
      this.tellTime(false);
      this.stale = true;
      this.adapt(passed);
    }
    this.lastTick = now;
    if (this.stale) {
      this.stale = false;
      this.stage.render();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  /** Slow machines get fewer pixels rather than fewer pictures. */
  private adapt(passed: number) {
    this.slow = 0.9 * this.slow + 0.1 * passed;
    if (this.slow > 1 / 28) {
      this.stage.sharpness *= 0.85;
      this.moving = this.stage.sharpness;
      this.slow = 1 / 45;
    }
  }

  private dark() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    this.repaint();
  }

  private repaint() {
    this.stage.paint();
    if (this.plots.element.isConnected && !this.plots.element.hidden) this.plots.draw();
    document.querySelectorAll(".matrix-figure").forEach((figure) => figure.dispatchEvent(new Event("repaint")));
    this.stale = true;
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (target.closest("select, input:not(.time), textarea") || (target.closest("button") && [" ", "Enter"].includes(event.key))) return;
    const speed = (step: number) => {
      const k = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.speed) + step));
      this.speed = SPEEDS[k];
      this.speeds.value = String(this.speed);
    };
    const body = (step: number) => {
      const count = this.scene.subjects[0].model.bodies.length - 1;
      this.choose(this.chosen ? ((this.chosen - 1 + step + count) % count) + 1 : step > 0 ? 1 : count);
      this.showTab("Bodies");
    };
    const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (this.live && event.shiftKey && arrows[event.key]) {
      event.preventDefault();
      if (this.chosen) this.live.pullBy(this.chosen, ...arrows[event.key]);
      return;
    }
    const actions: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowLeft: () => (event.shiftKey ? this.seek(this.time - 1) : this.stepFrames(-1)),
      ArrowRight: () => (event.shiftKey ? this.seek(this.time + 1) : this.stepFrames(1)),
      Home: () => this.seek(this.start),
      End: () => this.seek(this.end),
      ",": () => speed(-1),
      ".": () => speed(1),
      n: () => body(1),
      p: () => body(-1),
      Escape: () => this.choose(0),
      f: () => this.stage.look("corner"),
      "1": () => this.stage.look("front"),
      "2": () => this.stage.look("side"),
      "3": () => this.stage.look("top"),
      "[": () => this.stage.turn(-0.15, 0),
      "]": () => this.stage.turn(0.15, 0),
      PageUp: () => this.stage.turn(0, 0.12),
      PageDown: () => this.stage.turn(0, -0.12),
      "+": () => this.stage.zoom(1.2),
      "=": () => this.stage.zoom(1.2),
      "-": () => this.stage.zoom(1 / 1.2),
      b: () => {
        const { styles, shown } = this.stage;
        this.setStyle(styles[(styles.indexOf(shown.style) + 1) % styles.length]);
      },
      d: () => this.dark(),
      "?": () => this.help.showModal(),
    };
    const action = actions[event.key] ?? (this.toggles.has(event.key) ? () => this.toggles.get(event.key)!.click() : null);
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Milliseconds that a picture of the motion takes, drawn one after the other without waiting for the screen. */
  private cost(count: number): number {
    const begun = performance.now();
    for (let k = 0; k < count; k++) {
      this.stage.moveTo(this.start + ((this.end - this.start) * k) / count);
      this.plots.moveTo(this.time);
      this.stage.render();
      this.stage.finish();
    }
    const each = (performance.now() - begun) / count;
    this.seek(this.time);
    return each;
  }

  /** For the console, for pictures and for tests. */
  private expose() {
    Object.assign(window, {
      catena: {
        seek: (t: number) => {
          this.seek(t);
          this.stage.render();
        },
        time: () => this.time,
        span: () => [this.start, this.end],
        rows: () => this.scene.subjects[0].motion?.rows ?? 0,
        play: () => this.playing || this.live?.running || this.toggle(),
        pause: () => (this.playing || this.live?.running) && this.toggle(),
        pictures: () => this.stage.pictures,
        cost: (count: number) => this.cost(count),
        drawCalls: () => this.stage.renderer.info.render.calls,
        choose: (body: number) => this.choose(body),
        chosen: () => this.chosen,
        isolate: (body: number | null) => {
          this.stage.mechanisms[0].isolate(body);
          this.stage.render();
        },
        project: (point: [number, number, number]) => this.stage.project(point),
        poses: () => Array.from(this.stage.mechanisms[0].poses),
        colour: colourOf,
        look: (from: "front" | "side" | "top" | "corner") => this.stage.look(from),
        lookAlong: (direction: [number, number, number]) => this.stage.lookAlong(direction),
        zoom: (factor: number) => this.stage.zoom(factor),
        parallel: (on: boolean) => this.stage.setParallel(on),
        show: (change: object) => {
          this.stage.show(change);
          this.stage.moveTo(this.time);
          this.stage.render();
        },
        floor: (on: boolean) => (this.stage.floorShown = on),
        tab: (name: string) => this.showTab(name),
        sharpness: () => this.stage.sharpness,
        visuals: () => this.stage.mechanisms[0].visualCount,
        ready: true,
      },
    });
  }
}

/** `#fine`, `#plain` or `#rough` at the end of the address choose how finely round things are drawn. */
function wantedDetail(): Detail | null {
  return (["fine", "plain", "rough"] as const).find((detail) => location.hash === `#${detail}`) ?? null;
}

async function begin() {
  const app = document.getElementById("app")!;
  // a browser without a window prints the page when it has loaded: a frame that is still open makes it wait for the pictures
  const gate = h("iframe", { hidden: true });
  try {
    app.replaceChildren(h("p", { class: "loading" }, "loading …"));
    const scene = await loadScene();
    if (scene.render) {
      document.body.append(gate);
      gate.contentDocument!.open();
      await renderAll(app, scene, scene.render);
    } else new Page(app, scene);
  } catch (error) {
    console.error(error);
    const text = error instanceof Error ? error.message : String(error);
    app.replaceChildren(h("p", { class: "loading bad" }, `The scene cannot be shown: ${text}`));
  } finally {
    gate.contentDocument?.close();
    gate.remove();
  }
}

void begin();
