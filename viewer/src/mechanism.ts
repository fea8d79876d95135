// A mechanism in the scene: bodies, links, joints, axes, frames, mass centres, cut joints, trails.
//
// What repeats is drawn as instances or in one piece, so that a thousand bodies take no more calls than ten.

import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, ConeGeometry, CylinderGeometry, DoubleSide, DynamicDrawUsage, EdgesGeometry,
  Group, InstancedMesh, Line, LineBasicMaterial, LineSegments, type Material, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  OctahedronGeometry, Quaternion, type Raycaster, SphereGeometry, Vector3,
} from "three";
import { litAtCorners, Merged } from "./merged";
import { colourOf } from "./page";
import { type Body, floats, integers, lastNotAfter, type Motion, type Pose, POSE, type Subject, type Visual } from "./scene";

/** How bodies are drawn. */
export type Style = "ellipsoids" | "boxes" | "links" | "visuals";

export interface Shown {
  style: Style;
  axes: boolean;
  frames: boolean;
  centres: boolean;
  trails: boolean;
  loops: boolean;
}

/** Most points of a trail, and where lines are dear. */
const TRAIL = 400;
const SHORT_TRAIL = 120;

/** How finely round things are drawn: for a graphics card, for many bodies or none, for many bodies and none. */
export type Detail = "fine" | "plain" | "rough";

/** Triangles of all balls together, with a graphics card and without. */
const TRIANGLES = [60_000, 3000];

/** A ball, one of so many; `merged` is without a graphics card. */
function ball(detail: Detail, count: number, merged: boolean): BufferGeometry {
  if (detail === "fine") return new SphereGeometry(1, 28, 18);
  if (detail === "rough") return octahedron();
  // one of n parts around and 0.6 n along has about 1.2 n² triangles
  const around = Math.min(24, Math.max(7, Math.floor(Math.sqrt(TRIANGLES[Number(merged)] / (1.2 * count)))));
  return new SphereGeometry(around < 10 ? 1.06 : 1, around, Math.round(0.6 * around));
}

/** Sides of a tube. */
const SIDES: Record<Detail, number> = { fine: 16, plain: 6, rough: 4 };

/** Six corners and eight faces, lit as a ball. */
function octahedron(): BufferGeometry {
  const corners = new Float32Array([1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1]);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(corners.map((x) => 1.2 * x), 3));
  geometry.setAttribute("normal", new BufferAttribute(corners, 3));
  geometry.setIndex([0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5]);
  return geometry;
}

const UP = new Vector3(0, 1, 0);
const ZERO = new Vector3();

const quaternion = (r: ArrayLike<number>, at = 0) => new Quaternion(r[at + 1], r[at + 2], r[at + 3], r[at]);
const matrixOf = (pose: Pose, scale = new Vector3(1, 1, 1)) =>
  new Matrix4().compose(new Vector3(...pose.p), quaternion(pose.r), scale);

/** A copy of a shape, fixed in a body. */
export interface Part {
  body: number;
  local: Matrix4;
  colour: Color;
}

/** Copies of a shape, each fixed in a body, as instances. */
class Instances {
  readonly mesh: InstancedMesh;
  private readonly product = new Matrix4();

  constructor(
    geometry: BufferGeometry,
    material: Material,
    readonly parts: Part[],
  ) {
    this.mesh = new InstancedMesh(geometry, material, parts.length);
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.frustumCulled = false;
    parts.forEach((part, k) => this.mesh.setColorAt(k, part.colour));
  }

  place(world: Matrix4[]) {
    this.parts.forEach((part, k) => {
      this.mesh.setMatrixAt(k, this.product.multiplyMatrices(world[part.body], part.local));
    });
    this.mesh.instanceMatrix.needsUpdate = true;
    this.mesh.boundingSphere = null;
  }

  /** The part that was hit. */
  partOf(hit: { instanceId?: number }): Part {
    return this.parts[hit.instanceId!];
  }
}

type Copies = Instances | Merged;

/** Lines between points fixed in bodies. */
class Lines {
  readonly lines: LineSegments;
  private readonly point = new Vector3();

  /** `inside` draws lines through what is before them. */
  constructor(private readonly ends: { body: number; at: Vector3; colour: Color }[], inside = false) {
    const geometry = new BufferGeometry();
    const places = new BufferAttribute(new Float32Array(3 * ends.length), 3);
    places.setUsage(DynamicDrawUsage);
    geometry.setAttribute("position", places);
    const colours = new Float32Array(3 * ends.length);
    ends.forEach((end, k) => end.colour.toArray(colours, 3 * k));
    geometry.setAttribute("color", new BufferAttribute(colours, 3));
    this.lines = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, transparent: inside, depthTest: !inside }));
    this.lines.frustumCulled = false;
    if (inside) this.lines.renderOrder = 1;
  }

  place(world: Matrix4[]) {
    const places = this.lines.geometry.attributes.position as BufferAttribute;
    this.ends.forEach((end, k) => {
      const p = this.point.copy(end.at).applyMatrix4(world[end.body]);
      places.setXYZ(k, p.x, p.y, p.z);
    });
    places.needsUpdate = true;
  }
}

/** The matrix of a cylinder of unit length and radius from one point to another. */
function between(from: Vector3, to: Vector3, radius: number): Matrix4 {
  const along = to.clone().sub(from);
  const length = along.length();
  const turn = length > 0 ? new Quaternion().setFromUnitVectors(UP, along.divideScalar(length)) : new Quaternion();
  return new Matrix4().compose(from.clone().add(to).multiplyScalar(0.5), turn, new Vector3(radius, length, radius));
}

export class Mechanism {
  readonly group = new Group();
  /** World matrix of each body, the base first. */
  readonly world: Matrix4[];
  readonly poses: Float32Array;
  /** The size of a typical body, m. */
  readonly unit: number;
  private readonly solids: Record<"ellipsoids" | "boxes", Copies>;
  private readonly visuals = new Group();
  private readonly visualBodies: { mesh: Mesh; body: number; local: Matrix4 }[] = [];
  private readonly links: Copies;
  private readonly joints: Copies[];
  private readonly feet: Copies;
  private readonly loops: Copies;
  private readonly gaps: Lines;
  private readonly centres: Copies;
  private readonly axes: Lines;
  private readonly frames: Lines;
  private readonly trails: { line: Line; body: number; at: Vector3 }[] = [];
  /** The mass centre of all bodies. */
  private readonly whole: Mesh;
  private readonly mark: LineSegments;
  /** Corners of the boxes about the visuals of each body. */
  private readonly corners: number[][][] = [];
  private readonly shadows: { of: InstancedMesh; shadow: InstancedMesh }[] = [];
  private marked = 0;
  private only: number | null = null;
  private shown!: Shown;

  constructor(readonly subject: Subject, readonly motion: Motion | null, index: number, private readonly detail: Detail, merged: boolean) {
    const { bodies, constraints, frames } = subject.model;
    this.world = bodies.map(() => new Matrix4());
    this.poses = subject.poses ? floats(subject.poses) : new Float32Array(POSE * bodies.length).map((_, i) => (i % POSE === 3 ? 1 : 0));
    this.unit = unitOf(subject);
    const overlaid = index > 0;
    // thin things are still to be seen in a large mechanism
    const thick = Math.max(0.055 * this.unit, 0.004 * extentOf(this.poses));
    const copies = (geometry: BufferGeometry, parts: Part[], opacity = overlaid ? 0.35 : 1, depthTest = true): Copies =>
      merged
        ? new Merged(geometry, litAtCorners(opacity, depthTest), parts)
        : new Instances(geometry, new MeshLambertMaterial({ transparent: opacity < 1, opacity, depthWrite: opacity === 1, depthTest }), parts);
    const colourAt = (body: number) => new Color(colourOf(body - 1));

    const solid = (half: number) =>
      bodies.flatMap((body, k) => {
        if (!body.shape) return [];
        // a rod without thickness still is to be seen
        const size = body.shape.spread.map((x) => Math.max(half * x, 0.62 * thick));
        return [{ body: k, local: matrixOf(body.shape, new Vector3(...size)), colour: colourAt(k) }];
      });
    const round = ball(detail, bodies.length, merged);
    this.solids = {
      ellipsoids: copies(round, solid(Math.sqrt(5))),
      boxes: copies(new BoxGeometry(2, 2, 2), solid(Math.sqrt(3))),
    };

    // the ends of links are inside of joints
    const tube = new CylinderGeometry(1, 1, 1, SIDES[detail], 1, true);
    const barrel = new CylinderGeometry(1, 1, 1, SIDES[detail], 1, detail === "rough");
    const bone = (body: number) => new Color("#8b95a3").lerp(colourAt(body), 0.55);
    this.links = copies(
      tube,
      bodies.flatMap((body, k) =>
        k === 0 ? [] : body.reaches.map((end) => ({ body: k, local: between(ZERO, new Vector3(...end), 0.5 * thick), colour: bone(k) })),
      ),
    );

    // joints: barrels about their axis, blocks for slides, balls for ball joints
    const steel = new Color("#4a5361");
    const barrels: Part[] = [];
    const blocks: Part[] = [];
    const balls: Part[] = [];
    const axisEnds: { body: number; at: Vector3; colour: Color }[] = [];
    bodies.forEach((body, k) => {
      if (k === 0 || !body.axes) return;
      const turn = new Quaternion().setFromUnitVectors(UP, new Vector3(0, 0, 1));
      if (body.kind === "prismatic") {
        blocks.push({ body: k, local: new Matrix4().compose(ZERO, turn, new Vector3(1.1 * thick, 2 * thick, 1.1 * thick)), colour: steel });
      } else if (body.kind === "spherical" || body.kind === "planar") {
        balls.push({ body: k, local: new Matrix4().makeScale(1.25 * thick, 1.25 * thick, 1.25 * thick), colour: steel });
      } else if (body.kind !== "free") {
        barrels.push({ body: k, local: new Matrix4().compose(ZERO, turn, new Vector3(1.15 * thick, 3 * thick, 1.15 * thick)), colour: steel });
      }
      body.axes.forEach((axis, which) => {
        // the first axis of a universal joint stands still in the parent
        const inParent = body.kind === "universal" && which === 0;
        const carrier = inParent ? body.parent! : k;
        const pose = inParent ? matrixOf(body.placement!) : new Matrix4();
        for (const side of [-1, 1]) {
          const at = new Vector3(...axis).multiplyScalar(side * 0.4 * this.unit).applyMatrix4(pose);
          axisEnds.push({ body: carrier, at, colour: new Color(which === 0 ? "#d55e00" : "#cc79a7") });
        }
      });
    });
    this.joints = [
      copies(barrel, barrels),
      copies(new BoxGeometry(2, 2, 2), blocks),
      copies(round, balls),
    ];
    this.axes = new Lines(axisEnds, true);

    // where the ground holds the mechanism: a foot that points at the joint
    const gravity = new Vector3(...subject.model.gravity);
    const down = gravity.length() > 0 ? gravity.normalize() : new Vector3(0, 0, -1);
    const size = 2.6 * thick;
    const feet = bodies.flatMap((body, k) => {
      if (k === 0 || body.parent !== 0 || body.kind === "free") return [];
      const turn = new Quaternion().setFromUnitVectors(UP, down.clone().negate());
      const at = new Vector3(...body.placement!.p).addScaledVector(down, size / 2);
      return [{ body: 0, local: new Matrix4().compose(at, turn, new Vector3(size, size, size)), colour: new Color("#6b7582") }];
    });
    this.feet = copies(new ConeGeometry(0.75, 1, 4), feet);

    // cut joints: where the two bodies should meet, and what is between them
    const orange = new Color("#d55e00");
    const cuts: Part[] = [];
    const gapEnds: { body: number; at: Vector3; colour: Color }[] = [];
    for (const constraint of constraints) {
      constraint.bodies?.forEach((body, side) => {
        const local = matrixOf(constraint.poses![side]);
        local.multiply(new Matrix4().makeScale(1.5 * thick, 1.5 * thick, 1.5 * thick));
        cuts.push({ body, local, colour: orange });
        gapEnds.push({ body, at: new Vector3(...constraint.poses![side].p), colour: orange });
      });
    }
    this.loops = copies(new OctahedronGeometry(1), cuts);
    this.gaps = new Lines(gapEnds);

    const sizes = bodies.map(sizeOf);
    // a large body hides a small dot
    const dot = Math.max(0.6 * thick, 0.012 * Math.max(...sizes));
    const dark = new Color("#f2c14e");
    this.centres = copies(
      detail === "fine" ? new SphereGeometry(1, 10, 6) : octahedron(),
      bodies.flatMap((body, k) =>
        body.shape
          ? [{ body: k, local: new Matrix4().makeTranslation(...body.shape.p).scale(new Vector3().setScalar(dot)), colour: dark }]
          : [],
      ),
      0.95,
      false,
    );

    const axisColours = ["#d55e00", "#009e73", "#0072b2"].map((c) => new Color(c));
    const triads = [
      ...bodies.map((_, body) => ({ body, pose: { p: [0, 0, 0], r: [1, 0, 0, 0] } as Pose })),
      ...frames.filter((f) => !f.is_link),
    ];
    this.frames = new Lines(
      triads.flatMap(({ body, pose }) =>
        axisColours.flatMap((c, axis) => {
          const matrix = matrixOf(pose);
          const tip = new Vector3().setComponent(axis, 0.28 * Math.max(this.unit, 0.5 * sizes[body]));
          return [ZERO.clone(), tip].map((at) => ({ body, at: at.applyMatrix4(matrix), colour: c }));
        }),
      ),
      true,
    );

    this.whole = new Mesh(
      new SphereGeometry(1, 12, 8),
      new MeshBasicMaterial({ color: "#e3178a", depthTest: false, transparent: true, opacity: 0.9 }),
    );
    this.whole.scale.setScalar(1.5 * dot);
    this.whole.renderOrder = 2;

    this.mark = new LineSegments(
      new EdgesGeometry(new BoxGeometry(2, 2, 2)),
      new LineBasicMaterial({ color: "#f2c14e", depthTest: false, transparent: true }),
    );
    this.mark.visible = false;
    this.mark.matrixAutoUpdate = false;
    this.mark.renderOrder = 2;
    this.centres.mesh.renderOrder = 1;

    if (motion) this.makeTrails(bodies.length);
    subject.visuals?.forEach((visual) => this.addVisual(visual, overlaid));

    this.group.add(
      this.solids.ellipsoids.mesh, this.solids.boxes.mesh, this.visuals, this.links.mesh, ...this.joints.map((j) => j.mesh),
      this.feet.mesh, this.loops.mesh, this.gaps.lines, this.centres.mesh, this.axes.lines, this.frames.lines, this.whole, this.mark,
      ...this.trails.map((t) => t.line),
    );
  }

  /** The bodies and links once more, in one colour, for a shadow. They share the places of the originals. */
  makeShadow(material: Material): Group {
    const group = new Group();
    for (const copies of [this.solids.ellipsoids, this.solids.boxes, this.links]) {
      if (!copies.parts.length || this.detail !== "fine" || copies instanceof Merged) continue;
      const shadow = new InstancedMesh(copies.mesh.geometry, material, copies.parts.length);
      shadow.instanceMatrix = copies.mesh.instanceMatrix;
      shadow.frustumCulled = false;
      this.shadows.push({ of: copies.mesh, shadow });
      group.add(shadow);
    }
    return group;
  }

  get hasVisuals() {
    return this.visualBodies.length > 0;
  }

  get visualCount() {
    return this.visualBodies.length;
  }

  private addVisual(visual: Visual, overlaid: boolean) {
    const { box, cylinder, capsule, sphere, ellipsoid, mesh } = visual.geometry;
    const [around, along] = this.detail === "fine" ? [32, 20] : [12, 8];
    let geometry: BufferGeometry;
    let own = new Matrix4();
    if (box) geometry = new BoxGeometry(...box);
    else if (cylinder || capsule) {
      const [radius, length] = (cylinder ?? capsule)!;
      geometry = cylinder ? new CylinderGeometry(radius, radius, length, around) : new CapsuleGeometry(radius, length, along >> 1, around);
      own = new Matrix4().makeRotationX(Math.PI / 2); // their axis is z
    } else if (sphere) geometry = new SphereGeometry(sphere, around, along);
    else if (ellipsoid) {
      geometry = new SphereGeometry(1, around, along);
      own = new Matrix4().makeScale(...ellipsoid);
    }
    else if (mesh) {
      const indexed = new BufferGeometry();
      indexed.setAttribute("position", new BufferAttribute(floats(mesh.vertices), 3));
      indexed.setIndex(new BufferAttribute(integers(mesh.faces), 1));
      // edges of machine parts are sharp: each triangle has its own normal
      geometry = indexed.toNonIndexed();
      geometry.computeVertexNormals();
      own = new Matrix4().makeScale(...mesh.scale);
    } else return;
    const [r, g, b, a] = visual.colour ?? [0, 0, 0, 1];
    const colour = visual.colour ? new Color().setRGB(r, g, b, "srgb") : new Color(visual.body ? colourOf(visual.body - 1) : "#8b95a3");
    const material = new MeshLambertMaterial({ color: colour, side: DoubleSide });
    material.opacity = overlaid ? 0.35 : a;
    material.transparent = material.opacity < 1;
    const drawn = new Mesh(geometry, material);
    drawn.matrixAutoUpdate = false;
    drawn.frustumCulled = false;
    this.visuals.add(drawn);
    geometry.computeBoundingBox();
    const { min, max } = geometry.boundingBox!;
    const local = matrixOf(visual.pose).multiply(own);
    for (let corner = 0; corner < 8; corner++) {
      const at = new Vector3(corner & 1 ? max.x : min.x, corner & 2 ? max.y : min.y, corner & 4 ? max.z : min.z);
      (this.corners[visual.body] ??= []).push(at.applyMatrix4(local).toArray());
    }
    this.visualBodies.push({ mesh: drawn, body: visual.body, local: matrixOf(visual.pose).multiply(own) });
  }

  /** Trails of the mass centres of the bodies that carry no other, or of some of many. */
  private makeTrails(count: number) {
    const { bodies } = this.subject.model;
    const parents = new Set(bodies.map((body) => body.parent));
    const tips = bodies.map((_, k) => k).filter((k) => k > 0 && k < count && !parents.has(k));
    for (const body of tips.slice(0, 6)) {
      const geometry = new BufferGeometry();
      geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * TRAIL), 3).setUsage(DynamicDrawUsage));
      geometry.setAttribute("color", new BufferAttribute(new Float32Array(4 * TRAIL), 4).setUsage(DynamicDrawUsage));
      const line = new Line(geometry, new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
      line.frustumCulled = false;
      const own = bodies[body];
      const end = own.reaches.length ? own.reaches[0] : (own.shape?.p ?? [0, 0, 0]);
      this.trails.push({ line, body, at: new Vector3(...end) });
    }
  }

  /** What is drawn. */
  show(shown: Shown) {
    this.shown = shown;
    const style = shown.style === "visuals" && !this.hasVisuals ? "ellipsoids" : shown.style;
    const alone = this.only !== null;
    this.solids.ellipsoids.mesh.visible = style === "ellipsoids";
    this.solids.boxes.mesh.visible = style === "boxes";
    this.visuals.visible = style === "visuals";
    this.links.mesh.visible = style !== "visuals" && !alone;
    for (const joint of this.joints) joint.mesh.visible = style !== "visuals" && !alone && (this.detail !== "rough" || style === "links");
    this.feet.mesh.visible = style !== "visuals" && !alone;
    this.loops.mesh.visible = this.gaps.lines.visible = shown.loops && !alone;
    this.centres.mesh.visible = this.whole.visible = shown.centres && !alone;
    this.axes.lines.visible = shown.axes && !alone;
    this.frames.lines.visible = shown.frames && !alone;
    for (const trail of this.trails) trail.line.visible = shown.trails && !alone;
    for (const { of, shadow } of this.shadows) shadow.visible = of.visible && !alone;
  }

  /** Draws one body alone, as its ellipsoid: for tests of what is where. */
  isolate(body: number | null) {
    this.only = body;
    this.show(this.shown);
    this.place();
  }

  /** Moves everything to where it is at a time. */
  moveTo(t: number) {
    this.motion?.at(t, this.poses);
    this.place();
    if (this.motion && this.shown.trails) for (const trail of this.trails) this.drawTrail(trail, t);
  }

  /** Moves everything to these poses. */
  movePoses(poses: Float32Array) {
    this.poses.set(poses);
    this.place();
  }

  private place() {
    const position = new Vector3();
    const turn = new Quaternion();
    const unit = new Vector3(1, 1, 1);
    for (let k = 0; k < this.world.length; k++) {
      const i = POSE * k;
      const p = this.poses;
      position.set(p[i], p[i + 1], p[i + 2]);
      turn.set(p[i + 4], p[i + 5], p[i + 6], p[i + 3]);
      this.world[k].compose(position, turn, unit);
    }
    const hidden = new Matrix4().makeScale(0, 0, 0);
    const world = this.only === null ? this.world : this.world.map((m, k) => (k === this.only ? m : hidden));
    for (const copies of [this.solids.ellipsoids, this.solids.boxes, this.links, ...this.joints, this.feet, this.loops, this.centres]) {
      if (copies.mesh.visible && copies.parts.length) copies.place(world);
    }
    for (const lines of [this.gaps, this.axes, this.frames]) if (lines.lines.visible) lines.place(this.world);
    if (this.visuals.visible) {
      for (const { mesh, body, local } of this.visualBodies) mesh.matrix.multiplyMatrices(world[body], local);
    }
    if (this.whole.visible) this.massCentre(this.whole.position);
    if (this.marked) this.placeMark();
  }

  private placeMark() {
    const shape = this.subject.model.bodies[this.marked].shape;
    if (!shape) return;
    const size = shape.spread.map((x) => Math.max(Math.sqrt(3) * x, 0.03 * this.unit) * 1.12);
    this.mark.matrix.multiplyMatrices(this.world[this.marked], matrixOf(shape, new Vector3(...size)));
    this.mark.matrixWorldNeedsUpdate = true;
  }

  /** Marks a body; 0 marks none. */
  select(body: number) {
    this.marked = body;
    this.mark.visible = body > 0 && !!this.subject.model.bodies[body].shape;
    if (body) this.placeMark();
  }

  private drawTrail({ line, body, at }: { line: Line; body: number; at: Vector3 }, t: number) {
    const motion = this.motion!;
    const places = line.geometry.attributes.position as BufferAttribute;
    const colours = line.geometry.attributes.color as BufferAttribute;
    const tint = new Color(colourOf(body - 1));
    const last = lastNotAfter(motion.time, t);
    const first = Math.max(0, last - (this.detail === "fine" ? TRAIL : SHORT_TRAIL) + 2);
    const p = new Vector3();
    const turn = new Quaternion();
    let n = 0;
    for (let frame = first; frame <= last; frame++) {
      const pose = motion.pose(frame, body);
      p.copy(at).applyQuaternion(turn.set(pose[4], pose[5], pose[6], pose[3]));
      places.setXYZ(n, p.x + pose[0], p.y + pose[1], p.z + pose[2]);
      colours.setXYZW(n, tint.r, tint.g, tint.b, 0.75 * ((frame - first + 1) / (last - first + 1)) ** 1.5);
      n++;
    }
    p.copy(at).applyMatrix4(this.world[body]);
    places.setXYZ(n, p.x, p.y, p.z);
    colours.setXYZW(n, tint.r, tint.g, tint.b, 0.75);
    line.geometry.setDrawRange(0, n + 1);
    places.needsUpdate = colours.needsUpdate = true;
  }

  /** The body under a ray, and where. */
  pick(ray: Raycaster): { body: number; at: Vector3; distance: number } | null {
    const targets = [this.solids.ellipsoids, this.solids.boxes, this.links, ...this.joints].filter((c) => c.mesh.visible && c.parts.length);
    const found: { body: number; at: Vector3; distance: number }[] = [];
    for (const copies of targets) {
      const [hit] = ray.intersectObject(copies.mesh, false);
      if (hit) found.push({ body: copies.partOf(hit).body, at: hit.point, distance: hit.distance });
    }
    if (this.visuals.visible) {
      for (const { mesh, body } of this.visualBodies) {
        mesh.updateMatrixWorld(true);
        const [hit] = ray.intersectObject(mesh, false);
        if (hit) found.push({ body, at: hit.point, distance: hit.distance });
      }
    }
    found.sort((a, b) => a.distance - b.distance);
    return found.find((hit) => hit.body > 0) ?? null;
  }

  /** The middle of the joints that the ground holds; none if it holds none. */
  heldAt(): Vector3 | null {
    const held = this.subject.model.bodies.filter((body) => body.parent === 0 && body.kind !== "free");
    if (!held.length) return null;
    const middle = new Vector3();
    for (const body of held) middle.add(new Vector3(...body.placement!.p));
    return middle.divideScalar(held.length);
  }

  /** The mass centre of everything. */
  massCentre(out: Vector3): Vector3 {
    out.set(0, 0, 0);
    let mass = 0;
    const p = new Vector3();
    this.subject.model.bodies.forEach((body, k) => {
      if (!body.shape || !body.mass) return;
      out.addScaledVector(p.set(...body.shape.p).applyMatrix4(this.world[k]), body.mass);
      mass += body.mass;
    });
    return mass > 0 ? out.divideScalar(mass) : out;
  }

  /** Points that are to be seen: of all bodies, at up to this many instants of the motion. */
  *points(instants: number): Generator<{ point: Vector3; instant: number }> {
    const { bodies } = this.subject.model;
    const frames = this.motion ? Math.min(instants, this.motion.time.length) : 1;
    const p = new Vector3();
    for (let k = 0; k < frames; k++) {
      const frame = frames > 1 ? Math.round((k * (this.motion!.time.length - 1)) / (frames - 1)) : 0;
      for (let body = 0; body < bodies.length; body++) {
        const pose = this.motion ? this.motion.pose(frame, body) : this.poses.subarray(POSE * body, POSE * body + POSE);
        const turn = quaternion(pose, 3);
        const shape = bodies[body].shape;
        const ends: number[][] = body > 0 ? [[0, 0, 0], ...bodies[body].reaches] : [];
        ends.push(...(this.corners[body] ?? []));
        if (shape) {
          const spread = Math.sqrt(5) * Math.max(...shape.spread);
          for (let axis = 0; axis < 3; axis++) {
            for (const side of [-spread, spread]) ends.push(shape.p.map((x, i) => (i === axis ? x + side : x)));
          }
        }
        for (const end of ends) {
          p.set(end[0], end[1], end[2]).applyQuaternion(turn);
          p.x += pose[0];
          p.y += pose[1];
          p.z += pose[2];
          yield { point: p, instant: k };
        }
      }
    }
  }
}

/** The longest side of the box about the origins of all bodies. */
function extentOf(poses: Float32Array): number {
  let extent = 0;
  for (let axis = 0; axis < 3; axis++) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = POSE; i < poses.length; i += POSE) {
      low = Math.min(low, poses[i + axis]);
      high = Math.max(high, poses[i + axis]);
    }
    extent = Math.max(extent, high - low);
  }
  return Number.isFinite(extent) ? extent : 0;
}

/** How far a body reaches, m. */
function sizeOf(body: Body): number {
  const reach = Math.max(0, ...body.reaches.map((end) => Math.hypot(...end)));
  return Math.max(reach, body.shape ? Math.sqrt(12) * Math.max(...body.shape.spread) : 0);
}

/** The median size of the bodies: how thick lines and joints are drawn. */
function unitOf(subject: Subject): number {
  const sizes = subject.model.bodies.map(sizeOf).filter((size) => size > 0);
  sizes.sort((a, b) => a - b);
  return sizes.length ? sizes[sizes.length >> 1] : 1;
}
