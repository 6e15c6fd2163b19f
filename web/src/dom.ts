// Creates elements. Text is added as text nodes, never parsed as markup.

type Child = Node | string | null;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** Creates an element. Functions (`on…`) become event listeners, `value` is set as a property if the element has one, and
 * all others become attributes; undefined and false are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: Properties = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "value" && "value" in element) (element as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== null) element.append(typeof child === "string" ? document.createTextNode(child) : child);
  }
  return element;
}

/** A drawing of lines in a square of 16 units, in the colour of the text. */
export function icon(paths: string[]): SVGElement {
  const make = (tag: string, attributes: Record<string, string>): SVGElement => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const drawing = make("svg", { viewBox: "0 0 16 16", width: "14", height: "14", class: "icon", "aria-hidden": "true" });
  drawing.append(...paths.map((d) => make("path", { d })));
  return drawing;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => child !== null));
}

/** A button that can be on or off. */
export function toggle(label: string, title: string, on: boolean, changed: (on: boolean) => void): HTMLButtonElement {
  const button = el("button", { type: "button", class: "toggle", title, "aria-pressed": String(on) }, label);
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(now));
    changed(now);
  });
  return button;
}

export function setPressed(button: HTMLButtonElement, on: boolean): void {
  button.setAttribute("aria-pressed", String(on));
}

export interface Choice { value: string; label: string }

export function fillSelect(select: HTMLSelectElement, choices: Choice[], chosen: string): void {
  replace(select, ...choices.map(({ value, label }) => el("option", { value }, label)));
  select.value = chosen;
}
