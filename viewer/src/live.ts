// A simulation on the server: motion comes in, wishes go out.

import { Matrix4, Vector3 } from "three";
import { h, short } from "./page";
import type { Stage } from "./stage";
import type { Subject } from "./scene";

export class Live {
  readonly element = h("div");
  running = false;
  time = 0;
  /** Positions at the last report. */
  q: number[] | null = null;
  private readonly socket: WebSocket;
  private readonly state = h("p", { role: "status", class: "soft" }, "connecting …");
  private readonly numbers = h("dl", { class: "facts" });
  /** What went wrong, until something is wished for again. */
  private failure = "";
  private readonly pulls = h("button", { "aria-pressed": "false", title: "dragging pulls bodies (otherwise Shift and drag)", onclick: () => {
    this.pulls.setAttribute("aria-pressed", String(this.pulls.getAttribute("aria-pressed") !== "true"));
  } }, "Pull");
  private pulled: { body: number; point: Vector3; at: Vector3; to: Vector3 } | null = null;

  constructor(private readonly subject: Subject, private readonly stage: Stage, private readonly changed: () => void) {
    const address = new URL("live", location.href);
    address.protocol = "ws:";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("message", (event) => this.take(event.data));
    this.socket.addEventListener("open", () => (this.state.textContent = "ready"));
    this.socket.addEventListener("close", () => {
      this.state.textContent = "The connection is closed; reload the page for a new run.";
      this.running = false;
      this.changed();
    });
    this.element.append(this.state, this.controls(), h("h3", {}, "Now"), this.numbers,
      h("p", { class: "soft" }, "Hold Shift, or press Pull, and drag a body to draw it along with a spring. By keys: n and p choose a body, Shift and the arrow keys pull it."));
    this.dragging();
  }

  private controls(): HTMLElement {
    const strength = Math.hypot(...this.subject.model.gravity) || 9.81;
    const down = Math.hypot(...this.subject.model.gravity) > 0 ? this.subject.model.gravity.map((x) => x / strength) : [0, 0, -1];
    const value = h("output", { for: "gravity" }, `${short(Math.hypot(...this.subject.model.gravity))} m/s²`);
    const gravity = h("input", {
      id: "gravity", type: "range", min: 0, max: 25, step: 0.01, value: Math.hypot(...this.subject.model.gravity),
      oninput: () => {
        const size = Number(gravity.value);
        value.textContent = `${short(size)} m/s²`;
        this.send({ gravity: down.map((x) => x * size) });
      },
    });
    // friction of every joint, beside the model's own: up to what stops a typical body
    const size = Math.max(1e-3, this.subject.model.mass / Math.max(1, this.subject.model.bodies.length - 1));
    const slider = (key: "viscous" | "dry", unit: string) => {
      const told = h("output", { for: key }, `0 ${unit}`);
      const input = h("input", { id: key, type: "range", min: 0, max: 1, step: "any", value: 0, oninput: () => {
        const wanted = Number((5 * size * Number(input.value) ** 2).toPrecision(3));
        told.textContent = `${short(wanted)} ${unit}`;
        this.send({ [key]: wanted });
      } });
      return h("span", {}, input, told);
    };
    const drive = h("select", { id: "drive" },
      h("option", { value: "none" }, "free"), h("option", { value: "gravity" }, "weight held"), h("option", { value: "brake" }, "brakes (damping)"),
      h("option", { value: "hold" }, "position held"));
    const stiffness = h("input", { id: "stiffness", type: "number", min: 0, value: 50, step: 5 });
    const damping = h("input", { id: "damping", type: "number", min: 0, value: 5, step: 1 });
    const send = () => this.send({ drive: drive.value, stiffness: Number(stiffness.value), damping: Number(damping.value) });
    for (const element of [drive, stiffness, damping]) element.addEventListener("change", send);
    const speed = h("select", { id: "live-speed", onchange: () => this.send({ speed: Number(speed.value) }) },
      ...["0.1", "0.25", "0.5", "1", "2", "4"].map((s) => h("option", { value: s, selected: s === "1" }, `${s} ×`)));
    return h("div", { class: "live-controls" },
      h("label", { for: "gravity" }, "gravity"), h("span", {}, gravity, value),
      h("label", { for: "viscous" }, "viscous friction"), slider("viscous", "N·m·s"),
      h("label", { for: "dry" }, "dry friction"), slider("dry", "N·m"),
      h("label", { for: "drive" }, "motors"), drive,
      h("label", { for: "stiffness" }, "stiffness"), stiffness,
      h("label", { for: "damping" }, "damping"), damping,
      h("label", { for: "live-speed" }, "speed"), speed,
      h("span"), h("span", {}, h("button", { onclick: () => this.send({ step: 0.02 }) }, "Step 20 ms"), " ",
        h("button", { onclick: () => this.send({ reset: true }) }, "Restart"), " ", this.pulls));
  }

  send(wish: object) {
    this.failure = "";
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wish));
  }

  toggle() {
    this.running = !this.running;
    this.send({ run: this.running });
    this.changed();
  }

  private take(data: unknown) {
    if (data instanceof ArrayBuffer) {
      this.time = new DataView(data).getFloat64(0, true);
      const mechanism = this.stage.mechanisms[0];
      const poses = new Float32Array(data.slice(8));
      if (poses.length === mechanism.poses.length) {
        mechanism.movePoses(poses);
        this.stage.keepUp();
        this.drawPull();
      }
      this.changed();
      return;
    }
    const message = JSON.parse(String(data));
    if (message.error) {
      this.failure = message.error;
      this.state.className = "bad";
      this.state.textContent = message.error;
      this.running = message.running;
      this.changed();
      return;
    }
    this.q = message.q;
    if (!this.failure) {
      this.state.className = "soft";
      this.state.textContent = message.running ? "running" : "paused";
    }
    const total = message.kinetic + message.gravitational + message.elastic;
    this.numbers.replaceChildren(...[["time", `${short(message.time, 5)} s`], ["kinetic", `${short(message.kinetic, 5)} J`],
      ["total energy", `${short(total, 6)} J`]].flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  /** The spring as a line. */
  private drawPull() {
    const { pulled } = this;
    const from = pulled && pulled.point.clone().applyMatrix4(this.stage.mechanisms[0].world[pulled.body]);
    this.stage.drawPull(from && pulled ? [from, pulled.to] : null);
  }

  /** Shift and the pointer pull a body. */
  private dragging() {
    const { canvas } = this.stage;
    const pull = (event: PointerEvent) => this.pullTo(this.stage.across(event.clientX, event.clientY, this.pulled!.at));
    canvas.addEventListener("pointerdown", (event) => {
      if (!event.shiftKey && this.pulls.getAttribute("aria-pressed") !== "true") return;
      const hit = this.stage.pick(event.clientX, event.clientY);
      if (!hit) return;
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      const inverse = new Matrix4().copy(this.stage.mechanisms[0].world[hit.body]).invert();
      this.pulled = { body: hit.body, point: hit.at.clone().applyMatrix4(inverse), at: hit.at.clone(), to: hit.at.clone() };
      this.stage.orbiting = false;
      pull(event);
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      if (this.pulled) pull(event);
    });
    canvas.addEventListener("pointerup", () => this.release());
    canvas.addEventListener("pointercancel", () => this.release());
    window.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && this.release());
  }

  /** Draws what is pulled towards a point of the world. */
  private pullTo(to: Vector3) {
    const { body, point } = this.pulled!;
    this.pulled!.to = to;
    const stiffness = 60 * Math.max(0.05, this.subject.model.mass / Math.max(1, this.subject.model.bodies.length - 1));
    this.send({ pull: { body, point: point.toArray(), to: to.toArray(), stiffness } });
    this.drawPull();
  }

  private release() {
    if (!this.pulled) return;
    this.pulled = null;
    this.drawPull();
    this.stage.orbiting = true;
    this.send({ pull: null });
  }

  /** Pulls a body by its mass centre across the view, until a key is let go. */
  pullBy(body: number, right: number, up: number) {
    const mechanism = this.stage.mechanisms[0];
    const point = new Vector3(...(this.subject.model.bodies[body].shape?.p ?? [0, 0, 0]));
    const at = point.clone().applyMatrix4(mechanism.world[body]);
    this.pulled ??= { body, point, at, to: at.clone() };
    this.pullTo(at.clone().addScaledVector(this.stage.sideways(), right * mechanism.unit).addScaledVector(this.stage.upwards(), up * mechanism.unit));
  }
}
