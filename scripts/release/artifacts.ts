import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { cacheDirectory, newest } from "../../test/lab/control-plane/binaries/version.ts";
import { provide } from "../../test/lab/control-plane/binaries/provide.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";
import { goTool } from "../../test/lab/tools/go-tool.ts";
import { sbom } from "../supply/sbom.ts";
import { pack, sha256 } from "./archive.ts";
import { command } from "./command.ts";
import { stringify } from "yaml";

/** Names of Node's platforms and processors in Go, and so in krew. */
const go: Readonly<Record<string, string>> = { x64: "amd64", win32: "windows" };
const inGo = (name: string): string => go[name] ?? name;

const platform = /^(?<os>[a-z0-9]+)-(?<arch>[a-z0-9]+)\.tar\.gz$/u;

/** The plugin for kubectl that the archives of a release are; see `packExecutable`. */
interface KrewOptions {
  readonly version: string;
  /** The folder of the archives. */
  readonly folder: string;
  /** Address under which the release has its files. */
  readonly url: string;
}

/** Returns the manifest with which krew installs the executables. @throws Error without any */
export function krewManifest({ version, folder, url }: KrewOptions): string {
  const prefix = `vaultsync-${version}-`;
  const platforms = readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      if (!name.startsWith(prefix)) return [];
      const { os, arch } = platform.exec(name.slice(prefix.length))?.groups ?? {};
      if (os === undefined || arch === undefined) return [];
      return {
        selector: { matchLabels: { os: inGo(os), arch: inGo(arch) } },
        uri: `${url}/${name}`,
        sha256: sha256(join(folder, name)),
        bin: "vaultsync",
      };
    });
  if (platforms.length === 0) throw new Error(`${folder} has no executable of version ${version}`);
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "vaultsync" },
    spec: {
      version: `v${version}`,
      shortDescription: "Status, plans and rollbacks of secrets synced from a vault",
      description:
        "Shows what Vaultsync has synced, plans what changes of manifests and secrets do,\nand holds, rolls back and resumes versions.\n",
      platforms,
    },
  });
}

export interface ReleaseOptions {
  readonly root: string;
  readonly version: string;
  /** Repository of the image, as `install.yaml` and the chart name it. */
  readonly image: string;
  /** The folder of the files; it is emptied. */
  readonly output: string;
  readonly progress: Progress;
  /** Folder of the archives of other platforms, as the workflow `executables` writes them. */
  readonly executables: string | undefined;
  /** Address under which the files of the release will be. */
  readonly url: string;
}

/**
 * Writes the files of a commit, without what is not committed, to a folder, with the installed
 * packages.
 */
function exportCommit(root: string, folder: string): void {
  const archive = join(folder, "..", "source.tar");
  command("git", ["archive", "--output", archive, "HEAD"], root);
  mkdirSync(folder);
  command("tar", ["--extract", "--file", archive], folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** Adds the lock file to the files of the package, under the name by which npm packs it. */
function addLockFile(source: string): void {
  const name = "npm-shrinkwrap.json";
  copyFileSync(join(source, "package-lock.json"), join(source, name));
  const manifest = join(source, "package.json");
  const { files, ...others } = z
    .looseObject({ files: z.array(z.string()) })
    .parse(JSON.parse(readFileSync(manifest, "utf8")));
  writeFileSync(manifest, JSON.stringify({ ...others, files: [...files, name] }, undefined, 2));
}

/**
 * Builds and packs the command line. The lock file is in the package: an installation has the
 * packages that were tested.
 * @throws Error unless the package, installed in an empty folder, runs
 */
function packProgram(
  { version, output, progress }: ReleaseOptions,
  source: string,
  scratch: string,
): void {
  progress.note("Building the program and the web application.");
  const node = process.execPath;
  command(node, ["scripts/build.ts"], source);
  addLockFile(source);
  command("npm", ["pack", "--pack-destination", output], source);
  progress.note("Installing the package in an empty folder.");
  const empty = join(scratch, "empty");
  mkdirSync(empty);
  const install = [
    "install",
    "--ignore-scripts",
    "--omit=dev",
    "--omit=optional",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
  ];
  command("npm", [...install, join(output, `vaultsync-${version}.tgz`)], empty);
  const program = join(empty, "node_modules/.bin/vaultsync");
  const printed = command(node, [program, "--version"], empty).trim();
  if (printed !== version)
    throw new Error(`the installed package is of version ${printed}, not ${version}`);
  if (!command(node, [program, "--help"], empty).includes("operator [options]"))
    throw new Error("the help of the installed package is incomplete");
}

/**
 * Writes what `kubectl apply -f` installs. @throws Error unless it names the image of this release
 */
async function renderManifests(
  { version, image, output, progress }: ReleaseOptions,
  source: string,
): Promise<void> {
  const provision = await provide({
    environment: process.env,
    release: newest,
    cache: cacheDirectory(newest),
    progress,
  });
  const kubectl =
    provision.kind === "binaries" ? join(provision.directory, "kubectl") : provision.kubectl;
  const text = command(kubectl, ["kustomize", "deploy/overlays/cluster-wide"], source).replaceAll(
    "REGISTRY/vaultsync",
    image,
  );
  if (!text.includes(`image: ${image}:${version}\n`))
    throw new Error(`install.yaml does not name ${image}:${version}`);
  writeFileSync(join(output, "install.yaml"), text);
  copyFileSync(join(source, "THIRD_PARTY_NOTICES"), join(output, "THIRD_PARTY_NOTICES"));
}

/**
 * Builds the executable of this platform, and packs it with its licenses. Writes the manifest by
 * which krew installs it on all platforms whose executable is there.
 */
function packExecutable(
  { version, output, executables, url, progress }: ReleaseOptions,
  source: string,
): void {
  progress.note("Building the executable.");
  command(process.execPath, ["scripts/build-executable.ts", "--archive"], source);
  const folders = [join(source, "dist-executable"), executables].filter((one) => one !== undefined);
  for (const folder of folders) {
    for (const name of readdirSync(folder).filter((one) => one.endsWith(".tar.gz")))
      copyFileSync(join(folder, name), join(output, name));
  }
  writeFileSync(join(output, "krew.yaml"), krewManifest({ version, folder: output, url }));
}

/**
 * Packs the chart. helm writes the current time into archives, tar does not. @throws Error unless
 * helm renders the archive
 */
async function packChart(
  { version, output }: ReleaseOptions,
  source: string,
  scratch: string,
): Promise<void> {
  const archive = join(output, `vaultsync-chart-${version}.tgz`);
  cpSync(join(source, "deploy/chart"), join(scratch, "chart/vaultsync"), { recursive: true });
  pack(join(scratch, "chart"), ["vaultsync"], archive);
  command(await goTool("helm"), ["template", "release", archive, "--kube-version=1.30.0"], scratch);
}

/** Writes all files of a release and their checksums. Equal commits give equal files. */
export async function writeArtifacts(options: ReleaseOptions): Promise<string[]> {
  const { root, version, output } = options;
  const scratch = mkdtempSync(join(tmpdir(), "vaultsync-release-"));
  try {
    rmSync(output, { recursive: true, force: true });
    mkdirSync(output, { recursive: true });
    const source = join(scratch, "source");
    exportCommit(root, source);
    packProgram(options, source, scratch);
    await renderManifests(options, source);
    await packChart(options, source, scratch);
    packExecutable(options, source);
    writeFileSync(
      join(output, `vaultsync-${version}.cdx.json`),
      `${JSON.stringify(sbom(source), undefined, 2)}\n`,
    );
    const names = readdirSync(output).toSorted();
    const sums = names.map((name) => `${sha256(join(output, name))}  ${name}`);
    writeFileSync(join(output, "SHA256SUMS"), `${sums.join("\n")}\n`);
    return sums;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
