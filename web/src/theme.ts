// Light or dark colours: as the system is set, or as the user chooses.
import type { Colors } from "./stage/stage";

export function flipTheme(): void {
  const root = document.documentElement;
  root.dataset.theme = isDark() ? "light" : "dark";
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function stageColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    background: color("view"), line: color("stage-line"), accent: color("accent"), bone: color("bone"),
  };
}
