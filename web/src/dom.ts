// Builds page elements. Text from data only ever becomes text nodes.

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value as EventListener);
    else if (key === "value") (element as HTMLInputElement).value = String(value);
    else if (key === "checked" || key === "selected" || key === "disabled") (element as unknown as Props)[key] = true;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

export function s(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  fill(element, props, children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  fill(parent, {}, children);
}

export interface Choice {
  value: string;
  label: string;
  group?: string; // stand together under this name, where there are several
}

export function select(
  label: string,
  choices: Choice[],
  value: string,
  change: (value: string) => void,
): HTMLSelectElement {
  const element = h("select", { "aria-label": label, onchange: () => change(element.value) });
  set_choices(element, choices, value);
  return element;
}

// Leaves the element alone where nothing changes, so that an open list is not closed.
export function set_choices(element: HTMLSelectElement, given: Choice[], value: string): void {
  const groups = Array.from(new Set(given.map((c) => c.group))),
    choices = groups.flatMap((group) => given.filter((c) => c.group === group)),
    several = groups.filter((group) => group !== undefined).length > 1;
  const same =
    element.options.length === choices.length &&
    choices.every((c, i) => element.options[i].value === c.value && element.options[i].text === c.label);
  if (!same)
    replace(
      element,
      ...groups.flatMap((group) => {
        const some = choices
          .filter((c) => c.group === group)
          .map((c) => h("option", { value: c.value }, c.label));
        return several && group !== undefined ? [h("optgroup", { label: group }, ...some)] : some;
      }),
    );
  if (element.value !== value) element.value = value;
}

export function field(label: string, input: HTMLElement): HTMLLabelElement {
  return h("label", { class: "field" }, h("span", {}, label), input);
}

export function button(label: string, click: (event: Event) => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick: click, ...props }, label);
}
