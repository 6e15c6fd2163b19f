// The tree of nodes, with a search that keeps the ancestors of its results, and buttons that hide nodes in the picture.
import { el, icon, replace, setPressed, toggle } from "../dom";
import { counted } from "../format";
import { isolate, selectNode, showAll, toggleHidden } from "../selecting";
import type { Store } from "../store";
import { narrowWindow } from "./sheets";
import type { NodeInfo, SceneInfo, TrackInfo } from "../types";

const ICONS: Record<string, string> = {
  object: "▣", dummy: "◇", bone: "╱", camera: "◉", light: "☼", target: "+", ambient: "○",
};

export interface Row { node: number; depth: number; hasChildren: boolean }

/** The nodes with a track whose values change. */
export const movingNodes = (tracks: TrackInfo[]): Set<number> =>
  new Set(tracks.flatMap((track) => (track.moves && track.node !== null ? [track.node] : [])));

/** The rows to show, parents before children. With a search text or `among`, only the nodes that match both, and their
 * ancestors. Children of `closed` nodes are left out, unless there is a search text. */
export function treeRows(
  nodes: NodeInfo[], search: string, closed: ReadonlySet<number>, among: ReadonlySet<number> | null = null,
): Row[] {
  const children = new Map<number | null, number[]>();
  nodes.forEach((node, index) => {
    const list = children.get(node.parent) ?? [];
    list.push(index);
    children.set(node.parent, list);
  });
  const wanted = search.trim().toLowerCase();
  const matching = new Set<number>();
  const filtered = wanted !== "" || among !== null;
  if (filtered) {
    nodes.forEach((node, index) => {
      if (!`${node.name} ${node.kind}`.toLowerCase().includes(wanted) || (among && !among.has(index))) return;
      for (let at: number | null = index; at !== null && !matching.has(at); at = nodes[at]?.parent ?? null) matching.add(at);
    });
  }
  const rows: Row[] = [];
  const seen = new Set<number>();
  const stack: [number, number][] = (children.get(null) ?? []).map((node): [number, number] => [node, 0]).reverse();
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [node, depth] = next;
    if (seen.has(node) || (filtered && !matching.has(node))) continue;
    seen.add(node);
    const shownChildren = (children.get(node) ?? []).filter((child) => !filtered || matching.has(child));
    rows.push({ node, depth, hasChildren: shownChildren.length > 0 });
    if (!wanted && closed.has(node)) continue;
    for (let at = shownChildren.length - 1; at >= 0; at--) stack.push([shownChildren[at] ?? 0, depth + 1]);
  }
  return rows;
}

const EYE = ["M1 8s2.6-4.5 7-4.5S15 8 15 8s-2.6 4.5-7 4.5S1 8 1 8z", "M8 6.2a1.8 1.8 0 1 0 .01 0z"];
const CLOSED_EYE = ["M1.5 7.5S4 11.5 8 11.5s6.5-4 6.5-4", "M3.2 10 2 11.8", "M8 11.6V14", "M12.8 10l1.2 1.8"];

const ROW = 22;
const TOUCHED_ROW = 36; // in a narrow window; style.css has the same numbers
const AHEAD = 100;

/** The range of rows to create in a scrolled list: the visible rows, and some before and after them. */
export function rowsToMake(scrolled: number, height: number, count: number, row = ROW): [from: number, to: number] {
  const from = Math.max(0, Math.floor(scrolled / row) - AHEAD);
  return [Math.min(from, count), Math.min(count, Math.ceil((scrolled + height) / row) + AHEAD)];
}

export function treePanel(store: Store): HTMLElement {
  const closed = new Set<number>();
  const search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search nodes", id: "search" });
  const list = el("div", { class: "tree", role: "tree", "aria-label": "Nodes", tabindex: 0, id: "tree" });
  const moving = toggle("Moving", "Show only animated nodes, here and in the dope sheet (M)", false, (on) => store.set({ movingOnly: on }));
  moving.id = "moving";
  const count = el("div", { class: "quiet", "aria-live": "polite", id: "node-count" });
  let rows: Row[] = [];
  let rowOf = new Map<number, number>();
  let created: [number, number] = [0, 0];
  const narrow = narrowWindow();
  const rowHeight = (): number => narrow.matches ? TOUCHED_ROW : ROW;

  const draw = (): void => {
    const { info, movingOnly } = store.state;
    rows = info ? treeRows(info.nodes, search.value, closed, movingOnly ? movingNodes(info.tracks) : null) : [];
    rowOf = new Map(rows.map((row, place) => [row.node, place]));
    const all = info?.nodes.length ?? 0;
    count.textContent = search.value || movingOnly ? `${rows.length} of ${counted(all, "node")}` : counted(all, "node");
    fill();
    revealSelected();
  };
  const fill = (): void => {
    const { info } = store.state;
    const most = Math.max(0, rows.length * rowHeight() - list.clientHeight); // the list may be shorter than before
    created = rowsToMake(Math.min(list.scrollTop, most), list.clientHeight, rows.length, rowHeight());
    const [from, to] = created;
    const spacer = (count: number): HTMLElement | null => {
      if (!count) return null;
      const blank = el("div", { role: "presentation" });
      blank.style.height = `${count * rowHeight()}px`;
      return blank;
    };
    replace(list, spacer(from), ...rows.slice(from, to).map((row) => item(info as SceneInfo, row)), spacer(rows.length - to));
    markSelected();
  };
  const item = (info: SceneInfo, row: Row): HTMLElement => {
    const node = info.nodes[row.node] as NodeInfo;
    const open = row.hasChildren ? (closed.has(row.node) ? "▸" : "▾") : " ";
    const isHidden = store.state.hidden.has(row.node);
    const eye = el("button", {
      type: "button", class: "eye", tabindex: -1, "aria-label": `Hide ${node.name}`, "aria-pressed": String(isHidden), title: isHidden ? "Show (H)" : "Hide (H)",
      onclick: (event: MouseEvent) => {
        event.stopPropagation();
        toggleHidden(store, row.node);
        list.focus(); // the button was replaced
      },
    }, icon(isHidden ? CLOSED_EYE : EYE));
    const element = el(
      "div",
      {
        class: `row${node.hidden ? " unseen" : ""}${isHidden ? " off" : ""}`, role: "treeitem", id: `node-${row.node}`, "aria-level": row.depth + 1, title: node.name,
        "aria-setsize": rows.length, "aria-posinset": (rowOf.get(row.node) ?? 0) + 1,
        "aria-expanded": row.hasChildren ? String(!closed.has(row.node)) : undefined,
        onclick: (event: MouseEvent) => {
          if ((event.target as Element).classList.contains("open")) return toggleOpen(row.node);
          selectNode(store, row.node);
        },
      },
      el("span", { class: "open" }, open),
      el("span", { class: `sign ${node.kind}`, "aria-hidden": "true" }, ICONS[node.kind] ?? "▣"),
      el("span", { class: "name" }, node.name), eye,
    );
    element.style.paddingInlineStart = `${Math.min(row.depth, 12) * 14}px`;
    return element;
  };
  const toggleOpen = (node: number): void => {
    if (!closed.delete(node)) closed.add(node);
    draw();
  };
  /** Marks the selected row and scrolls it into view. */
  const revealSelected = (): void => {
    const place = store.state.node === null ? undefined : rowOf.get(store.state.node);
    if (place !== undefined && (place < created[0] || place >= created[1])) {
      list.scrollTop = place * rowHeight() - list.clientHeight / 2;
      fill();
    }
    markSelected()?.querySelector(".name")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // the row may be wider than the tree
  };
  /** Marks the selected row without scrolling, because the user may be scrolling the list. */
  const markSelected = (): Element | null => {
    for (const row of list.querySelectorAll(".row")) row.setAttribute("aria-selected", String(row.id === `node-${store.state.node}`));
    const chosen = list.querySelector('[aria-selected="true"]');
    if (chosen) list.setAttribute("aria-activedescendant", chosen.id);
    return chosen;
  };
  list.addEventListener("scroll", () => {
    const first = Math.floor(list.scrollTop / rowHeight());
    const last = Math.ceil((list.scrollTop + list.clientHeight) / rowHeight());
    if (first < created[0] || Math.min(last, rows.length) > created[1]) fill();
  });
  list.addEventListener("keydown", (event) => {
    const at = (store.state.node === null ? undefined : rowOf.get(store.state.node)) ?? -1;
    const selected = rows[at];
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -rows.length, End: rows.length }[event.key];
    if (step !== undefined) {
      const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
      if (next) selectNode(store, next.node);
    } else if (event.key === "ArrowLeft" && selected) {
      if (selected.hasChildren && !closed.has(selected.node)) toggleOpen(selected.node);
      else selectNode(store, store.state.info?.nodes[selected.node]?.parent ?? selected.node);
    } else if (event.key === "ArrowRight" && selected) {
      const child = selected.hasChildren ? rows[at + 1] : undefined;
      if (closed.has(selected.node)) toggleOpen(selected.node);
      else if (child) selectNode(store, child.node);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  search.addEventListener("input", draw);
  narrow.addEventListener("change", draw);
  let nodes: NodeInfo[] | undefined;
  store.on(["info"], ({ info }) => {
    if (info?.nodes !== nodes) { // another file, not another clip of the same file
      closed.clear();
      search.value = "";
      list.scrollTop = 0;
    }
    nodes = info?.nodes;
    draw();
  });
  store.on(["movingOnly"], ({ movingOnly }) => {
    setPressed(moving, movingOnly);
    draw();
  });
  store.on(["node"], revealSelected);
  store.on(["hidden"], fill);
  const button = (id: string, label: string, title: string, act: () => void): HTMLButtonElement =>
    el("button", { type: "button", id, title, onclick: act }, label);
  const hide = button("hide", "Hide", "Hide or show the selection (H)", () => toggleHidden(store, store.state.node));
  const isolated = button("isolate", "Isolate", "Show only the selection (I)", () => isolate(store));
  const all = button("show-all", "Show all", "Show everything that was hidden here (S)", () => showAll(store));
  const update = (): void => {
    const { node, hidden } = store.state;
    hide.disabled = isolated.disabled = node === null;
    hide.textContent = node !== null && hidden.has(node) ? "Show" : "Hide";
    all.disabled = !hidden.size;
  };
  store.on(["node", "hidden"], update);
  update();
  return el(
    "section", { class: "panel left", "aria-label": "Tree" },
    el("div", { class: "filter" }, search, moving), list, count, el("div", { class: "filter" }, hide, isolated, all),
  );
}
