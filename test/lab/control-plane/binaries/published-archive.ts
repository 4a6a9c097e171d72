import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { parse } from "yaml";
import { z } from "zod";
import { install, goPlatform } from "../../tools/install.ts";
import type { Progress } from "../progress.ts";
import { unavailable, type Source } from "./source.ts";
import { components, type Release } from "./version.ts";

const run = promisify(execFile);
const index =
  "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";
const releases = "https://dl.k8s.io";
/**
 * Time limit of a small request. It is short because the next source must be tried soon when these
 * hosts are not reachable.
 */
const requestTimeoutMs = 5000;
const downloadTimeoutMs = 600_000;

const Index = z.object({
  releases: z.record(
    z.string(),
    z.record(z.string(), z.object({ hash: z.string(), selfLink: z.url() })),
  ),
});
interface Archive {
  readonly version: string;
  readonly hash: string;
  readonly url: string;
}

/**
 * The archive of envtest (etcd, kube-apiserver, kubectl) and the controller manager of the same
 * release. The archive lacks the controller manager.
 */
export const publishedArchive: Source = {
  name: "the published envtest archive",
  async find({ release, cache, progress }) {
    try {
      const archive = await newestPatch(release);
      await install({ cache, names: components, progress }, (directory) =>
        download(archive, directory, progress),
      );
    } catch (error) {
      return unavailable(reason(error));
    }
    return { kind: "binaries", directory: cache };
  },
};

/** Finds the newest archive of the minor release: not every patch release has one. */
async function newestPatch({ version: pinned }: Release): Promise<Archive> {
  const { os, arch } = goPlatform();
  const response = await get(index, requestTimeoutMs);
  const published = Index.parse(parse(await response.text())).releases;
  const minor = pinned.slice(0, pinned.lastIndexOf(".") + 1);
  const patches = Object.keys(published).filter(
    (version) => version.startsWith(minor) && /^\d+$/.test(version.slice(minor.length)),
  );
  const version = patches
    .toSorted((a, b) => Number(a.slice(minor.length)) - Number(b.slice(minor.length)))
    .at(-1);
  if (version === undefined) throw new Error(`no archive of ${minor}x is published`);
  const entry = published[version]?.[`envtest-${version}-${os}-${arch}.tar.gz`];
  if (entry === undefined) throw new Error(`no archive of ${version} for ${os}-${arch}`);
  return { version, hash: entry.hash, url: entry.selfLink };
}

async function download(archive: Archive, directory: string, progress: Progress): Promise<void> {
  const { os, arch } = goPlatform();
  const manager = `${releases}/release/${archive.version}/bin/${os}/${arch}/kube-controller-manager`;
  const managerHash = (await (await get(`${manager}.sha256`, requestTimeoutMs)).text()).trim();
  progress.note(`Downloading Kubernetes ${archive.version}, once.`);

  const packed = join(directory, "envtest.tar.gz");
  await fetchVerified(archive.url, packed, "sha512", archive.hash);
  await run("tar", [
    "--extract",
    "--gzip",
    "--file",
    packed,
    "--directory",
    directory,
    "--strip-components=2",
  ]);
  await rm(packed);
  const executable = join(directory, "kube-controller-manager");
  await fetchVerified(manager, executable, "sha256", managerHash);
  await chmod(executable, 0o755);
  await writeFile(join(directory, "version"), `${archive.version}\n`);
}

async function fetchVerified(
  url: string,
  file: string,
  algorithm: string,
  expected: string,
): Promise<void> {
  const response = await get(url, downloadTimeoutMs);
  if (response.body === null) throw new Error("empty response");
  const hash = createHash(algorithm);
  const body = Readable.fromWeb(response.body);
  body.on("data", (chunk: Buffer) => hash.update(chunk));
  await pipeline(body, createWriteStream(file));
  if (hash.digest("hex") !== expected)
    throw new Error(`wrong ${algorithm} digest of ${new URL(url).pathname}`);
}

async function get(url: string, timeoutMs: number): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return `no download (${cause ?? error.message})`;
}
