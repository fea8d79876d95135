// Small helpers for elements and numbers. Texts go in as text: nothing that comes from a file is ever read as HTML.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child != null && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** A few digits, for people. */
export function short(x: number | null | undefined, digits = 4): string {
  if (x == null || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size < 1e-3 || size >= 1e5 ? Number(x.toPrecision(Math.max(1, digits - 1))).toExponential() : String(Number(x.toPrecision(digits)));
  return text.replaceAll("-", "−").replace("e+", "e");
}

/** A value of a style variable. */
export const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Okabe and Ito's colours, which colour-blind readers can tell apart, without black and with a readable yellow. */
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a7f87"];

export const colourOf = (index: number) => COLOURS[index % COLOURS.length];

/** Dash patterns: with the colours they tell 24 lines apart. */
export const dashOf = (index: number): number[] | undefined => [undefined, [6, 4], [2, 3]][Math.floor(index / COLOURS.length) % 3];
