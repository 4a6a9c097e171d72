import { readdirSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { sha256 } from "./archive.ts";

/** Names of Node's platforms and processors in Go, and so in krew. */
const go: Readonly<Record<string, string>> = { x64: "amd64", win32: "windows" };
const inGo = (name: string): string => go[name] ?? name;

const platform = /^(?<os>[a-z0-9]+)-(?<arch>[a-z0-9]+)\.tar\.gz$/u;

/** The plugin for kubectl that the archives of a release are; see `packExecutable`. */
export interface KrewOptions {
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
