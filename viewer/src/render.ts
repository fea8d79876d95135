// Pictures for papers: the stage alone, every wanted instant as a PNG in the document, or all of them as a movie.

import { colour, h } from "./page";
import type { Render, Scene } from "./scene";
import { Stage } from "./stage";

export async function renderAll(app: HTMLElement, scene: Scene, wanted: Render) {
  const { width, height } = wanted;
  document.documentElement.dataset.theme = wanted.dark ? "dark" : "light";
  document.body.className = "render";
  const holder = h("div");
  holder.style.width = `${width}px`;
  holder.style.height = `${height}px`;
  app.replaceChildren(holder);
  const stage = new Stage(holder, scene, "fine");
  stage.sharpness = 1;
  stage.look(wanted.view);
  if (wanted.from) stage.lookAlong(wanted.from.map((x) => -x) as [number, number, number]);
  stage.zoom(wanted.zoom);
  const paper = h("canvas", { width, height });
  const pen = paper.getContext("2d", { willReadFrequently: wanted.movie === null })!;
  const draw = (t: number) => {
    stage.moveTo(t);
    stage.render();
    // one colour: movies in GIF have no room for more
    pen.fillStyle = colour("--sky");
    pen.fillRect(0, 0, width, height);
    pen.drawImage(stage.canvas, 0, 0, width, height);
    if (wanted.clock) {
      pen.fillStyle = colour("--soft");
      pen.font = `${Math.max(12, Math.round(height / 32))}px system-ui, "DejaVu Sans", sans-serif`;
      pen.fillText(`t = ${t.toFixed(2)} s`, 0.02 * width, height - 0.03 * height);
    }
  };
  if (wanted.movie !== null) {
    const movie = await encode(paper, wanted.movie, wanted.times, draw);
    if (movie) {
      app.replaceChildren(h("i", { class: "movie" }, JSON.stringify(movie)));
      return;
    }
  }
  const pictures = h("div");
  for (const t of wanted.times) {
    draw(t);
    pictures.append(h("i", { class: "picture" }, paper.toDataURL("image/png")));
  }
  app.replaceChildren(pictures);
}

/** The description that a decoder needs, and every picture: whether it stands alone, and its bytes. */
interface Movie {
  description: string;
  pictures: { key: boolean; data: string }[];
}

/** Encodes the pictures as H.264; null where this browser cannot. */
async function encode(paper: HTMLCanvasElement, rate: number, times: number[], draw: (t: number) => void): Promise<Movie | null> {
  if (typeof VideoEncoder === "undefined") return null;
  const { width, height } = paper;
  // about a quarter of a bit for a pixel: thin lines stay sharp
  const config: VideoEncoderConfig = {
    codec: `avc1.4200${level(width, height, rate)}`, width, height, framerate: rate, avc: { format: "avc" },
    bitrate: Math.max(1e6, 0.25 * width * height * rate), bitrateMode: "variable", latencyMode: "quality",
  };
  const { supported } = await VideoEncoder.isConfigSupported(config);
  if (!supported) return null;
  const movie: Movie = { description: "", pictures: [] };
  let failure: unknown = null;
  const encoder = new VideoEncoder({
    output: (chunk, about) => {
      if (about?.decoderConfig?.description) movie.description = base64(about.decoderConfig.description);
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      movie.pictures.push({ key: chunk.type === "key", data: base64(bytes) });
    },
    error: (error) => (failure = error),
  });
  encoder.configure(config);
  try {
    for (const [k, t] of times.entries()) {
      draw(t);
      const frame = new VideoFrame(paper, { timestamp: Math.round((1e6 * k) / rate), duration: Math.round(1e6 / rate) });
      encoder.encode(frame, { keyFrame: k % Math.max(1, Math.round(2 * rate)) === 0 });
      frame.close();
      // no more pictures wait than fit the memory
      while (encoder.encodeQueueSize > 8 && !failure) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await encoder.flush();
  } catch (error) {
    failure ??= error;
  }
  return failure || !movie.description || movie.pictures.length !== times.length ? null : movie;
}

/** The least level of H.264 for a size and a rate, in two hexadecimal digits. */
function level(width: number, height: number, rate: number): string {
  const blocks = Math.ceil(width / 16) * Math.ceil(height / 16);
  const levels: [string, number, number][] = [["1e", 1620, 40500], ["1f", 3600, 108000], ["28", 8192, 245760], ["2a", 8704, 522240], ["32", 22080, 589824]];
  return levels.find(([, most, each]) => blocks <= most && blocks * rate <= each)?.[0] ?? "34";
}

function base64(data: AllowSharedBufferSource): string {
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array((data as ArrayBufferView).buffer, (data as ArrayBufferView).byteOffset, data.byteLength);
  let letters = "";
  for (let k = 0; k < bytes.length; k += 32768) letters += String.fromCharCode(...bytes.subarray(k, k + 32768));
  return btoa(letters);
}
