// A panel with a title, what it shows, and the menu that takes it away as SVG, PNG or CSV.
import { button, h, replace } from "./dom";
import { reason } from "./run";
import { to_png, to_svg, whole } from "./to_svg";

export interface Table {
  columns: string[];
  rows: (string | number | null)[][];
}

// Such text a spreadsheet takes for a formula, which may read files and call out: the same rule as in the files that buoy writes.
const looks_like_a_formula = (text: string) =>
  text.length > 1 && (/^[=@\t\r]/.test(text) || (/^[-+]/.test(text) && /[^-+0-9.,e%[\] ]/.test(text)));

export function to_csv(table: Table): string {
  const cell = (value: string | number | null) => {
    if (value === null || (typeof value === "number" && !Number.isFinite(value))) return "";
    const text = typeof value === "string" && looks_like_a_formula(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [table.columns, ...table.rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob),
    link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export class Card {
  readonly element: HTMLElement;
  readonly body = h("div", { class: "body" });
  private note = h("p", { class: "note", hidden: true, role: "status" });
  private tools = h("span", { class: "tools" });

  constructor(
    readonly name: string,
    readonly title: string,
    private table: () => Table,
  ) {
    const menu = h(
      "details",
      { class: "menu" },
      h("summary", { "aria-label": `Take away: ${title}` }, "Save"),
      h(
        "div",
        {},
        ...(["svg", "png", "csv"] as const).map((kind) =>
          button(
            kind.toUpperCase(),
            () => {
              menu.open = false;
              void this.take(kind).catch((error) => this.say(reason(error)));
            },
            { "data-save": kind },
          ),
        ),
      ),
    );
    document.addEventListener("pointerdown", (event) => {
      if (!menu.contains(event.target as Node)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation(); // the token stays chosen
      menu.open = false;
      menu.querySelector("summary")?.focus();
    });
    this.element = h(
      "section",
      { class: `card ${name}`, "aria-label": title, "data-card": name },
      h("header", {}, h("h2", {}, title), this.tools, menu),
      this.note,
      this.body,
    );
  }

  tool(...elements: HTMLElement[]): void {
    this.tools.append(...elements);
  }

  // One line in place of, or above, what cannot be shown.
  say(text: string): void {
    this.note.hidden = text === "";
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  clear(text = ""): void {
    replace(this.body);
    this.say(text);
  }

  async take(kind: "svg" | "png" | "csv"): Promise<void> {
    const file = `buoy-${this.name}.${kind}`;
    if (kind === "csv") return save(file, new Blob([to_csv(this.table())], { type: "text/csv" }));
    const svg = whole(this.body, () => to_svg(this.body, this.title));
    save(file, kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await to_png(svg));
  }
}
