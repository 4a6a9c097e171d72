import { execFileSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { build, type Plugin } from "vite";
import { codeOf } from "../src/lib/errors.ts";
import { packageVersion } from "../src/lib/package-version.ts";
import { bundleSettings, threadModules } from "./bundle-settings.ts";
import { pack } from "./release/archive.ts";

const root = join(import.meta.dirname, "..");
const adminDirectory = join(root, "src/vault/cli/");
const accountDirectory = join(adminDirectory, "account/");

/** Name of the platform in file names, e.g. `linux-x64`. */
const platform = `${process.platform}-${process.arch}`;

interface Executable {
  readonly bytes: number;
  /** It has no debugging symbols. */
  readonly isStripped: boolean;
}

const NO_SERVER =
  "this executable has no vault server and no command for its storage: use the image or the npm package";

/** Replaces the commands that run the vault server, or that open its storage, by an error. */
const withoutServer: Plugin = {
  name: "without-server",
  enforce: "pre",
  resolveId: (_source, importer, { kind }) =>
    kind === "dynamic-import" &&
    importer?.startsWith(adminDirectory) === true &&
    !importer.startsWith(accountDirectory)
      ? "\0no-server"
      : undefined,
  load: (id) =>
    id === "\0no-server" ? `throw new Error(${JSON.stringify(NO_SERVER)});` : undefined,
};

const THREADS = "\0threads";

/** The entry of the bundle that all threads run. */
const allThreads: Plugin = {
  name: "all-threads",
  resolveId: (source) => (source === THREADS ? source : undefined),
  load: (id) =>
    id === THREADS
      ? threadModules.map(({ path }) => `import ${JSON.stringify(path)};`).join("\n")
      : undefined,
};

/** Bundles a program with all its packages into one file. */
async function bundle(
  input: Readonly<Record<string, string>>,
  outDir: string,
  format: "es" | "cjs",
): Promise<void> {
  await build({
    ...bundleSettings,
    root,
    plugins: [withoutServer, allThreads],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: "esnext",
      minify: true,
      rolldownOptions: {
        input,
        output: { codeSplitting: false, format, entryFileNames: "[name].js" },
      },
    },
  });
}

/**
 * Copies this Node without its debugging symbols: they are a fifth of it. Returns whether they are
 * gone: a machine without `strip` keeps them.
 */
async function copyNode(path: string): Promise<boolean> {
  const isMac = process.platform === "darwin";
  await copyFile(process.execPath, path);
  await chmod(path, 0o755);
  if (isMac) execFileSync("codesign", ["--remove-signature", path]);
  try {
    execFileSync("strip", [isMac ? "-x" : "--strip-all", path]);
    return true;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return false;
  }
}

/**
 * Builds the command line as one executable of this platform: Node, the program and its packages.
 * It has everything but the vault server. Needs `codesign` on macOS.
 */
export async function buildExecutable(output: string): Promise<Executable> {
  const scratch = await mkdtemp(join(tmpdir(), "vaultsync-executable-"));
  try {
    await bundle({ main: join(root, "src/main.ts") }, scratch, "es");
    await bundle({ threads: THREADS }, scratch, "cjs");
    const threads = join(scratch, "threads.js");
    await writeFile(`${threads}.br`, brotliCompressSync(await readFile(threads)));
    const isStripped = await copyNode(join(scratch, "node"));
    // The executable has the path of its program in it: a relative one is equal in all builds.
    await writeFile(
      join(scratch, "executable.json"),
      JSON.stringify({
        main: "main.js",
        mainFormat: "module",
        executable: "node",
        output: resolve(output),
        disableExperimentalSEAWarning: true,
        // NODE_OPTIONS of the user's own Node is not meant for this program.
        execArgvExtension: "none",
        assets: { "threads.cjs.br": "threads.js.br" },
      }),
    );
    execFileSync(process.execPath, ["--build-sea", "executable.json"], {
      cwd: scratch,
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (process.platform === "darwin") execFileSync("codesign", ["--sign", "-", output]);
    return { bytes: (await stat(output)).size, isStripped };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Packs the executable with its licenses. Needs THIRD_PARTY_NOTICES of `npm run build`. */
async function archive(directory: string): Promise<string> {
  const name = `vaultsync-${packageVersion()}-${platform}.tar.gz`;
  const licenses = ["LICENSE", "THIRD_PARTY_NOTICES"];
  for (const file of licenses) await copyFile(join(root, file), join(directory, file));
  pack(directory, ["vaultsync", ...licenses], join(directory, name));
  return name;
}

if (import.meta.main) {
  const directory = join(root, "dist-executable");
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  const { bytes, isStripped } = await buildExecutable(join(directory, "vaultsync"));
  const note = isStripped ? "" : ", a fifth less with strip (install binutils)";
  process.stdout.write(`dist-executable/vaultsync: ${(bytes / 1e6).toFixed(1)} MB${note}\n`);
  if (process.argv.includes("--archive"))
    process.stdout.write(`dist-executable/${await archive(directory)}\n`);
}
