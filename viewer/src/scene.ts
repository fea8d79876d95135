// The scene as catena writes it (catena-scene/1), and its blocks of numbers.

export type Vector = [number, number, number];
/** w, x, y, z. */
export type Quaternion = [number, number, number, number];

export interface Pose {
  p: Vector;
  r: Quaternion;
}

export interface Body {
  name: string;
  /** Points that the body reaches to, in its own frame. */
  reaches: Vector[];
  merged?: string[];
  joint?: string;
  kind?: string;
  parent?: number;
  q?: [number, number];
  v?: [number, number];
  placement?: Pose;
  /** Axes of its joint in its own frame; the first axis of a universal joint is fixed in the parent. */
  axes?: Vector[];
  mass?: number;
  inertia?: number[];
  /** Mass centre, principal axes, standard deviations of the mass along them. */
  shape?: (Pose & { spread: Vector; moments: Vector }) | null;
}

export interface Freedom {
  name: string;
  body: number;
  /** Its position coordinate; none where a quaternion takes its place. */
  q: number | null;
  turns: boolean;
  unit: string;
  force_unit: string;
  limits: [number, number] | null;
  max_effort: number | null;
}

export interface Frame {
  name: string;
  body: number;
  pose: Pose;
  is_link: boolean;
}

export interface Constraint {
  name: string;
  kind: string;
  rows: number;
  bodies?: [number, number];
  poses?: [Pose, Pose];
}

export interface Model {
  name: string;
  gravity: Vector;
  mass: number;
  nq: number;
  nv: number;
  base: string;
  bodies: Body[];
  freedoms: Freedom[];
  frames: Frame[];
  constraints: Constraint[];
  assumptions: string[];
  warnings: string[];
}

export interface Column {
  name: string;
  unit: string;
  over: "curve" | "frame";
  bits: 32 | 64;
  values: string;
}

export interface Law {
  law: string;
  worst: number | null;
  allowed: number | null;
  time: number | null;
  kept: boolean | null;
  unit: string;
}

export interface Audit {
  steps?: number;
  rejected?: number;
  evaluations?: number;
  laws?: Law[];
  work?: number;
  dissipated?: number;
  events?: { name: string; time: number }[];
}

export interface Geometry {
  box?: Vector;
  /** Radius and length. */
  cylinder?: [number, number];
  /** Radius, and length without the half spheres. */
  capsule?: [number, number];
  sphere?: number;
  /** Semi-axes. */
  ellipsoid?: Vector;
  mesh?: { vertices: string; faces: string; scale: Vector };
}

export interface Visual {
  body: number;
  pose: Pose;
  geometry: Geometry;
  colour: [number, number, number, number] | null;
}

export interface Matrices {
  inertia: number[][];
  u: number[][];
  d: number[];
}

export interface Finding {
  level: "good" | "note" | "warning";
  text: string;
}

export interface Subject {
  name: string;
  model: Model;
  poses?: string;
  state?: { q: number[] };
  motion?: {
    rows: number;
    finished: boolean;
    frames: number;
    frame_time: string;
    poses: string;
    coordinates: string;
    curve_time: string;
    columns: Column[];
    columns_left_out: number;
  };
  audit?: Audit | null;
  command?: string | null;
  facts?: Record<string, unknown>;
  visuals?: Visual[];
  matrices?: Matrices;
  findings?: Finding[];
  equations?: string;
}

/** Pictures that are wanted instead of the page. */
export interface Render {
  width: number;
  height: number;
  times: number[];
  view: "corner" | "front" | "side" | "top";
  /** Instead of a view: from which direction, in world axes. */
  from: Vector | null;
  zoom: number;
  dark: boolean;
  clock: boolean;
  /** Pictures per second of a movie in H.264; null asks for pictures. */
  movie: number | null;
}

export interface Scene {
  format: string;
  render?: Render;
  version: string;
  abilities: string[];
  subjects: Subject[];
}

function bytes(text: string): ArrayBuffer {
  const letters = atob(text);
  const block = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) block[k] = letters.charCodeAt(k);
  return block.buffer;
}

export const floats = (text: string) => new Float32Array(bytes(text));
export const doubles = (text: string) => new Float64Array(bytes(text));
export const integers = (text: string) => new Uint32Array(bytes(text));

/** A curve over time. */
export interface Curve {
  name: string;
  unit: string;
  time: Float64Array;
  values: Float32Array | Float64Array;
}

/** Numbers of a pose: x, y, z, qw, qx, qy, qz. */
export const POSE = 7;

/** The motion of a subject, decoded. */
export class Motion {
  readonly time: Float64Array;
  readonly curves: Curve[];
  readonly stride: number;
  private readonly poses: Float32Array;
  private readonly coordinates: Float32Array;
  private readonly nq: number;

  constructor(subject: Subject) {
    const motion = subject.motion!;
    this.time = doubles(motion.frame_time);
    this.poses = floats(motion.poses);
    this.coordinates = floats(motion.coordinates);
    this.nq = subject.model.nq;
    this.stride = POSE * subject.model.bodies.length;
    const curveTime = doubles(motion.curve_time);
    this.curves = motion.columns.map((column) => ({
      name: column.name,
      unit: column.unit,
      time: column.over === "frame" ? this.time : curveTime,
      values: column.bits === 64 ? doubles(column.values) : floats(column.values),
    }));
  }

  get start() {
    return this.time[0];
  }

  get end() {
    return this.time[this.time.length - 1];
  }

  /** The last frame that is not after t, and how far t is on the way to the next. */
  private locate(t: number): [number, number] {
    const k = lastNotAfter(this.time, t);
    if (k >= this.time.length - 1) return [this.time.length - 1, 0];
    const gap = this.time[k + 1] - this.time[k];
    return [k, gap > 0 ? Math.min(1, Math.max(0, (t - this.time[k]) / gap)) : 0];
  }

  /** Poses at a time: between frames, positions on a line and orientations on an arc. */
  at(t: number, out: Float32Array) {
    const [k, s] = this.locate(t);
    const a = k * this.stride;
    if (s === 0) {
      out.set(this.poses.subarray(a, a + this.stride));
      return;
    }
    const p = this.poses;
    const b = a + this.stride;
    for (let i = 0; i < this.stride; i += POSE) {
      for (let c = 0; c < 3; c++) out[i + c] = p[a + i + c] * (1 - s) + p[b + i + c] * s;
      let dot = 0;
      for (let c = 3; c < 7; c++) dot += p[a + i + c] * p[b + i + c];
      const sign = dot < 0 ? -1 : 1;
      const angle = Math.acos(Math.min(1, dot * sign));
      let from = 1 - s;
      let to = s;
      if (angle > 1e-3) {
        from = Math.sin((1 - s) * angle) / Math.sin(angle);
        to = Math.sin(s * angle) / Math.sin(angle);
      }
      let length = 0;
      for (let c = 3; c < 7; c++) {
        out[i + c] = from * p[a + i + c] + sign * to * p[b + i + c];
        length += out[i + c] ** 2;
      }
      length = Math.sqrt(length);
      for (let c = 3; c < 7; c++) out[i + c] /= length;
    }
  }

  /** Position coordinates of the frame nearest to t. */
  coordinatesAt(t: number): number[] {
    const [k, s] = this.locate(t);
    const row = s > 0.5 ? k + 1 : k;
    return Array.from(this.coordinates.subarray(row * this.nq, (row + 1) * this.nq));
  }

  /** Position of a body in a frame. */
  place(frame: number, body: number, out: { x: number; y: number; z: number }) {
    const i = frame * this.stride + body * POSE;
    out.x = this.poses[i];
    out.y = this.poses[i + 1];
    out.z = this.poses[i + 2];
  }

  /** Pose of a body in a frame, seven numbers. */
  pose(frame: number, body: number): Float32Array {
    const i = frame * this.stride + body * POSE;
    return this.poses.subarray(i, i + POSE);
  }
}

/** Index of the last time that is not after t; 0 if there is none. */
export function lastNotAfter(time: Float64Array, t: number): number {
  let low = 0;
  let high = time.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The value of a curve at a time, linear in between. */
export function valueAt(curve: Curve, t: number): number {
  const k = lastNotAfter(curve.time, t);
  if (k + 1 >= curve.time.length) return curve.values[k];
  const gap = curve.time[k + 1] - curve.time[k];
  const s = gap > 0 ? Math.min(1, Math.max(0, (t - curve.time[k]) / gap)) : 0;
  return curve.values[k] * (1 - s) + curve.values[k + 1] * s;
}
