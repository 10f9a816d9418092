// Builds the page into the Python package, with names that stay the same: the service serves
// them with an ETag, and a diff shows what changed.
import * as esbuild from "esbuild";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";

const committed = new URL("../src/metatne/service/page/", import.meta.url);
// --check builds beside the committed files and compares.
const isCheck = process.argv.includes("--check");
const out = isCheck ? new URL(".built/", import.meta.url) : committed;
const assets = new URL("assets/", out);

const options = {
  entryPoints: [
    { in: "src/main.tsx", out: "app" },
    { in: "src/style.css", out: "app" },
    { in: "src/theme.ts", out: "theme" },
  ],
  outdir: assets.pathname,
  bundle: true,
  splitting: true, // cytoscape is large and comes after the first paint
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none", // they are in licences.txt
  chunkNames: "[name]",
  metafile: true,
};

async function licences(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) names.add(found[1]);
  }
  const parts = [];
  for (const name of [...names].sort()) {
    const folder = new URL(`node_modules/${name}/`, import.meta.url);
    const { version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
    const text = await readFile(new URL("LICENSE", folder), "utf8");
    parts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return `What is in the page besides MetaTNE's own code.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

async function compare() {
  const list = async (folder) => (await readdir(folder, { recursive: true })).sort();
  const names = await list(out);
  const stale = [];
  for (const name of new Set([...names, ...(await list(committed))])) {
    const read = (folder) => readFile(new URL(name, folder)).catch((error) => error.code);
    const [built, kept] = [await read(out), await read(committed)];
    if (String(built) !== String(kept)) stale.push(name);
  }
  await rm(out, { recursive: true });
  if (stale.length === 0) return;
  console.error(`not what the sources give: ${stale.join(", ")}; run make page`);
  process.exit(1);
}

await rm(out, { recursive: true, force: true });
await mkdir(assets, { recursive: true });
await cp(new URL("static/index.html", import.meta.url), new URL("index.html", out));
await cp(new URL("static/icon.svg", import.meta.url), new URL("icon.svg", assets));

if (process.argv.includes("--watch")) {
  const context = await esbuild.context({ ...options, minify: false, logLevel: "info" });
  await context.watch();
} else {
  const { metafile } = await esbuild.build(options);
  await writeFile(new URL("licences.txt", out), await licences(metafile));
  if (isCheck) await compare();
  else
    for (const [path, { bytes }] of Object.entries(metafile.outputs))
      console.log(`${String(bytes).padStart(8)}  ${path.split("/").pop()}`);
}
