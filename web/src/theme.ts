// Light or dark colours: as the system is set, or as the user chooses. `data-theme` of the root element always has one.
import type { Colors } from "./stage/stage";

const { dataset } = document.documentElement;
let isChosen = false;

export function flipTheme(): void {
  isChosen = true;
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
}

/** Takes the setting of the system now and whenever it changes, until the user chooses. */
export function followSystemTheme(changed: () => void): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = (): void => {
    if (!isChosen) dataset.theme = dark.matches ? "dark" : "light";
    changed();
  };
  dark.addEventListener("change", follow);
  follow();
}

export function stageColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    background: color("view"), line: color("stage-line"), accent: color("accent"), bone: color("bone"),
  };
}
