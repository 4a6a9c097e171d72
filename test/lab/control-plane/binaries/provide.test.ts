import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TestDirectory } from "../../test-directory.ts";
import { silentProgress } from "../progress.ts";
import { provide, sources, assetsVariable, userCache } from "./provide.ts";
import { unavailable, type Source, type SourceContext } from "./source.ts";
import {
  cacheDirectory,
  chosenRelease,
  components,
  moduleDirectory,
  newest,
  oldest,
  versionFlags,
} from "./version.ts";

const root = new TestDirectory();

async function fakeBinaries(name: string, names: readonly string[] = components): Promise<string> {
  const directory = root.join(name);
  await mkdir(directory, { recursive: true });
  for (const file of names) {
    await writeFile(join(directory, file), "");
    await chmod(join(directory, file), 0o755);
  }
  return directory;
}

function context(environment: NodeJS.ProcessEnv = {}): SourceContext {
  return { environment, release: newest, cache: root.join("cache"), progress: silentProgress };
}

const never: Source = {
  name: "a source that must not be used",
  find: async () => {
    throw new Error("used");
  },
};

test("the sources are the variable, the cache, the archive, k3s and the Go build", () => {
  expect(sources.map((source) => source.name)).toEqual([
    "KUBEBUILDER_ASSETS, a directory with the binaries",
    "the user's cache directory",
    "the published envtest archive",
    "a k3s container",
    "a build from source with Go 1.26 or later",
  ]);
});

test("provide prefers KUBEBUILDER_ASSETS and tries no other source", async () => {
  const assets = await fakeBinaries("assets");
  await fakeBinaries("cache");
  const found = await provide(context({ KUBEBUILDER_ASSETS: assets }), [
    assetsVariable,
    userCache,
    never,
  ]);
  expect(found).toEqual({ kind: "binaries", directory: assets });
});

test("provide uses the cache when KUBEBUILDER_ASSETS lacks the controller manager", async () => {
  const assets = await fakeBinaries("assets", ["etcd", "kube-apiserver", "kubectl"]);
  const cache = await fakeBinaries("cache");
  const found = await provide(context({ KUBEBUILDER_ASSETS: assets }), [
    assetsVariable,
    userCache,
    never,
  ]);
  expect(found).toEqual({ kind: "binaries", directory: cache });
});

test("userCache is unavailable when a file is not executable", async () => {
  const cache = await fakeBinaries("cache");
  await chmod(join(cache, "etcd"), 0o644);
  expect(await userCache.find(context())).toMatchObject({ kind: "unavailable" });
});

test("provide reports the source it uses", async () => {
  const cache = await fakeBinaries("cache");
  const notes: string[] = [];
  const progress = { note: (line: string) => notes.push(line), update: () => {} };
  await provide({ ...context(), progress }, [assetsVariable, userCache]);
  expect(notes).toEqual([`Control plane from the user's cache directory: ${cache}`]);
});

test("provide lists every source with its reason when none works", async () => {
  const offline: Source = { name: "a download", find: async () => unavailable("no network") };
  const failure = provide(context({ KUBEBUILDER_ASSETS: root.join("nowhere") }), [
    assetsVariable,
    userCache,
    offline,
  ]);
  await expect(failure).rejects.toThrow(
    [
      "no source of a Kubernetes control plane is available; provide one of these:",
      `  1. KUBEBUILDER_ASSETS, a directory with the binaries: ${root.join("nowhere")} lacks etcd, kube-apiserver, kube-controller-manager, kubectl`,
      `  2. the user's cache directory: ${root.join("cache")} is empty`,
      "  3. a download: no network",
    ].join("\n"),
  );
});

test("cacheDirectory is under XDG_CACHE_HOME or ~/.cache, by version and platform", () => {
  expect(cacheDirectory(newest, { XDG_CACHE_HOME: "/x", HOME: "/h" })).toMatch(
    /^\/x\/vaultsync\/control-plane\/v1\.36\.3-[a-z]+-[a-z0-9]+$/,
  );
  expect(cacheDirectory(oldest, { HOME: "/h" })).toMatch(
    /^\/h\/\.cache\/vaultsync\/control-plane\/v1\.30\.14-/,
  );
});

test("the environment chooses the release by its name, by default the newest", () => {
  expect(chosenRelease({})).toBe(newest);
  expect(chosenRelease({ VAULTSYNC_KUBERNETES: "oldest" })).toBe(oldest);
  expect(() => chosenRelease({ VAULTSYNC_KUBERNETES: "1.31" })).toThrow(
    "VAULTSYNC_KUBERNETES: expected newest or oldest, found 1.31",
  );
});

test.each([newest, oldest])("the $name release is the one of its module", async (release) => {
  const module = await readFile(join(moduleDirectory(release), "go.mod"), "utf8");
  expect(module).toContain(`k8s.io/kubernetes ${release.version}`);
  expect(versionFlags(release)).toContain(`.gitVersion=${release.version} `);
});

test("charts and manual name the releases", async () => {
  const repository = join(import.meta.dirname, "../../../..");
  const minor = oldest.version.split(".")[1];
  for (const chart of ["chart", "vault-chart"]) {
    const text = await readFile(join(repository, "deploy", chart, "Chart.yaml"), "utf8");
    expect(text).toContain(`kubeVersion: ">=1.${minor}.0-0"`);
  }
  const manual = await readFile(join(repository, "docs/install.md"), "utf8");
  expect(manual).toContain(`- Kubernetes 1.${minor} or later`);
  for (const { version } of [newest, oldest])
    expect(manual).toContain(`\n| ${version.slice(1)} | `);
});
