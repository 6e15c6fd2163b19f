// Prints, for each .glb given on stdin, a line of JSON: the bytes of the file, of the file after dedup and prune of
// glTF-Transform without and with unused vertex attributes and leaves, and the numbers of keys before and after its
// resample. Needs @gltf-transform/functions (npm install --no-save @gltf-transform/functions@4.5.1).
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Logger, NodeIO, Verbosity } from "@gltf-transform/core";
import { ALL_EXTENSIONS } from "@gltf-transform/extensions";
import { dedup, prune, resample } from "@gltf-transform/functions";

const logger = new Logger(Verbosity.SILENT);
const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).setLogger(logger);
const keys = (document) =>
  document.getRoot().listAnimations().flatMap((animation) => animation.listSamplers())
    .reduce((sum, sampler) => sum + sampler.getInput().getCount(), 0);

for await (const path of createInterface({ input: process.stdin })) {
  const bytes = new Uint8Array(readFileSync(path));
  const transformed = async (...transforms) => {
    const document = (await io.readBinary(bytes)).setLogger(logger);
    const before = keys(document);
    await document.transform(...transforms);
    return { size: (await io.writeBinary(document)).length, before, after: keys(document) };
  };
  const kept = await transformed(dedup(), prune({ keepAttributes: true, keepLeaves: true }));
  const least = await transformed(dedup(), prune());
  const resampled = await transformed(resample());
  const { before, after } = resampled;
  console.log(JSON.stringify({ file: bytes.length, kept: kept.size, least: least.size, before, after }));
}
