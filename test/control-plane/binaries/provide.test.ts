import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { silentProgress } from "../progress.ts";
import { assetsVariable } from "./assets-variable.ts";
import { provide, sources } from "./provide.ts";
import { unavailable, type Source, type SourceContext } from "./source.ts";
import { userCache } from "./user-cache.ts";
import { cacheDirectory, components } from "./version.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "vaultsync-sources-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function fakeBinaries(name: string, names: readonly string[] = components): Promise<string> {
  const directory = join(root, name);
  await mkdir(directory, { recursive: true });
  for (const file of names) {
    await writeFile(join(directory, file), "");
    await chmod(join(directory, file), 0o755);
  }
  return directory;
}

function context(environment: NodeJS.ProcessEnv = {}): SourceContext {
  return { environment, cache: join(root, "cache"), progress: silentProgress };
}

const never: Source = {
  name: "one that must not be asked",
  find: async () => {
    throw new Error("asked");
  },
};

it("asks the variable, the cache, the archive, k3s and the Go build, in this order", () => {
  expect(sources.map((source) => source.name)).toEqual([
    "KUBEBUILDER_ASSETS, a directory with the binaries",
    "the user's cache directory",
    "the published envtest archive",
    "a k3s container",
    "a build from source with Go 1.26 or later",
  ]);
});

it("prefers KUBEBUILDER_ASSETS to the cache and asks no further", async () => {
  const assets = await fakeBinaries("assets");
  await fakeBinaries("cache");
  const found = await provide(context({ KUBEBUILDER_ASSETS: assets }), [assetsVariable, userCache, never]);
  expect(found).toEqual({ kind: "binaries", directory: assets });
});

it("takes the cache when KUBEBUILDER_ASSETS lacks the controller manager, as envtest's own directories do", async () => {
  const assets = await fakeBinaries("assets", ["etcd", "kube-apiserver", "kubectl"]);
  const cache = await fakeBinaries("cache");
  const found = await provide(context({ KUBEBUILDER_ASSETS: assets }), [assetsVariable, userCache, never]);
  expect(found).toEqual({ kind: "binaries", directory: cache });
});

it("does not take a cache with a file that cannot be executed", async () => {
  const cache = await fakeBinaries("cache");
  await chmod(join(cache, "etcd"), 0o644);
  expect(await userCache.find(context())).toMatchObject({ kind: "unavailable" });
});

it("says which source it took", async () => {
  const cache = await fakeBinaries("cache");
  const notes: string[] = [];
  const progress = { note: (line: string) => notes.push(line), update: () => {} };
  await provide({ ...context(), progress }, [assetsVariable, userCache]);
  expect(notes).toEqual([`Control plane from the user's cache directory: ${cache}`]);
});

it("names every source and its reason when none works", async () => {
  const offline: Source = { name: "a download", find: async () => unavailable("no network") };
  const failure = provide(context({ KUBEBUILDER_ASSETS: join(root, "nowhere") }), [assetsVariable, userCache, offline]);
  await expect(failure).rejects.toThrow(
    [
      "No source of a Kubernetes control plane works here. Any one of these would do:",
      `  1. KUBEBUILDER_ASSETS, a directory with the binaries: ${join(root, "nowhere")} lacks etcd, kube-apiserver, kube-controller-manager, kubectl`,
      `  2. the user's cache directory: ${join(root, "cache")} is empty`,
      "  3. a download: no network",
    ].join("\n"),
  );
});

it("keeps the cache under XDG_CACHE_HOME, else under ~/.cache, by version and platform", () => {
  expect(cacheDirectory({ XDG_CACHE_HOME: "/x", HOME: "/h" })).toMatch(
    /^\/x\/vaultsync\/control-plane\/v1\.36\.3-[a-z]+-[a-z0-9]+$/,
  );
  expect(cacheDirectory({ HOME: "/h" })).toMatch(/^\/h\/\.cache\/vaultsync\/control-plane\/v1\.36\.3-/);
});
