import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, type Plugin } from "vite";
import { bundleSettings } from "./bundle-settings.ts";

const root = join(import.meta.dirname, "../src/vault/web");
const outDir = join(import.meta.dirname, "../dist/web");
const staging = `${outDir}.new`;

/** Lets nothing be painted before the script has run, because it applies the user's colors. */
const renderBlockingScript: Plugin = {
  name: "render-blocking-script",
  transformIndexHtml: {
    order: "post",
    handler: (html) => html.replace('<script type="module"', '$& blocking="render"'),
  },
};

/**
 * Builds the web application from `src/vault/web` into `dist/web`: `index.html`, and files under
 * `assets/` named after their content. Nothing is inlined, because the Content-Security-Policy of
 * the page forbids it. Each asset is also there compressed with Brotli. The build is reproducible.
 */
export async function buildWeb(): Promise<void> {
  await build({
    ...bundleSettings,
    root,
    plugins: [renderBlockingScript],
    // Not for development either when tests build it: the same bytes for all.
    oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
    build: {
      outDir: staging,
      emptyOutDir: true,
      target: "es2023",
      assetsInlineLimit: 0,
      license: { fileName: "assets/licenses.md" },
      modulePreload: { polyfill: false },
      // One script when the pages open, from which code that is loaded later imports.
      rolldownOptions: {
        preserveEntrySignatures: "allow-extension",
        output: { codeSplitting: { groups: [{ name: "index", tags: ["$initial"] }] } },
      },
      cssCodeSplit: false,
      reportCompressedSize: false,
    },
  });
  // At the highest level, the default: the server compresses at its start, and less.
  for (const name of await readdir(`${staging}/assets`)) {
    const path = `${staging}/assets/${name}`;
    await writeFile(`${path}.br`, brotliCompressSync(await readFile(path)));
  }
  // A server that starts during the build reads the files of one build.
  const former = `${outDir}.former`;
  await rm(former, { recursive: true, force: true });
  if (existsSync(outDir)) await rename(outDir, former);
  await rename(staging, outDir);
  await rm(former, { recursive: true, force: true });
}

/** Returns one line per file with its size and compressed size. */
async function sizes(): Promise<string> {
  const files = (await readdir(outDir, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && !entry.name.endsWith(".br"),
  );
  const lines = files.map(async ({ parentPath, name }) => {
    const bytes = await readFile(join(parentPath, name));
    return `${name}  ${bytes.length} bytes, ${gzipSync(bytes).length} with gzip`;
  });
  return (await Promise.all(lines)).join("\n");
}

if (import.meta.main) {
  await buildWeb();
  process.stdout.write(`${await sizes()}\n`);
}
