// Compiles Python modules for the page, with the Python of the page itself: node compile_page.mjs PYODIDE IN OUT …
// IN is a zip archive of sources, and OUT becomes the same archive with compiled modules in their place: without docstrings,
// except those of numpy, which edits its own.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

process.on("uncaughtException", (error) => { // not the line of source, which is a megabyte long
  console.error(error.message);
  process.exit(1);
});
const [pyodide, ...archives] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
const compile = python.runPython(`
import ast, io, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc
from importlib.util import source_hash

def without_docstrings(source):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, False):
            node.body[:1] = [] if len(node.body) > 1 else [ast.copy_location(ast.Pass(), node.body[0])]
    return tree

def compile_archive(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as sources, zipfile.ZipFile(stream, "w") as compiled:
        for info in sources.infolist():
            name, content = info.filename, sources.read(info)
            if name.endswith(".py"):
                code = compile(content if name.startswith("numpy/") else without_docstrings(content), name, "exec", dont_inherit=True)
                name, content = name + "c", _code_to_hash_pyc(code, source_hash(content), False)
            compiled.writestr(zipfile.ZipInfo(name), bytes(content), zipfile.ZIP_DEFLATED, 9)
    return stream.getvalue()

compile_archive
`);
for (let at = 0; at < archives.length; at += 2) {
  const data = python.toPy(new Uint8Array(readFileSync(archives[at])));
  writeFileSync(archives[at + 1], compile(data).toJs());
}
