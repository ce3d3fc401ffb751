// Reads an exported file as others do and prints what it found, as JSON; fails when they would.
//
//     node read.mjs MODULES speedscope FILE    against the schema that speedscope publishes
//     node read.mjs MODULES pprof FILE         by the pprof-format package
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const [modules, format, file] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));

function speedscope(bytes) {
  const schemaFile = join(modules, "node_modules/speedscope/dist/release/file-format-schema.json");
  const schema = JSON.parse(readFileSync(schemaFile));
  const Ajv = require("ajv").default;
  const check = new Ajv({ strict: false, allErrors: true }).compile(schema);
  const document = JSON.parse(bytes);
  if (!check(document)) throw new Error(JSON.stringify(check.errors.slice(0, 5)));
  const total = (profile) => profile.weights.reduce((sum, weight) => sum + weight, 0);
  return document.profiles.map((profile) => ({ name: profile.name, unit: profile.unit, total: total(profile) }));
}

function pprof(bytes) {
  const { Profile } = require("pprof-format");
  const profile = Profile.decode(gunzipSync(bytes));
  const text = (index) => profile.stringTable.strings[Number(index)];
  const types = profile.sampleType.map((type) => `${text(type.type)}/${text(type.unit)}`);
  const totals = types.map((_, place) => profile.sample.reduce((sum, sample) => sum + Number(sample.value[place]), 0));
  const names = profile.function.map((one) => text(one.name));
  const known = new Set(profile.location.map((location) => Number(location.id)));
  for (const sample of profile.sample) {
    if (!sample.locationId.every((id) => known.has(Number(id)))) throw new Error("a location is not there");
  }
  return { types, totals, names };
}

const readers = { speedscope, pprof };
console.log(JSON.stringify(readers[format](readFileSync(file))));
