// Runs a script with the Python of the page: node run_python.mjs PYTHON FOLDERS SCRIPT ARGUMENTS …
// PYTHON is the folder "python" of the built page; FOLDERS is a JSON list of the folders that the script may read.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

process.on("uncaughtException", (error) => { // not the line of source, which is a megabyte long
  console.error(error.message);
  process.exit(1);
});
const [pyodide, folders, script, ...args] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
python.unpackArchive(new Uint8Array(readFileSync(`${pyodide}/library.zip`)), "zip", { extractDir: "/lib/python3.14/site-packages" });
for (const folder of JSON.parse(folders)) {
  python.FS.mkdirTree(folder);
  python.mountNodeFS(folder, folder);
}
python.runPython(`import sys; sys.argv = ${JSON.stringify([script, ...args])}`);
python.runPython(readFileSync(script, "utf-8"));
