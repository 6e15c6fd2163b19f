// Compiles Kaitai Struct descriptions to Python. Standard input: a list of descriptions as JSON (parsed YAML).
// Standard output: an object of file names and their text.
import { readFileSync } from "node:fs";
import compiler from "kaitai-struct-compiler";

const files = {};
for (const description of JSON.parse(readFileSync(0, "utf8"))) {
  Object.assign(files, await compiler.compile("python", description, null, false));
}
process.stdout.write(JSON.stringify(files));
