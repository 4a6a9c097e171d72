import { readFile, copyFile, mkdtemp, rm } from "node:fs/promises";
import { join, dirname } from "node:path";
import { hasImage, provideImage } from "../../test/lab/docker/docker.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { codeOf } from "../../src/lib/errors.ts";

const run = promisify(execFile);
const certificates = "etc/ssl/certs/ca-certificates.crt";
const packages = "ca-certificates,libatomic1,libstdc++6";
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Returns the release of Debian on this machine, for example `bookworm`. @throws Error when it runs
 * another system
 */
async function debianRelease(): Promise<string> {
  const system = await readFile("/etc/os-release", "utf8").catch(() => "");
  const release = /^VERSION_CODENAME=(\w+)$/mu.exec(system)?.[1];
  if (!/^ID=debian$/mu.test(system) || release === undefined) {
    throw new Error(
      "a local base requires Debian: pass an image with Node 26 and npm, --base IMAGE",
    );
  }
  if (process.getuid?.() !== 0)
    throw new Error(
      "a local base requires root, for debootstrap: run as root, or pass --base IMAGE",
    );
  return release;
}

/**
 * Makes the image `vaultsync-base` from Debian's packages, the Node that runs this script and its
 * version of npm, and returns its name. It trusts the certificate authorities of this machine. An
 * image of the same versions is used again.
 */
async function importLocalBase(progress: Progress): Promise<string> {
  const release = await debianRelease();
  const npm = (await run("npm", ["--version"])).stdout.trim();
  const image = `vaultsync-base:${release}-node${process.versions.node}-npm${npm}`;
  if (await hasImage(image)) return image;
  const root = await mkdtemp(join(tmpdir(), "vaultsync-base-"));
  try {
    progress.note(`Installing Debian ${release} with debootstrap.`);
    await debootstrap(release, root);
    await copyFile(process.execPath, join(root, "usr/local/bin/node"));
    await copyFile(join(dirname(process.execPath), "../LICENSE"), join(root, "usr/local/LICENSE"));
    await run("npm", ["install", "--global", "--prefix", join(root, "usr/local"), `npm@${npm}`], {
      cwd: root,
    });
    await copyFile(`/${certificates}`, join(root, certificates));
    await importDirectory(root, image);
    return image;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function debootstrap(release: string, root: string): Promise<void> {
  try {
    await run("debootstrap", ["--variant=minbase", `--include=${packages}`, release, root], {
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (error) {
    const missing = codeOf(error) === "ENOENT";
    const log =
      error instanceof Error && "stdout" in error
        ? String(error.stdout).trim().split("\n").at(-1)
        : "";
    const reason = missing
      ? "a local base requires debootstrap: install it, or pass --base IMAGE"
      : `debootstrap failed: ${log}`;
    throw new Error(reason, { cause: error });
  }
}

async function importDirectory(root: string, image: string): Promise<void> {
  const archive = spawn("tar", ["--directory", root, "--create", "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const changes = [`ENV PATH=${programs}`, `ENV NODE_EXTRA_CA_CERTS=/${certificates}`].flatMap(
    (change) => ["--change", change],
  );
  const importing = spawn("docker", ["import", ...changes, "-", image], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  archive.stdout.pipe(importing.stdin);
  const [failure, [code], [packed]] = await Promise.all([
    text(importing.stderr),
    once(importing, "close"),
    once(archive, "close"),
  ]);
  if (code !== 0 || packed !== 0)
    throw new Error(`cannot import ${image}: ${failure.trim() || "tar failed"}`);
}

const dockerfile = join(import.meta.dirname, "../../Dockerfile");
const pullMs = 300_000;

/** Returns the default of NODE_IMAGE in the Dockerfile. */
async function publishedBase(): Promise<string> {
  const image = /^ARG NODE_IMAGE=(\S+)$/mu.exec(await readFile(dockerfile, "utf8"))?.[1];
  if (image === undefined) throw new Error("Dockerfile: expected a line ARG NODE_IMAGE=IMAGE");
  return image;
}

/**
 * Returns the image for NODE_IMAGE: `given`, the published one, or where that cannot be pulled, one
 * made on this machine.
 * @throws Error that says why there is none
 */
export async function provideBase(given: string | undefined, progress: Progress): Promise<string> {
  const image = given ?? (await publishedBase());
  if (!(await hasImage(image))) progress.note(`Pulling the base ${image}.`);
  const failure = await provideImage(image, pullMs);
  if (failure === undefined) return image;
  if (given !== undefined) throw new Error(`--base: ${failure}`);
  progress.note(`${failure}: making a base from Debian on this machine.`);
  return importLocalBase(progress);
}
