// Questions to the server that serves the page, if one does.

import { floats, type Finding, type Matrices, type Scene } from "./scene";

export interface Posture {
  q: number[];
  poses: Float32Array;
  gravity: number[];
  potential: number;
  gap: number | null;
}

/** The scene: inside the page, or from the server. */
export async function loadScene(): Promise<Scene> {
  const inside = document.getElementById("scene");
  const scene: Scene = inside ? JSON.parse(inside.textContent ?? "") : await (await fetch("scene.json")).json();
  inside?.remove();
  if (scene.format !== "catena-scene/1") throw new Error(`this page cannot show ${scene.format}`);
  return scene;
}

async function ask(path: string, question: object): Promise<any> {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const read = await answer.json();
  if (read.error) throw new Error(read.hint ? `${read.error} (${read.hint})` : read.error);
  return read;
}

export async function askPosture(q: number[], held: number | null): Promise<Posture> {
  const answer = await ask("pose", { subject: 0, q, held });
  return { ...answer, poses: floats(answer.poses) };
}

export const askMatrices = (q: number[]): Promise<Matrices> => ask("matrices", { subject: 0, q });

export async function askFindings(q: number[]): Promise<Finding[]> {
  return (await ask("findings", { subject: 0, q })).findings;
}
