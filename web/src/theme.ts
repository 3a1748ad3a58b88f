// Colours of the figures (buoy/draw/theme), light and dark, and the scale of received attention ÷ null.

const DIVERGING = [0x0b4a86, 0x3a80bc, 0x8cb8dd, 0xd2e3f0, 0xfafaf9, 0xfae1ca, 0xf3b27b, 0xdd7a2a, 0xa34700];
// On dark paper the ends change places in lightness, as in the report: nothing is dark, much is light.
const DIVERGING_DARK = [0xa5d2f7, 0x5fa3dc, 0x2f6fa8, 0x23425e, 0x20252c, 0x56361a, 0x9a5a1c, 0xe08a35, 0xffc78f];
const TIDE = [0xf6f9fb, 0xd9e8f0, 0xacd0e1, 0x78b0d0, 0x4a8dbb, 0x2a689f, 0x17447a, 0x0b2450];
const TIDE_DARK = [0x1a1f26, 0x1d3247, 0x20486b, 0x2a6594, 0x4487ba, 0x74addb, 0xabd1ef, 0xe0f0fb];

const LIGHT: Record<string, number> = {
  s0: 0x0072b2,
  s1: 0xd55e00,
  s2: 0x009e73,
  s3: 0xcc79a7,
  s4: 0xe69f00,
  s5: 0x56b4e9,
  paper: 0xffffff,
  ink: 0x1f2430,
  soft: 0x5b6270,
  axis: 0x8a909c,
  grid: 0xe7e9ed,
  blank: 0xe4e5e8,
  band: 0xeef0f4,
  shade: 0xdfe3ea,
  mark: 0xa0195b,
};
const DARK: Record<string, number> = {
  s0: 0x4fa8de,
  s1: 0xf0843a,
  s2: 0x2fc39a,
  s3: 0xdb93bb,
  s4: 0xf0b429,
  s5: 0x8fd0f5,
  paper: 0x14171c,
  ink: 0xe4e7ec,
  soft: 0xa0a8b6,
  axis: 0x79818e,
  grid: 0x2b313a,
  blank: 0x2a2f38,
  band: 0x22272f,
  shade: 0x343b47,
  mark: 0xf0609a,
};

const dark_query = window.matchMedia("(prefers-color-scheme: dark)");
export const is_dark = () => dark_query.matches;
export const on_theme = (change: () => void) => dark_query.addEventListener("change", change);

export const hex = (color: number) => "#" + color.toString(16).padStart(6, "0");
export const color = (name: string) => hex((is_dark() ? DARK : LIGHT)[name]);
export const color_number = (name: string) => (is_dark() ? DARK : LIGHT)[name];

function mixed(colors: number[], t: number): number {
  const place = Math.min(Math.max(t, 0), 1) * (colors.length - 1),
    i = Math.min(Math.floor(place), colors.length - 2),
    f = place - i;
  let out = 0;
  for (const shift of [16, 8, 0]) {
    const a = (colors[i] >> shift) & 255,
      b = (colors[i + 1] >> shift) & 255;
    out |= Math.round(a + (b - a) * f) << shift;
  }
  return out;
}

function luminance(color: number): number {
  const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return (
    0.2126 * linear(((color >> 16) & 255) / 255) +
    0.7152 * linear(((color >> 8) & 255) / 255) +
    0.0722 * linear((color & 255) / 255)
  );
}

// Ink or white, whichever is easier to read; black where neither reaches 4.5 to 1 (WCAG AA).
export function ink_on(background: number): number {
  const light = luminance(background),
    contrast = (other: number) =>
      (Math.max(light, luminance(other)) + 0.05) / (Math.min(light, luminance(other)) + 0.05);
  const better = contrast(0x1f2430) >= contrast(0xffffff) ? 0x1f2430 : 0xffffff;
  return contrast(better) >= 4.5 ? better : 0x000000;
}

// Colours stand in a table of LEVELS entries, so that a token's colour is a class and a cell's a number.
export const LEVELS = 33;
export const SPAN = 4; // the scale ends at 2^-4 and 2^4 times the null

export function level_of(lift: number): number {
  if (!(lift > 0)) return lift === 0 ? 0 : (LEVELS - 1) / 2;
  const t = Math.min(Math.max(Math.log2(lift) / (2 * SPAN) + 0.5, 0), 1);
  return Math.round(t * (LEVELS - 1));
}

export type Scale = "lift" | "share";
export function level_color(level: number, scale: Scale = "lift"): number {
  const t = level / (LEVELS - 1);
  return scale === "lift" ? mixed(is_dark() ? DIVERGING_DARK : DIVERGING, t) : mixed(is_dark() ? TIDE_DARK : TIDE, t);
}

// A canvas pixel: bytes R, G, B, A in little-endian order.
export const pixel = (color: number) => (0xff000000 | ((color & 255) << 16) | (color & 0xff00) | (color >> 16)) >>> 0;

export function tide(t: number): number {
  return mixed(is_dark() ? TIDE_DARK : TIDE, t);
}

const REGION_NAMES = ["s2", "s0", "s4", "s5", "s3", "s1"];
// Regions keep their colour within a run: fixed ones by kind, passages in turn.
export function region_color(name: string, index: number): string {
  if (/^(bos|template|system|tail)$/i.test(name)) return color("axis");
  if (/^query|question/i.test(name)) return color("mark");
  if (/^answer/i.test(name)) return color("s1");
  const passage = /^Doc(\d+)$/.exec(name);
  return color(REGION_NAMES[(passage ? Number(passage[1]) - 1 : index) % 5]);
}
