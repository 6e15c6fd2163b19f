// The index of a gallery: filters, sorts and shows the entries of data.js, some of them at a time.
// Text from files is only ever set as text, never as markup.
"use strict";

const PER_PAGE = 60;
const VERDICTS = ["not readable", "damaged", "readable with problems", "clean"];
const FIELDS = ["words", "format", "year", "verdict", "feature", "sort"];

const element = (id) => document.getElementById(id);
const form = element("filters");
const field = (name) => form.elements.namedItem(name);

let entries = [];
let found = [];
let page = 0;

function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const whole = new Intl.NumberFormat("en");

const counted = (count, noun) => `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Return the position of a verdict, the worst first; unknown ones come last. */
function rank(verdict) {
  const at = VERDICTS.indexOf(verdict);
  return at < 0 ? VERDICTS.length : at;
}

const byPath = (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
const byNumber = (name) => (a, b) => (b[name] ?? -1) - (a[name] ?? -1) || byPath(a, b);
const isStill = (entry) => ((entry.features ?? []).includes("animation") ? 0 : 1);
const year = (entry) => (entry.date ?? "").slice(0, 4) || "unknown";
const ORDERS = {
  "": (a, b) => isStill(a) - isStill(b) || byPath(a, b),
  path: byPath,
  date: (a, b) => ((a.date ?? "9") < (b.date ?? "9") ? -1 : (a.date ?? "9") > (b.date ?? "9") ? 1 : byPath(a, b)),
  verdict: (a, b) => rank(a.verdict) - rank(b.verdict) || byPath(a, b),
  format: (a, b) => (a.format < b.format ? -1 : a.format > b.format ? 1 : byPath(a, b)),
  size: byNumber("size"),
  seconds: byNumber("seconds"),
  triangles: byNumber("triangles"),
};

function matches(entry, words, wanted) {
  return (
    (!wanted.format || entry.format === wanted.format) &&
    (!wanted.year || year(entry) === wanted.year) &&
    (!wanted.verdict || entry.verdict === wanted.verdict) &&
    (!wanted.feature || (entry.features ?? []).includes(wanted.feature)) &&
    words.every((word) => entry.text.includes(word))
  );
}

function filter() {
  const wanted = Object.fromEntries(FIELDS.map((name) => [name, field(name).value]));
  const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  found = entries.filter((entry) => matches(entry, words, wanted)).sort(ORDERS[wanted.sort] ?? byPath);
}

function thumbnail(entry) {
  const picture = make("span", "thumbnail");
  picture.setAttribute("aria-hidden", "true");
  if (!entry.frames) {
    picture.textContent = "no picture";
    return picture;
  }
  const last = Math.max(entry.frames - 1, 1);
  const style = picture.style;
  style.backgroundImage = `url("${entry.url}/strip.jpg")`;
  style.backgroundSize = `${entry.frames * 100}% 100%`;
  style.backgroundPositionX = `${((entry.still ?? 0) / last) * 100}%`;
  if (entry.frames > 1) {
    picture.classList.add("plays");
    style.animationTimingFunction = `steps(${entry.frames}, jump-none)`;
    style.animationDuration = `${Math.min(Math.max(entry.seconds ?? 2, 1), 6)}s`;
  }
  return picture;
}

function card(entry) {
  const item = make("li", "card");
  const link = make(entry.url ? "a" : "div", "link");
  if (entry.url) link.href = `${entry.url}/index.html`;
  const cut = entry.path.lastIndexOf("/") + 1;
  link.append(thumbnail(entry), make("span", "name", entry.path.slice(cut)));
  const facts = [entry.title ?? entry.format, size(entry.size)];
  if (entry.seconds) facts.push(`${entry.seconds.toPrecision(3)} s`);
  if (entry.triangles) facts.push(counted(entry.triangles, "triangle"));
  if (entry.date) facts.push(entry.date.slice(0, 10));
  if (entry.copies) facts.push(entry.copies === 1 ? "1 copy" : `${whole.format(entry.copies)} copies`);
  const verdict = make("span", "verdict", entry.verdict);
  verdict.dataset.rank = rank(entry.verdict);
  link.append(make("span", "folder", entry.path.slice(0, cut)), make("span", "facts", facts.join(" · ")), verdict);
  if (entry.message) link.append(make("span", "folder", entry.message));
  link.title = entry.path;
  item.append(link);
  return item;
}

function show() {
  const pages = Math.max(Math.ceil(found.length / PER_PAGE), 1);
  page = Math.min(Math.max(page, 0), pages - 1);
  const first = page * PER_PAGE;
  element("cards").replaceChildren(...found.slice(first, first + PER_PAGE).map(card));
  const all = counted(entries.length, "file");
  const some = found.length === entries.length ? all : `${whole.format(found.length)} of ${all}`;
  element("count").textContent = pages > 1 ? `${some}, page ${page + 1} of ${whole.format(pages)}` : some;
  element("page").textContent = `Page ${page + 1} of ${whole.format(pages)}`;
  element("pages").hidden = pages === 1;
  element("previous").disabled = page === 0;
  element("next").disabled = page === pages - 1;
}

/** Write filters and page into the address, so that Back and bookmarks work. */
function remember() {
  const values = new URLSearchParams();
  for (const name of FIELDS) if (field(name).value) values.set(name, field(name).value);
  if (page) values.set("page", page + 1);
  history.replaceState(null, "", `#${values}`);
}

function restore() {
  const values = new URLSearchParams(location.hash.slice(1));
  for (const name of FIELDS) field(name).value = values.get(name) ?? "";
  page = (Number.parseInt(values.get("page"), 10) || 1) - 1;
  filter();
  show();
}

function changed() {
  page = 0;
  filter();
  show();
  remember();
}

function turn(by) {
  page += by;
  show();
  remember();
  scrollTo(0, 0);
  element("cards").querySelector("a")?.focus();
}

/** Return each value with its number, in the order of values. */
function tally(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort();
}

/** Show how many files there are of each format, year and program, and what is not theirs. */
function figures() {
  const add = (name, counts) => {
    if (!counts.length) return;
    const row = make("tr");
    const heading = make("th", "", name);
    heading.scope = "row";
    row.append(heading, make("td", "", counts.map(([value, count]) => `${value}: ${whole.format(count)}`).join(" · ")));
    element("figures").append(row);
  };
  add("Formats", tally(entries.map((entry) => entry.format)));
  if (entries.some((entry) => entry.date)) add("Years", tally(entries.map(year)));
  add("Programs", tally(entries.flatMap((entry) => entry.writer ?? [])));
  add("Features", tally(entries.flatMap((entry) => entry.features ?? [])));
  add("Of other programs", tally(entries.flatMap((entry) => entry.stranger ?? [])));
  const copies = entries.filter((entry) => entry.copies).length;
  if (copies) add("Copies", [["files with the same content as another", copies]]);
}

function choices(name, values) {
  for (const [value, count] of tally(values)) {
    const option = make("option", "", `${value} (${whole.format(count)})`);
    option.value = value;
    field(name).append(option);
  }
}

/** data.js calls this. */
window.keyframerGallery = (data) => {
  entries = data;
  for (const entry of entries) {
    entry.text = `${entry.path} ${entry.title ?? ""} ${entry.words ?? ""} ${entry.message ?? ""}`.toLowerCase();
  }
  choices("format", entries.map((entry) => entry.format));
  if (entries.some((entry) => entry.date)) choices("year", entries.map(year));
  choices("verdict", entries.map((entry) => entry.verdict));
  choices("feature", entries.flatMap((entry) => entry.features ?? []));
  figures();
  restore();
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  element("previous").addEventListener("click", () => turn(-1));
  element("next").addEventListener("click", () => turn(1));
  addEventListener("hashchange", restore);
  document.documentElement.dataset.ready = "yes";
};
