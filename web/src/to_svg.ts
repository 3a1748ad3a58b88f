// Draws what an element shows as SVG: backgrounds, outlines, lines of text, canvases, nested SVG. One way for every view.
import { color } from "./theme";

const round = (x: number) => Math.round(x * 100) / 100;
const escape = (text: string) =>
  text
    .replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
const clear = (paint: string) => paint === "transparent" || /rgba\(.*, 0\)/.test(paint) || paint === "none";

interface Origin {
  x: number;
  y: number;
}

function box(element: Element, style: CSSStyleDeclaration, at: Origin): string {
  const border = parseFloat(style.borderTopWidth),
    outline = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  const fill = clear(style.backgroundColor) ? "none" : style.backgroundColor;
  const line = outline ? style.outlineColor : border && !clear(style.borderTopColor) ? style.borderTopColor : "none";
  const foot = border || clear(style.borderBottomColor) ? 0 : parseFloat(style.borderBottomWidth); // a line below, and none around
  if (fill === "none" && line === "none" && !foot) return "";
  let out = "";
  for (const r of Array.from(element.getClientRects())) {
    if (r.width < 0.5 || r.height < 0.5) continue;
    if (foot)
      out += `<rect x="${round(r.x - at.x)}" y="${round(r.bottom - foot - at.y)}" width="${round(r.width)}" height="${foot}" fill="${style.borderBottomColor}"/>\n`;
    if (fill === "none" && line === "none") continue;
    out +=
      `<rect x="${round(r.x - at.x)}" y="${round(r.y - at.y)}" width="${round(r.width)}" height="${round(r.height)}" rx="${round(Math.min(parseFloat(style.borderTopLeftRadius) || 0, 8))}"` +
      ` fill="${fill}"${line === "none" ? "" : ` stroke="${line}" stroke-width="${outline || border}"`}/>\n`;
  }
  return out;
}

// A text node may run over several lines: each becomes a <text> of its own.
function lines(node: Text, style: CSSStyleDeclaration, at: Origin): string {
  const range = document.createRange(),
    size = parseFloat(style.fontSize);
  const parts: { text: string; x: number; y: number }[] = [];
  const words = node.data.match(/\s+|[^\s]+/g) ?? [];
  let begin = 0;
  for (const word of words) {
    range.setStart(node, begin);
    range.setEnd(node, (begin += word.length));
    const r = range.getClientRects()[0];
    if (!r || !r.width || !word.trim()) {
      const last = parts[parts.length - 1];
      if (last && r && r.width) last.text += " ";
      continue;
    }
    const y = r.y - at.y + r.height / 2 + size * 0.35,
      last = parts[parts.length - 1];
    if (last && Math.abs(last.y - y) < 1 && / $/.test(last.text)) last.text += word;
    else parts.push({ text: word, x: r.x - at.x, y });
  }
  const look =
    `font-family="${escape(style.fontFamily)}" font-size="${size}" fill="${style.color}"` +
    (Number(style.fontWeight) >= 600 ? ' font-weight="600"' : "") +
    (style.fontStyle === "italic" ? ' font-style="italic"' : "");
  return parts
    .map((p) => `<text x="${round(p.x)}" y="${round(p.y)}" ${look}>${escape(p.text.trimEnd())}</text>\n`)
    .join("");
}

const PAINT = [
  "fill",
  "stroke",
  "stroke-width",
  "fill-opacity",
  "stroke-opacity",
  "opacity",
  "font-size",
  "font-family",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "stroke-dasharray",
];

function nested(element: SVGElement, at: Origin): string {
  const copy = element.cloneNode(true) as SVGElement,
    from = [element, ...Array.from(element.querySelectorAll<SVGElement>("*"))];
  const to = [copy, ...Array.from(copy.querySelectorAll<SVGElement>("*"))];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of PAINT) {
      const value = style.getPropertyValue(name);
      if (value) to[i].setAttribute(name, value);
    }
    to[i].removeAttribute("class");
  });
  const r = element.getBoundingClientRect();
  copy.setAttribute("x", String(round(r.x - at.x)));
  copy.setAttribute("y", String(round(r.y - at.y)));
  copy.setAttribute("width", String(round(r.width)));
  copy.setAttribute("height", String(round(r.height)));
  return new XMLSerializer().serializeToString(copy) + "\n";
}

function picture(element: Element, source: string, at: Origin): string {
  const r = element.getBoundingClientRect();
  return `<image x="${round(r.x - at.x)}" y="${round(r.y - at.y)}" width="${round(r.width)}" height="${round(r.height)}" preserveAspectRatio="none" href="${escape(source)}"/>\n`;
}

function draw(node: Node, at: Origin): string {
  if (node instanceof Text) return node.parentElement ? lines(node, getComputedStyle(node.parentElement), at) : "";
  if (!(node instanceof Element)) return "";
  if (node.matches(".no-export, [hidden], button:not(.keep), select, input, textarea, summary")) return "";
  if (node instanceof HTMLCanvasElement) return picture(node, node.toDataURL("image/png"), at);
  if (node instanceof HTMLImageElement) return picture(node, node.src, at);
  if (node instanceof SVGElement) return nested(node, at);
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden") return "";
  return (
    box(node, style, at) +
    Array.from(node.childNodes)
      .map((child) => draw(child, at))
      .join("")
  );
}

// What scrolls lies there whole while it is drawn, and then is scrolled as it was.
export function whole<T>(element: HTMLElement, drawn: () => T): T {
  const all = [element, ...Array.from(element.querySelectorAll<HTMLElement>("*"))],
    scrolled = all.filter((e) => e.scrollTop || e.scrollLeft).map((e) => [e, e.scrollTop, e.scrollLeft] as const);
  element.classList.add("whole");
  try {
    return drawn();
  } finally {
    element.classList.remove("whole");
    for (const [e, top, left] of scrolled) [e.scrollTop, e.scrollLeft] = [top, left];
  }
}

// The element in its present size, on paper, under a title.
export function to_svg(element: HTMLElement, title: string): string {
  const head = 26,
    pad = 8,
    r = element.getBoundingClientRect();
  const width = round(Math.max(r.width, element.scrollWidth) + 2 * pad),
    height = round(Math.max(r.height, element.scrollHeight) + head + 2 * pad);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
    `<rect width="${width}" height="${height}" fill="${color("paper")}"/>\n` +
    `<text x="${pad}" y="20" font-family="system-ui, sans-serif" font-size="13" font-weight="600" fill="${color("ink")}">${escape(title)}</text>\n` +
    draw(element, { x: r.x - pad, y: r.y - head - pad }) +
    "</svg>\n"
  );
}

export async function to_png(svg: string): Promise<Blob> {
  const image = new Image(),
    url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await new Promise<void>((done, failed) => {
      image.onload = () => done();
      image.onerror = () => failed(new Error("the browser could not draw the SVG"));
      image.src = url;
    });
    // Browsers have a largest canvas; a picture twice the size of the screen is as sharp as print needs.
    const scale = Math.min(2, 16000 / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    (canvas.getContext("2d") as CanvasRenderingContext2D).drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise<Blob>((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no PNG"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
