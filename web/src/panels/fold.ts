// The handle of the timeline: it opens and closes everything below the picture except the tabs. Files without keys come with
// a closed timeline, until the user has opened or closed it.
import { el } from "../dom";
import type { State, Store } from "../store";
import { hasKeys } from "../times";

/** Whether the timeline is closed. */
export const isFolded = ({ folded, info }: State): boolean => folded ?? !hasKeys(info?.tracks ?? []);

/** Style sheets read from `data-folded` of the container whether the timeline is closed. */
export function foldButton(store: Store, container: HTMLElement): HTMLElement {
  const button = el("button", {
    type: "button", class: "fold", id: "fold", title: "Open or close the timeline (T)", "aria-label": "Timeline",
    onclick: () => store.set({ folded: !isFolded(store.state) }),
  });
  const draw = (state: State): void => {
    const folded = isFolded(state);
    container.dataset.folded = folded ? "yes" : "no";
    button.textContent = folded ? "▴" : "▾";
    button.setAttribute("aria-expanded", String(!folded));
  };
  store.on(["folded", "info"], draw);
  draw(store.state);
  return button;
}
