import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import {
  writeOciArchive,
  type WrittenImage,
  type ImageConfig,
} from "../../test/lab/images/oci-archive.ts";
import { runToEnd } from "../../test/lab/processes/run-to-end.ts";
import { z } from "zod";

const Strings = z.array(z.string()).min(1);

/** The last stage of a Dockerfile: what it copies into the empty image, and the image's settings. */
interface LastStage {
  /** Directories of the stage before, and the user that owns their files in the image. */
  readonly copies: readonly { readonly source: string; readonly owner: number }[];
  readonly config: ImageConfig;
}

/**
 * Reads the last stage of a Dockerfile. It permits only what an image consists of that no program
 * has to build: directories of an earlier stage, copied to the root, and settings.
 * @throws Error that names any other instruction
 */
export function lastStage(dockerfile: string): LastStage {
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const start = lines.findLastIndex((line) => line.startsWith("FROM "));
  if (lines[start] !== "FROM scratch")
    throw new Error(`Dockerfile: expected FROM scratch, found ${lines[start]}`);
  const copies: { source: string; owner: number }[] = [];
  const env: string[] = [];
  let settings: Partial<ImageConfig> = {};
  for (const line of lines.slice(start + 1)) {
    const [, instruction = "", rest = ""] = /^([A-Z]+) (.*)$/u.exec(line) ?? [];
    const copy = /^--from=\w+ (?:--chown=(\d+):\1 )?(\S+) \/$/u.exec(rest);
    if (instruction === "COPY" && copy?.[2] !== undefined)
      copies.push({ source: copy[2], owner: Number(copy[1] ?? 0) });
    else if (instruction === "ENV") env.push(rest);
    else if (instruction === "USER") settings = { ...settings, User: rest };
    else if (instruction === "ENTRYPOINT")
      settings = { ...settings, Entrypoint: Strings.parse(JSON.parse(rest)) };
    else if (instruction === "CMD")
      settings = { ...settings, Cmd: Strings.parse(JSON.parse(rest)) };
    else throw new Error(`Dockerfile: the last stage has an unknown instruction: ${line}`);
  }
  const { Entrypoint, ...others } = settings;
  if (Entrypoint === undefined) throw new Error("Dockerfile: expected an ENTRYPOINT");
  return { copies, config: { Env: env, Entrypoint, ...others } };
}

const root = join(import.meta.dirname, "../..");
const shownLines = 15;

/** Runs a program to its end. @throws Error with the end of its output when it fails */
async function run(command: string, args: readonly string[], cwd = root): Promise<void> {
  const { stdout, stderr, code } = await runToEnd(command, args, { cwd });
  if (code === 0) return;
  const lines = `${stdout}${stderr}`.trimEnd().split("\n").slice(-shownLines);
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
