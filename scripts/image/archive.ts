import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import { writeOciArchive, type WrittenImage } from "../../test/lab/images/oci-archive.ts";
import { lastStage } from "./last-stage.ts";

const root = join(import.meta.dirname, "../..");
const shownLines = 15;

/** Runs a program to its end. @throws Error with the end of its output when it fails */
async function run(command: string, args: readonly string[], cwd = root): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (code === 0) return;
  const lines = `${output}${errors}`.trimEnd().split("\n").slice(-shownLines);
  throw new Error(`${[command, ...args].join(" ")} failed with ${code}:\n${lines.join("\n")}`);
}

/**
 * Builds the image without Docker and writes it to an OCI archive: what the stages of the
 * Dockerfile build, with the Node that runs this script and the libraries of this machine. Its last
 * stage defines the layers and settings.
 * @throws Error on a system without Debian's packages
 */
export async function writeImageArchive(
  { name, file }: { readonly name: string; readonly file: string },
  progress: Progress,
): Promise<WrittenImage> {
  const stage = lastStage(await readFile(join(root, "Dockerfile"), "utf8"));
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-image-"));
  try {
    const application = join(directory, "application");
    await mkdir(application);
    progress.update("Building the program and the web application");
    await run(process.execPath, [join(root, "scripts/build.ts")]);
    progress.update("Installing the packages of the image");
    await installPackages(application);
    for (const path of ["LICENSE", "dist", "THIRD_PARTY_NOTICES"])
      await cp(join(root, path), join(application, path), { recursive: true });
    progress.update("Writing the image");
    const assemble = join(root, "scripts/image/assemble.ts");
    await run(process.execPath, [assemble, join(directory, "output"), application]);
    const layers = stage.copies.map(({ source, owner }) => ({
      directory: join(directory, source),
      owner,
    }));
    return await writeOciArchive(file, { name, layers, config: stage.config });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Installs what the stage `dependencies` of the Dockerfile does. */
async function installPackages(application: string): Promise<void> {
  for (const path of ["package.json", "package-lock.json", ".npmrc"])
    await cp(join(root, path), join(application, path));
  const omitted = ["--omit=dev", "--omit=optional"];
  await run("npm", ["ci", ...omitted, "--prefer-offline", "--no-audit", "--no-fund"], application);
  for (const path of ["package-lock.json", ".npmrc"]) await rm(join(application, path));
}
