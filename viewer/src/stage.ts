// The stage: camera, light, floor, and the mechanisms on it.

import {
  BufferGeometry, Color, DirectionalLight, GridHelper, Group, HemisphereLight, Line, LineBasicMaterial, Matrix4, MeshBasicMaterial, MOUSE, OrthographicCamera,
  PerspectiveCamera, Quaternion, Raycaster, Scene as World, Vector2, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { BRIGHTNESS, FROM_BELOW, light } from "./merged";
import { type Detail, Mechanism, type Shown, type Style } from "./mechanism";
import { Motion, type Scene } from "./scene";
import { colour } from "./page";

const FIELD_OF_VIEW = 32;
/** Instants that are looked at for the size of the scene. */
const INSTANTS = 120;

/** More bodies are drawn less finely. */
const MANY = 150;

/** The largest of every thousand numbers: no call takes a million arguments. */
function chunks(numbers: number[]): number[] {
  const largest: number[] = [];
  for (let k = 0; k < numbers.length; k += 1000) largest.push(Math.max(...numbers.slice(k, k + 1000)));
  return largest;
}

/** Is there no graphics card? Then triangles are dear. */
function drawsInSoftware(): boolean {
  const probe = document.createElement("canvas").getContext("webgl2");
  const info = probe?.getExtension("WEBGL_debug_renderer_info");
  const name = probe && info ? String(probe.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  probe?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class Stage {
  readonly mechanisms: Mechanism[];
  readonly shown: Shown;
  readonly canvas: HTMLCanvasElement;
  readonly renderer: WebGLRenderer;
  follows: boolean;
  parallel = false;
  /** Pictures drawn so far. */
  pictures = 0;
  onchange: () => void = () => {};
  private readonly world = new World();
  private readonly perspective = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 1000);
  private readonly orthographic = new OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
  private readonly controls: OrbitControls;
  private readonly sun = new DirectionalLight(0xffffff, BRIGHTNESS);
  private readonly up: Vector3;
  private floor: GridHelper | null = null;
  private readonly pull = new Line(new BufferGeometry(), new LineBasicMaterial({ color: "#d55e00", depthTest: false }));
  private readonly shadow = new Group();
  private readonly shade = new MeshBasicMaterial();
  private centre = new Vector3();
  private radius = 1;
  private followed = new Vector3();
  private ratio: number;

  constructor(holder: HTMLElement, scene: Scene, wanted: Detail | null = null) {
    const most = Math.max(...scene.subjects.map((subject) => subject.model.bodies.length));
    const slow = drawsInSoftware();
    const detail = wanted ?? (most <= MANY ? (slow ? "plain" : "fine") : slow ? "rough" : "plain");
    const merged = slow && detail !== "fine";
    this.mechanisms = scene.subjects.map((subject, k) => new Mechanism(subject, subject.motion ? new Motion(subject) : null, k, detail, merged));
    const first = this.mechanisms[0];
    this.shown = {
      style: first.hasVisuals ? "visuals" : "ellipsoids",
      axes: false, frames: false, centres: false, trails: first.motion !== null, loops: true,
    };
    const gravity = new Vector3(...first.subject.model.gravity);
    this.up = gravity.length() > 0 ? gravity.normalize().negate() : new Vector3(0, 0, 1);
    this.follows = first.subject.model.base === "free";

    this.renderer = new WebGLRenderer({ antialias: detail === "fine", alpha: true, preserveDrawingBuffer: detail === "fine" });
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(this.ratio);
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    holder.append(this.canvas);

    this.pull.visible = this.pull.frustumCulled = false;
    const sky = new HemisphereLight(0xffffff, FROM_BELOW, BRIGHTNESS);
    sky.position.copy(this.up);
    light.up.value.copy(this.up);
    this.world.add(this.pull, sky, this.sun, this.sun.target);
    for (const mechanism of this.mechanisms) {
      this.world.add(mechanism.group);
      mechanism.show(this.shown);
      mechanism.moveTo(mechanism.motion?.start ?? 0);
    }
    this.perspective.up.copy(this.up);
    this.orthographic.up.copy(this.up);
    this.controls = new OrbitControls(this.perspective, this.canvas);
    this.controls.enableDamping = false;
    this.controls.mouseButtons = { LEFT: MOUSE.ROTATE, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
    this.controls.addEventListener("change", () => this.onchange());
    this.measure();
    this.makeFloor();
    this.look("corner");
    new ResizeObserver(() => this.resize(holder)).observe(holder);
    this.resize(holder);
  }

  private get camera() {
    return this.parallel ? this.orthographic : this.perspective;
  }

  private resize(holder: HTMLElement) {
    const { clientWidth: width, clientHeight: height } = holder;
    if (!width || !height) return;
    this.renderer.setSize(width, height);
    this.perspective.aspect = width / height;
    this.perspective.updateProjectionMatrix();
    this.shapeParallel();
    this.render();
  }

  /** Middle and size of everything there is to see. Where the mechanism is followed, every instant is seen from its own middle. */
  private measure() {
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = new Vector3(-Infinity, -Infinity, -Infinity);
    const all: { point: Vector3; instant: number }[] = [];
    for (const mechanism of this.mechanisms) {
      for (const { point, instant } of mechanism.points(INSTANTS)) {
        low.min(point);
        high.max(point);
        all.push({ point: point.clone(), instant });
      }
    }
    if (!all.length) return;
    this.centre.addVectors(low, high).multiplyScalar(0.5);
    const held = this.mechanisms[0].heldAt();
    // what has not moved yet will move about where the ground holds it
    if (!this.mechanisms[0].motion && held) this.centre.copy(held);
    const middles = new Map<number, { sum: Vector3; count: number }>();
    for (const { point, instant } of all) {
      const middle = middles.get(instant) ?? { sum: new Vector3(), count: 0 };
      middle.sum.add(point);
      middle.count++;
      middles.set(instant, middle);
    }
    for (const { sum, count } of middles.values()) sum.divideScalar(count);
    const middleOf = (instant: number) => (this.follows ? middles.get(instant)!.sum : this.centre);
    this.radius = Math.max(1e-3, ...chunks(all.map(({ point, instant }) => point.distanceTo(middleOf(instant)))));
    if (!this.mechanisms[0].motion && !held) this.radius *= 1.25;
    this.perspective.near = this.radius / 200;
    this.perspective.far = this.radius * 200;
    this.orthographic.near = -100 * this.radius;
    this.orthographic.far = 100 * this.radius;
  }

  private makeFloor() {
    let lowest = Infinity;
    for (const mechanism of this.mechanisms) {
      for (const { point } of mechanism.points(40)) lowest = Math.min(lowest, point.dot(this.up));
    }
    if (!Number.isFinite(lowest)) lowest = 0;
    const cell = 10 ** Math.round(Math.log10(this.radius / 3));
    const count = 2 * Math.ceil((3 * this.radius) / cell);
    this.floor = new GridHelper(count * cell, count);
    this.floor.quaternion.copy(new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), this.up));
    const flat = this.centre.clone().addScaledVector(this.up, -this.centre.dot(this.up));
    flat.divideScalar(cell).round().multiplyScalar(cell);
    flat.addScaledVector(this.up, -flat.dot(this.up) + lowest - 0.02 * this.radius);
    this.floor.position.copy(flat);
    // a floating mechanism has no floor
    this.floor.visible = this.mechanisms[0].subject.model.base !== "free";
    this.world.add(this.floor);
    // what is above the floor, pressed flat onto it
    const away = new Matrix4().makeTranslation(this.floor.position.clone().negate());
    const [x, y, z] = this.up.toArray();
    const flatten = new Matrix4().set(1 - x * x, -x * y, -x * z, 0, -y * x, 1 - y * y, -y * z, 0, -z * x, -z * y, 1 - z * z, 0, 0, 0, 0, 1);
    const above = this.floor.position.clone().addScaledVector(this.up, 0.002 * this.radius);
    for (const mechanism of this.mechanisms.slice(0, 1)) {
      const shadow = mechanism.makeShadow(this.shade);
      shadow.matrixAutoUpdate = false;
      shadow.matrix.makeTranslation(above).multiply(flatten).multiply(away);
      this.shadow.add(shadow);
      mechanism.show(this.shown);
    }
    this.shadow.visible = this.floor.visible;
    this.world.add(this.shadow);
    this.paint();
  }

  /** Takes the colours of the page. */
  paint() {
    const material = this.floor!.material as LineBasicMaterial;
    material.vertexColors = false;
    material.color = new Color(colour("--grid"));
    material.transparent = true;
    material.opacity = 0.45;
    this.shade.color = new Color(colour("--shade"));
    material.needsUpdate = true;
    this.onchange();
  }

  set floorShown(shown: boolean) {
    this.floor!.visible = this.shadow.visible = shown;
    this.onchange();
  }

  get floorShown() {
    return this.floor!.visible;
  }

  /** Looks from a side: `front`, `side`, `top` or `corner`. */
  look(from: "front" | "side" | "top" | "corner") {
    const side = Math.abs(this.up.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
    side.addScaledVector(this.up, -side.dot(this.up)).normalize();
    const depth = this.up.clone().cross(side);
    const eye = new Vector3();
    if (from === "front") eye.copy(depth).negate();
    else if (from === "side") eye.copy(side);
    else if (from === "top") eye.copy(this.up).addScaledVector(depth, -1e-3);
    else eye.copy(side).multiplyScalar(0.62).addScaledVector(depth, -0.78).addScaledVector(this.up, 0.42);
    if (from === "corner" && this.mechanisms[0].motion && this.isFlat()) eye.copy(this.flatNormal());
    const target = this.target();
    const wide = Math.min(1, this.perspective.aspect || 1);
    // a little air, and room for the bar at the top
    const distance = (1.15 * this.radius) / Math.sin((FIELD_OF_VIEW * Math.PI) / 360) / wide;
    for (const camera of [this.perspective, this.orthographic]) {
      camera.position.copy(target).addScaledVector(eye.normalize(), distance);
    }
    this.controls.target.copy(target);
    this.orthographic.zoom = 1;
    this.shapeParallel();
    this.controls.update();
    this.onchange();
  }

  private shapeParallel() {
    const aspect = this.perspective.aspect || 1;
    const half = (1.1 * this.radius) / Math.min(1, aspect);
    Object.assign(this.orthographic, { left: -half * aspect, right: half * aspect, top: half, bottom: -half });
    this.orthographic.updateProjectionMatrix();
    this.perspective.updateProjectionMatrix();
  }

  /** Does everything happen in a plane? Then it is looked at from ahead, a little from above. */
  private isFlat() {
    return this.flatNormal().length() > 0;
  }

  private flatNormal(): Vector3 {
    const points: Vector3[] = [];
    for (const { bodies } of this.mechanisms.map((m) => m.subject.model)) {
      if (bodies.length > 60) return new Vector3();
    }
    for (const mechanism of this.mechanisms) {
      const { motion, world } = mechanism;
      const frames = motion ? Math.min(20, motion.time.length) : 1;
      for (let k = 0; k < frames; k++) {
        const frame = motion ? Math.round((k * (motion.time.length - 1)) / Math.max(1, frames - 1)) : 0;
        for (let body = 1; body < world.length; body++) {
          const p = new Vector3();
          if (motion) motion.place(frame, body, p);
          else p.setFromMatrixPosition(world[body]);
          points.push(p);
        }
      }
    }
    const base = points[0] ?? new Vector3();
    const away = (a: Vector3, b: Vector3) => (b.lengthSq() > a.lengthSq() ? b : a);
    const along = points.map((p) => p.clone().sub(base)).reduce(away, new Vector3());
    const normal = points.map((p) => along.clone().cross(p.clone().sub(base))).reduce(away, new Vector3());
    if (normal.length() < 1e-6 * this.radius ** 2) return new Vector3();
    normal.normalize();
    if (points.some((p) => Math.abs(p.clone().sub(base).dot(normal)) > 1e-4 * this.radius)) return new Vector3();
    if (Math.abs(normal.dot(this.up)) > 0.9) return new Vector3();
    // of both sides the one from which the horizontal axis runs along a positive axis of the world
    const right = this.up.clone().cross(normal);
    const largest = right.toArray().reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    if (largest < 0) normal.negate();
    return normal.addScaledVector(this.up, 0.18).addScaledVector(right, largest < 0 ? -0.22 : 0.22).normalize();
  }

  private target(): Vector3 {
    if (!this.follows) return this.centre.clone();
    this.mechanisms[0].massCentre(this.followed);
    return this.followed.clone();
  }

  setParallel(parallel: boolean) {
    if (parallel === this.parallel) return;
    const from = this.camera;
    this.parallel = parallel;
    const to = this.camera;
    to.position.copy(from.position);
    if (parallel) {
      const distance = from.position.distanceTo(this.controls.target);
      const half = distance * Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
      this.orthographic.zoom = this.orthographic.top / half;
      this.orthographic.updateProjectionMatrix();
    }
    this.controls.object = to;
    this.controls.update();
    this.onchange();
  }

  show(change: Partial<Shown>) {
    Object.assign(this.shown, change);
    for (const mechanism of this.mechanisms) mechanism.show(this.shown);
  }

  get styles(): Style[] {
    const own: Style[] = ["ellipsoids", "boxes", "links"];
    return this.mechanisms.some((m) => m.hasVisuals) ? ["visuals", ...own] : own;
  }

  /** Moves all mechanisms to a time. */
  moveTo(t: number) {
    for (const mechanism of this.mechanisms) mechanism.moveTo(t);
    this.keepUp();
  }

  /** The camera goes along with the mass centre. */
  keepUp() {
    if (!this.follows) return;
    const before = this.followed.clone();
    this.mechanisms[0].massCentre(this.followed);
    const step = this.followed.clone().sub(before);
    this.camera.position.add(step);
    this.controls.target.add(step);
    this.controls.update();
  }

  setFollows(follows: boolean) {
    this.follows = follows;
    if (follows) this.mechanisms[0].massCentre(this.followed);
    this.measure();
  }

  render() {
    const eye = this.camera.position;
    // light from over the reader's left shoulder
    const view = this.controls.target.clone().sub(eye).normalize();
    const left = this.up.clone().cross(view).normalize();
    this.sun.position.copy(eye).addScaledVector(left, 0.6 * this.radius * 4).addScaledVector(this.up, 0.9 * this.radius * 4);
    this.sun.target.position.copy(this.controls.target);
    light.sun.value.copy(this.sun.position).sub(this.controls.target).normalize();
    this.renderer.render(this.world, this.camera);
    this.pictures++;
  }

  /** Waits until the picture is drawn. */
  finish() {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Fewer pixels where drawing is slow, more again where it is not. */
  set sharpness(ratio: number) {
    const limit = Math.min(window.devicePixelRatio || 1, 2);
    const wanted = Math.min(limit, Math.max(0.6, ratio));
    if (Math.abs(wanted - this.ratio) < 0.01) return;
    this.ratio = wanted;
    this.renderer.setPixelRatio(wanted);
  }

  get sharpness() {
    return this.ratio;
  }

  private ray(x: number, y: number): Raycaster {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector2(((x - box.left) / box.width) * 2 - 1, -((y - box.top) / box.height) * 2 + 1);
    const ray = new Raycaster();
    ray.setFromCamera(at, this.camera);
    return ray;
  }

  /** The body under a point of the window. */
  pick(x: number, y: number) {
    const ray = this.ray(x, y);
    for (let subject = 0; subject < this.mechanisms.length; subject++) {
      const hit = this.mechanisms[subject].pick(ray);
      if (hit) return { subject, ...hit };
    }
    return null;
  }

  /** The point of the plane through `through` and across the view that is under a point of the window. */
  across(x: number, y: number, through: Vector3): Vector3 {
    const ray = this.ray(x, y).ray;
    const normal = this.camera.getWorldDirection(new Vector3());
    const reach = through.clone().sub(ray.origin).dot(normal) / ray.direction.dot(normal);
    return ray.origin.clone().addScaledVector(ray.direction, reach);
  }

  /** To the right and upwards in the picture. */
  sideways = () => new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
  upwards = () => new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);

  /** Steps back where the mechanism has grown out of the picture. */
  makeRoom() {
    if (this.follows) return;
    let reach = 0;
    for (const { point } of this.mechanisms[0].points(1)) reach = Math.max(reach, point.distanceTo(this.centre));
    if (reach <= this.radius) return;
    const factor = this.radius / (1.1 * reach);
    this.radius = 1.1 * reach;
    this.zoom(factor);
  }

  /** Where a point of the world is in the window, in pixels. */
  project(point: [number, number, number]): [number, number] {
    this.camera.updateMatrixWorld();
    const p = new Vector3(...point).project(this.camera);
    const box = this.canvas.getBoundingClientRect();
    return [box.left + ((p.x + 1) / 2) * box.width, box.top + ((1 - p.y) / 2) * box.height];
  }

  /** Draws the spring that pulls a body, or none. */
  drawPull(ends: [Vector3, Vector3] | null) {
    this.pull.visible = ends !== null;
    if (ends) this.pull.geometry.setFromPoints(ends);
    this.onchange();
  }

  set orbiting(on: boolean) {
    this.controls.enabled = on;
  }

  /** Looks along a direction, given in world axes: for pictures of a chosen view. */
  lookAlong(direction: [number, number, number]) {
    const eye = new Vector3(...direction).normalize();
    const distance = this.perspective.position.distanceTo(this.controls.target);
    for (const camera of [this.perspective, this.orthographic]) camera.position.copy(this.controls.target).addScaledVector(eye, -distance);
    this.controls.update();
    this.onchange();
  }

  /** Turns the view about the upward axis, and tilts it, by angles in radians. */
  turn(around: number, over: number) {
    for (const camera of [this.perspective, this.orthographic]) {
      const eye = camera.position.clone().sub(this.controls.target);
      const tilt = Math.min(3.1, Math.max(0.04, eye.angleTo(this.up) - over)) - eye.angleTo(this.up);
      eye.applyAxisAngle(this.up.clone().cross(eye).normalize(), tilt).applyAxisAngle(this.up, around);
      camera.position.copy(this.controls.target).add(eye);
    }
    this.controls.update();
    this.onchange();
  }

  zoom(factor: number) {
    for (const camera of [this.perspective, this.orthographic]) {
      camera.position.sub(this.controls.target).divideScalar(factor).add(this.controls.target);
    }
    this.orthographic.zoom *= factor;
    this.orthographic.updateProjectionMatrix();
    this.controls.update();
    this.onchange();
  }
}
