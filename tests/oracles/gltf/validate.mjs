// Runs Khronos' glTF validator over many files in one process.
// stdin: one path a line. stdout: one JSON line for each file: {file, errors, warnings, infos, hints, messages}.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import validator from "gltf-validator";

for await (const file of createInterface({ input: process.stdin })) {
  if (!file) continue;
  const bytes = new Uint8Array(await readFile(file));
  const report = await validator.validateBytes(bytes, {
    uri: file,
    maxIssues: 0,
    writeTimestamp: false,
    externalResourceFunction: async (uri) => new Uint8Array(await readFile(join(dirname(file), decodeURIComponent(uri)))),
  });
  const issues = report.issues;
  const seen = new Map();
  for (const { code, severity, message, pointer } of issues.messages) {
    const entry = seen.get(code) ?? { code, severity, message, pointer, count: 0 };
    entry.count += 1;
    seen.set(code, entry);
  }
  console.log(JSON.stringify({
    file,
    errors: issues.numErrors,
    warnings: issues.numWarnings,
    infos: issues.numInfos,
    hints: issues.numHints,
    messages: [...seen.values()],
  }));
}
