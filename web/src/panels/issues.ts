// Lists the issues of the file, images that are missing, guessed or unusable, and the losses of the model.
import { el, replace } from "../dom";
import { offsetText } from "../format";
import { selectIssue, selectOffset } from "../selecting";
import type { Store } from "../store";
import type { IssueInfo, Loss, Losses, SceneInfo } from "../types";

/** The number of listed issues and images. */
export const issueCount = (info: SceneInfo | null, losses: Losses | null): number =>
  (info?.issues.length ?? 0) + (losses?.images.length ?? 0);

/** The losses of a conversion, in groups that can be folded. */
export function lossGroups(losses: Losses | null, store: Store): HTMLElement[] {
  const lossItem = ({ code, path, detail, offset }: Loss): HTMLElement => {
    const words = [el("span", { class: "code" }, code), el("span", {}, ` ${path}`), el("span", { class: "quiet" }, ` ${detail}`)];
    return offset === null ? el("div", { class: "loss" }, ...words)
      : el("button", { type: "button", class: "link loss", title: offsetText(offset), onclick: () => selectOffset(store, offset) }, ...words);
  };
  return (losses?.losses ?? []).map(({ outcome, words, count, listed }) => el(
    "details", { class: "losses", ...(outcome === "dropped" ? { open: true } : {}) },
    el("summary", {}, `${words}: ${count}`), ...listed.map(lossItem),
    count > listed.length ? el("p", { class: "quiet" }, `${count - listed.length} more, not listed`) : null,
  ));
}

export function issuesPanel(store: Store): HTMLElement {
  const list = el("div", { class: "issues", id: "issues" });
  const issueButton = (issue: IssueInfo): HTMLElement => el(
    "button", { type: "button", class: `issue ${issue.severity}`, onclick: () => selectIssue(store, issue), title: issue.path },
    el("span", { class: "badge" }, issue.severity),
    el("span", { class: "code" }, issue.code),
    el("span", { class: "message" }, issue.message),
    el("span", { class: "quiet" }, issue.offset === null ? "" : `${offsetText(issue.offset)} ${issue.path}`),
  );
  const imageItem = ({ name, status, note, users, more_users: more }: Losses["images"][number]): HTMLElement => el(
    "div", { class: `issue image ${status === "guessed" ? "info" : "warning"}` },
    el("span", { class: "badge" }, status), el("span", { class: "message name" }, name),
    note ? el("span", { class: "message" }, note) : null,
    el("span", { class: "quiet" }, [...users, ...(more ? [`${more} more`] : [])].join(", ")),
  );
  store.on(["info", "losses"], ({ info, losses }) => {
    const failure = info?.failure;
    const unlisted = Object.entries(info?.unlisted ?? {});
    replace(
      list,
      info ? el("p", { class: `verdict ${info.verdict.replaceAll(" ", "-")}` }, info.verdict) : null,
      failure ? el("p", { class: "failure" }, `The file cannot be shown: ${failure.message} (${failure.code}${failure.offset === null ? "" : ` at ${offsetText(failure.offset)}`})`) : null,
      ...(info?.issues ?? []).map(issueButton),
      ...unlisted.map(([code, count]) => el("p", { class: "quiet" }, `${code}: ${count} more, not listed`)),
      info && !info.issues.length ? el("p", { class: "quiet" }, "No issues.") : null,
      losses?.images.length ? el("h3", {}, "Images") : null,
      ...(losses?.images ?? []).map(imageItem),
      losses ? el("h3", {}, "Losses in this view and in a saved GLB") : null,
      losses ? el("p", { id: "loss-summary" }, losses.summary) : null,
      ...lossGroups(losses, store),
    );
  });
  return list;
}
