// The tree of nodes, with a search that keeps the way to what it finds.
import { el, replace } from "../dom";
import { selectNode } from "../selecting";
import type { Store } from "../store";
import type { NodeInfo, SceneInfo } from "../types";

const SIGNS: Record<string, string> = {
  object: "▣", dummy: "◇", bone: "╱", camera: "◉", light: "☼", target: "+", ambient: "○",
};

export interface Row { node: number; depth: number; hasChildren: boolean }

/** The rows to show, parents before children; with words to search for, only what has them, and what is above it. */
export function treeRows(nodes: NodeInfo[], search: string, closed: ReadonlySet<number>): Row[] {
  const children = new Map<number | null, number[]>();
  nodes.forEach((node, index) => {
    const list = children.get(node.parent) ?? [];
    list.push(index);
    children.set(node.parent, list);
  });
  const wanted = search.trim().toLowerCase();
  const kept = new Set<number>();
  if (wanted) {
    nodes.forEach((node, index) => {
      if (!`${node.name} ${node.kind}`.toLowerCase().includes(wanted)) return;
      for (let at: number | null = index; at !== null && !kept.has(at); at = nodes[at]?.parent ?? null) kept.add(at);
    });
  }
  const rows: Row[] = [];
  const seen = new Set<number>();
  const stack: [number, number][] = (children.get(null) ?? []).map((node): [number, number] => [node, 0]).reverse();
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [node, depth] = next;
    if (seen.has(node) || (wanted && !kept.has(node))) continue;
    seen.add(node);
    const below = children.get(node) ?? [];
    rows.push({ node, depth, hasChildren: below.length > 0 });
    if (wanted || !closed.has(node)) stack.push(...below.map((each): [number, number] => [each, depth + 1]).reverse());
  }
  return rows;
}

const MOST_ROWS = 2000;

export function treePanel(store: Store): HTMLElement {
  const closed = new Set<number>();
  const search = el("input", { type: "search", placeholder: "Search nodes", "aria-label": "Search nodes", id: "search" });
  const list = el("div", { class: "tree", role: "tree", "aria-label": "Nodes", tabindex: 0, id: "tree" });
  const count = el("div", { class: "quiet", "aria-live": "polite" });
  let rows: Row[] = [];

  const draw = (): void => {
    const info = store.state.info;
    rows = info ? treeRows(info.nodes, search.value, closed) : [];
    replace(list, ...rows.slice(0, MOST_ROWS).map((row) => item(info as SceneInfo, row)));
    const all = info?.nodes.length ?? 0;
    const listed = rows.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${rows.length} rows: search for more` : "";
    count.textContent = listed || (search.value ? `${rows.length} of ${all} nodes` : `${all} nodes`);
    mark();
  };
  const item = (info: SceneInfo, row: Row): HTMLElement => {
    const node = info.nodes[row.node] as NodeInfo;
    const open = row.hasChildren ? (closed.has(row.node) ? "▸" : "▾") : " ";
    const made = el(
      "div",
      {
        class: "row", role: "treeitem", id: `node-${row.node}`, "aria-level": row.depth + 1, title: node.name,
        "aria-expanded": row.hasChildren ? String(!closed.has(row.node)) : undefined,
        onclick: (event: MouseEvent) => {
          if ((event.target as Element).classList.contains("open")) return flip(row.node);
          selectNode(store, row.node);
        },
      },
      el("span", { class: "open" }, open),
      el("span", { class: `sign ${node.kind}`, "aria-hidden": "true" }, SIGNS[node.kind] ?? "▣"),
      el("span", { class: "name" }, node.name),
    );
    made.style.paddingInlineStart = `${Math.min(row.depth, 12) * 14}px`;
    return made;
  };
  const flip = (node: number): void => {
    if (!closed.delete(node)) closed.add(node);
    draw();
  };
  const mark = (): void => {
    for (const row of list.children) row.setAttribute("aria-selected", String(row.id === `node-${store.state.node}`));
    const chosen = list.querySelector('[aria-selected="true"]');
    if (chosen) {
      list.setAttribute("aria-activedescendant", chosen.id);
      chosen.scrollIntoView({ block: "nearest" });
    }
  };
  list.addEventListener("keydown", (event) => {
    const at = rows.findIndex((row) => row.node === store.state.node);
    const here = rows[at];
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -rows.length, End: rows.length }[event.key];
    if (step !== undefined) {
      const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
      if (next) selectNode(store, next.node);
    } else if (event.key === "ArrowLeft" && here) {
      if (here.hasChildren && !closed.has(here.node)) flip(here.node);
      else selectNode(store, store.state.info?.nodes[here.node]?.parent ?? here.node);
    } else if (event.key === "ArrowRight" && here && closed.has(here.node)) flip(here.node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  search.addEventListener("input", draw);
  store.on(["info"], () => {
    closed.clear();
    search.value = "";
    draw();
  });
  store.on(["node"], mark);
  return el("section", { class: "panel left", "aria-label": "Tree" }, search, list, count);
}
