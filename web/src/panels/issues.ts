// What is wrong with the file, as a list that leads to the node and to the bytes.
import { el, replace } from "../dom";
import { offsetText } from "../format";
import { selectIssue } from "../selecting";
import type { Store } from "../store";

export function issuesPanel(store: Store): HTMLElement {
  const list = el("div", { class: "issues", id: "issues" });
  store.on(["info"], ({ info }) => {
    const failure = info?.failure;
    const more = Object.entries(info?.unlisted ?? {});
    replace(
      list,
      info ? el("p", { class: `verdict ${info.verdict.replaceAll(" ", "-")}` }, info.verdict) : null,
      failure ? el("p", { class: "failure" }, `Nothing can play: ${failure.message} (${failure.code} at ${offsetText(failure.offset)})`) : null,
      ...(info?.issues ?? []).map((issue) => el(
        "button", { type: "button", class: `issue ${issue.severity}`, onclick: () => selectIssue(store, issue), title: issue.path },
        el("span", { class: "badge" }, issue.severity),
        el("span", { class: "code" }, issue.code),
        el("span", { class: "message" }, issue.message),
        el("span", { class: "quiet" }, `${offsetText(issue.offset)} ${issue.path}`),
      )),
      ...more.map(([code, count]) => el("p", { class: "quiet" }, `${code}: ${count} more, not listed`)),
      info && !info.issues.length ? el("p", { class: "quiet" }, "Nothing to report.") : null,
    );
  });
  return list;
}
