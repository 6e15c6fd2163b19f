// Keeps the files of one version of the page, so that it works offline. VERSION and FIRST are set by tools/build_page.py.
const VERSION = "VERSION";
const FIRST = ["FIRST"]; // what the first picture needs; the other files are kept when they are requested
const NAME = `keyframer ${VERSION}`;

const FRESH = { cache: "no-cache" }; // files of an earlier version may still be in the cache of the browser

addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(NAME);
  await cache.addAll(FIRST.map((name) => new Request(name, FRESH)));
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith("keyframer ") && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
})()));

addEventListener("fetch", (event) => event.respondWith((async () => {
  if (!event.request.url.startsWith(registration.scope)) return Response.error(); // no request leaves the folder of the page
  const cache = await caches.open(NAME);
  const kept = await cache.match(event.request, { ignoreSearch: true });
  if (kept) return kept;
  const answer = await fetch(event.request, FRESH);
  if (answer.ok && event.request.method === "GET") event.waitUntil(cache.put(event.request, answer.clone()));
  return answer;
})()));
