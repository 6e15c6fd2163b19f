// The web worker of the page: starts Python with the library, then answers one request after the other. Messages are
// { id, path, body } in one direction, and { part, step }, { failed } or { id, content, error, broken } in the other.
import { loadPyodide } from "./pyodide.mjs";

const STEPS = ["Loading Python", "Unpacking the library", "Starting the library", "Ready"];
const step = (number) => postMessage({ part: number / (STEPS.length - 1), step: STEPS[number] });
const bytesOf = async (name) => {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
};

async function start() {
  step(0);
  const [library, example] = [bytesOf("library.zip"), bytesOf("windmill.3ds")];
  const python = await loadPyodide({ indexURL: new URL(".", import.meta.url).href });
  step(1);
  python.unpackArchive(await library, "zip", { extractDir: "/lib/python3.14/site-packages" });
  step(2);
  // Objects of Python are destroyed here: the garbage collector may come to them when Python must not be called.
  const called = (callable, ...given) => {
    try {
      return callable(...given);
    } finally {
      given.forEach((each) => each?.destroy?.());
    }
  };
  const begin = python.pyimport("keyframer.viewer.worker.start");
  const answer = called(begin, "windmill.3ds", python.toPy(await example));
  begin.destroy();
  onmessage = ({ data: { id, path, body } }) => {
    try {
      const result = called(answer, path, body ? python.toPy(new Uint8Array(body)) : undefined);
      const [content, error] = result.toJs();
      result.destroy();
      postMessage({ id, content: content?.buffer ?? null, error }, content ? [content.buffer] : []);
    } catch (error) { // Python itself has ended, usually because there is no more memory
      postMessage({ id, content: null, error: String(error.message ?? error).trim().split("\n").at(-1), broken: true });
    }
  };
  step(3);
}

start().catch((error) => postMessage({ failed: String(error.message ?? error).trim().split("\n").at(-1) }));
