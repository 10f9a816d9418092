// Node 20 does not read TypeScript: the tests are bundled first, then run by node's own runner.
import * as esbuild from "esbuild";
import { readdirSync } from "node:fs";
import { spawnSync } from "node:child_process";

const files = readdirSync("tests").filter((name) => name.endsWith(".test.ts"));
await esbuild.build({
  entryPoints: files.map((name) => `tests/${name}`),
  outdir: ".tests",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
});
const built = files.map((name) => `.tests/${name.replace(/ts$/, "mjs")}`);
process.exit(spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...built], { stdio: "inherit" }).status ?? 1);
