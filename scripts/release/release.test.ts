import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { TestDirectory } from "../../test/lab/test-directory.ts";
import { changelogProblems, saysHowToUpgrade, withSection } from "./changelog.ts";
import { incompatibleChanges } from "./problems.ts";
import { krewManifest } from "./artifacts.ts";
import { setVersion, versionPlaces } from "./version-places.ts";

const root = join(import.meta.dirname, "../..");
const directory = new TestDirectory();
const trackedFiles = (): string[] =>
  execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");

const changelog =
  "# Changelog\n\n## [Unreleased]\n\nThe content of 0.2.0.\n\n### Added\n\n- x\n\n## [0.1.0] - 2026-01-02\n\n- y\n";

test("all places of the repository name the same version", () => {
  const places = versionPlaces(root, trackedFiles());
  expect(new Set(places.map(({ version }) => version)).size).toBe(1);
  const files = new Set(places.map(({ file }) => file));
  for (const file of [
    "package.json",
    "package-lock.json",
    "deploy/chart/Chart.yaml",
    "README.md",
    "docs/install.md",
  ]) {
    expect(files).toContain(file);
  }
  expect(
    [...files].filter((file) => /^deploy\/.+kustomization/u.test(file)).length,
  ).toBeGreaterThan(4);
});

test("a new version is written to every place, and to nothing else", async () => {
  const files = {
    "package.json":
      '{\n  "name": "vaultsync",\n  "version": "0.1.0",\n  "dependencies": {\n    "version": "0.1.0"\n  }\n}\n',
    "package-lock.json":
      '{\n  "version": "0.1.0",\n  "packages": {\n    "": {\n      "name": "vaultsync",\n      "version": "0.1.0"\n    },\n    "a": {\n      "version": "0.1.0"\n    }\n  }\n}\n',
    "deploy/base/kustomization.yaml": "images:\n  - name: vaultsync\n    newTag: 0.1.0\n",
    "docs/install.md": "docker push REGISTRY/vaultsync:0.1.0\nother:0.1.0\n",
    "src/other.ts": "vaultsync:0.1.0\n",
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(directory.join(file)), { recursive: true });
    await writeFile(directory.join(file), text);
  }
  expect(setVersion(directory.path, Object.keys(files), "0.20.0")).not.toContain("src/other.ts");
  const after = await Promise.all(
    Object.keys(files).map((file) => readFile(directory.join(file), "utf8")),
  );
  expect(after.map((text) => text.split("0.20.0").length - 1)).toEqual([1, 2, 1, 1, 0]);
  expect(after.map((text) => text.split("0.1.0").length - 1)).toEqual([1, 1, 0, 1, 1]);
});

test("a release needs a dated section of the changelog, and nothing unreleased", () => {
  expect(changelogProblems(changelog, "0.2.0")).toEqual([
    expect.stringContaining("has no section [0.2.0]"),
  ]);
  expect(changelogProblems(changelog, "0.1.0")).toEqual([
    expect.stringContaining("[Unreleased] is not empty"),
  ]);
  expect(changelogProblems(changelog.replace(" - 2026-01-02", ""), "0.1.0")).toContain(
    "CHANGELOG.md: the section [0.1.0] has no date",
  );
  const released = withSection(changelog, "0.2.0", "2026-02-03");
  expect(changelogProblems(released, "0.2.0")).toEqual([]);
  expect(released).toContain("## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- x\n");
  expect(() => withSection(released, "0.2.0", "2026-02-03")).toThrow(
    "already has a section [0.2.0]",
  );
  expect(saysHowToUpgrade(released, "0.2.0")).toBe(false);
  expect(saysHowToUpgrade(released.replace("### Added", "### Upgrade"), "0.2.0")).toBe(true);
});

test("krew.yaml has every executable of the version, by its digest", async () => {
  const folder = directory.join("archives");
  await mkdir(folder);
  for (const platform of ["linux-x64", "darwin-arm64"])
    await writeFile(join(folder, `vaultsync-0.2.0-${platform}.tar.gz`), platform);
  for (const other of ["vaultsync-0.2.1-linux-x64.tar.gz", "vaultsync-0.2.0.tgz"])
    await writeFile(join(folder, other), "");
  const manifest = parse(krewManifest({ version: "0.2.0", folder, url: "https://h.example/v" }));
  expect(manifest.spec.version).toBe("v0.2.0");
  expect(manifest.spec.platforms).toEqual([
    {
      selector: { matchLabels: { os: "darwin", arch: "arm64" } },
      uri: "https://h.example/v/vaultsync-0.2.0-darwin-arm64.tar.gz",
      sha256: createHash("sha256").update("darwin-arm64").digest("hex"),
      bin: "vaultsync",
    },
    {
      selector: { matchLabels: { os: "linux", arch: "amd64" } },
      uri: "https://h.example/v/vaultsync-0.2.0-linux-x64.tar.gz",
      sha256: createHash("sha256").update("linux-x64").digest("hex"),
      bin: "vaultsync",
    },
  ]);
  expect(() => krewManifest({ version: "0.3.0", folder, url: "" })).toThrow(
    "has no executable of version 0.3.0",
  );
});

/** Returns a CRD whose spec has these properties. */
function crd(properties: string, required = "[]"): string {
  const spec = `{ type: object, required: ${required}, properties: ${properties} }`;
  const schema = `{ openAPIV3Schema: { type: object, properties: { spec: ${spec} } } }`;
  return `{ metadata: { name: things.vaultsync.dev }, spec: { versions: [{ name: v1, schema: ${schema} }] } }`;
}

test("a removed, changed or newly required field of a CRD is incompatible", () => {
  const before = crd(
    "{ url: { type: string }, names: { type: array, items: { type: object, properties: { key: { type: string } } } } }",
  );
  expect(incompatibleChanges(before, before)).toEqual([]);
  const after = crd(
    "{ url: { type: integer }, names: { type: array, items: { type: object } } }",
    "[url]",
  );
  expect(incompatibleChanges(before, after)).toEqual([
    "things.vaultsync.dev/v1.spec.url was of type string, and is of type integer",
    "things.vaultsync.dev/v1.spec.names[].key was removed",
    "things.vaultsync.dev/v1.spec.url is required, and was not",
  ]);
});

test("a new field of a CRD is compatible, also if it has required fields", async () => {
  const more = "more: { type: object, required: [a], properties: { a: { type: string } } }";
  expect(incompatibleChanges(crd("{}"), crd(`{ ${more} }`))).toEqual([]);
  const real = await readFile(join(root, "crds/vaultsync.dev_vaultsecrets.yaml"), "utf8");
  expect(incompatibleChanges(real, real)).toEqual([]);
});
