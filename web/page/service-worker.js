// Keeps the files of one version of the page, so that it works offline. VERSION, FIRST and SHA256 are set by
// tools/build_page.py.
const VERSION = "VERSION";
const FIRST = ["FIRST"]; // what the first picture needs; the other files are kept when they are requested
const SHA256 = { "name": "SHA256" }; // of every file of this version
const NAME = `keyframer ${VERSION}`;

const FRESH = { cache: "no-cache" }; // files of an earlier version may still be in the cache of the browser

/** Requests a file and keeps it, if it is one of this version; null if the server has another. */
async function kept(request, cache) {
  const answer = await fetch(request, FRESH);
  if (!answer.ok || answer.redirected || request.method !== "GET") return answer;
  const name = new URL(request.url).pathname.slice(new URL(registration.scope).pathname.length) || "index.html";
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.clone().arrayBuffer()));
  if ([...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("") !== SHA256[name]) return null;
  await cache.put(request, answer.clone());
  return answer;
}

/** Leaves the page to the version of the server, which has a file of another one: two versions never work together. */
async function leave() {
  const newest = await fetch(location.href, FRESH).then((answer) => answer.text());
  if (newest.includes(VERSION)) return; // the server has no other version, but a damaged file
  await Promise.all([caches.delete(NAME), registration.unregister()]);
  for (const client of await clients.matchAll({ type: "window" })) void client.navigate(client.url).catch(() => null);
}

addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(NAME);
  const answers = await Promise.all(FIRST.map((name) => kept(new Request(new URL(name, registration.scope)), cache)));
  if (!answers.every((answer) => answer?.ok)) throw new Error("the server has files of several versions");
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith("keyframer ") && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
})()));

addEventListener("fetch", (event) => event.respondWith((async () => {
  if (!event.request.url.startsWith(registration.scope)) return Response.error(); // no request leaves the folder of the page
  const cache = await caches.open(NAME);
  const known = await cache.match(event.request, { ignoreSearch: true });
  const answer = known ?? await kept(event.request, cache);
  if (!answer) event.waitUntil(leave());
  return answer ?? Response.error();
})()));
