// Copies of a shape in one piece, for machines without a graphics card.
//
// There every instance is a draw call of its own, and light is dear in every pixel. So the corners of all copies are moved here, go to the
// card as one mesh, and are lit at the corners alone.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Matrix3, Matrix4, Mesh, ShaderMaterial, Vector3 } from "three";
import type { Part } from "./mechanism";

/** Directions of the light, in the world. The stage sets them. */
export const light = { sun: { value: new Vector3(0, 0, 1) }, up: { value: new Vector3(0, 0, 1) } };

/** Intensity of sun and sky, and the sky's colour from below: as the lights of the stage. */
export const BRIGHTNESS = 2.1;
export const FROM_BELOW = 0x98a2b3;

const vertexShader = `
attribute vec3 color;
uniform vec3 sun;
uniform vec3 up;
varying vec3 shade;
void main() {
  vec3 below = vec3(0.314, 0.361, 0.451);
  vec3 light = mix(below, vec3(1.0), 0.5 * dot(normal, up) + 0.5) + vec3(max(dot(normal, sun), 0.0));
  vec3 shine = min(color * light * ${(BRIGHTNESS / Math.PI).toFixed(4)}, vec3(1.0));
  shade = mix(12.92 * shine, 1.055 * pow(shine, vec3(0.41666)) - 0.055, step(0.0031308, shine));
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
}`;

const fragmentShader = `
uniform float opacity;
varying vec3 shade;
void main() {
  gl_FragColor = vec4(shade, opacity);
}`;

/** A surface that is lit at its corners. */
export function litAtCorners(opacity: number, depthTest = true): ShaderMaterial {
  const transparent = opacity < 1;
  return new ShaderMaterial({
    vertexShader, fragmentShader, transparent, depthTest, depthWrite: !transparent,
    uniforms: { sun: light.sun, up: light.up, opacity: { value: opacity } },
  });
}

/** Copies of a shape, each fixed in a body, as one mesh. */
export class Merged {
  readonly mesh: Mesh;
  /** Corners and normals of all copies in the axes of their bodies. */
  private readonly corners: Float32Array;
  private readonly normals: Float32Array;
  private readonly count: number;
  private readonly faces: number;

  constructor(geometry: BufferGeometry, material: ShaderMaterial, readonly parts: Part[]) {
    const { position, normal } = geometry.attributes;
    const count = (this.count = position.count);
    const index = geometry.index ? Array.from(geometry.index.array) : Array.from({ length: count }, (_, k) => k);
    this.faces = index.length / 3;
    this.corners = new Float32Array(3 * count * parts.length);
    this.normals = new Float32Array(3 * count * parts.length);
    const colours = new Float32Array(3 * count * parts.length);
    const indices = new Uint32Array(index.length * parts.length);
    const p = new Vector3();
    const turn = new Matrix3();
    parts.forEach(({ local, colour }, k) => {
      turn.getNormalMatrix(local);
      for (let i = 0; i < count; i++) {
        const at = 3 * (k * count + i);
        p.fromBufferAttribute(position, i).applyMatrix4(local).toArray(this.corners, at);
        p.fromBufferAttribute(normal, i).applyMatrix3(turn).normalize().toArray(this.normals, at);
        colour.toArray(colours, at);
      }
      index.forEach((corner, i) => (indices[k * index.length + i] = k * count + corner));
    });
    const merged = new BufferGeometry();
    merged.setAttribute("position", new BufferAttribute(new Float32Array(this.corners), 3).setUsage(DynamicDrawUsage));
    merged.setAttribute("normal", new BufferAttribute(new Float32Array(this.normals), 3).setUsage(DynamicDrawUsage));
    merged.setAttribute("color", new BufferAttribute(colours, 3));
    merged.setIndex(new BufferAttribute(indices, 1));
    this.mesh = new Mesh(merged, material);
    this.mesh.frustumCulled = false;
  }

  place(world: Matrix4[]) {
    const { position, normal } = this.mesh.geometry.attributes as Record<string, BufferAttribute>;
    const [to, turned] = [position.array, normal.array];
    const [from, straight] = [this.corners, this.normals];
    let i = 0;
    for (const { body } of this.parts) {
      const m = world[body].elements;
      const [a, b, c, d, e, f, g, h, k, x, y, z] = [m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10], m[12], m[13], m[14]];
      for (const end = i + 3 * this.count; i < end; i += 3) {
        const [px, py, pz] = [from[i], from[i + 1], from[i + 2]];
        to[i] = a * px + b * py + c * pz + x;
        to[i + 1] = d * px + e * py + f * pz + y;
        to[i + 2] = g * px + h * py + k * pz + z;
        const [nx, ny, nz] = [straight[i], straight[i + 1], straight[i + 2]];
        turned[i] = a * nx + b * ny + c * nz;
        turned[i + 1] = d * nx + e * ny + f * nz;
        turned[i + 2] = g * nx + h * ny + k * nz;
      }
    }
    position.needsUpdate = normal.needsUpdate = true;
    this.mesh.geometry.boundingSphere = null;
  }

  /** The part that a face belongs to. */
  partOf(hit: { faceIndex?: number | null }): Part {
    return this.parts[Math.floor(hit.faceIndex! / this.faces)];
  }
}
