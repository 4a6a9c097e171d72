import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { changelogProblems, saysHowToUpgrade } from "./changelog.ts";
import { command } from "./command.ts";
import { incompatibleChanges } from "./crd-changes.ts";
import { versionPlaces } from "./version-places.ts";

/** Returns the newest tag of a release before this commit, or `undefined`. */
function lastRelease(root: string): string | undefined {
  const tags = command(
    "git",
    ["tag", "--list", "v*", "--merged", "HEAD", "--sort=-v:refname"],
    root,
  );
  return tags.split("\n")[0] || undefined;
}

/** Returns the changes of the CRDs since a release that a user has to know before the upgrade. */
function crdChanges(root: string): string[] {
  const tag = lastRelease(root);
  if (tag === undefined) return [];
  const folder = "deploy/chart/files/crds";
  const before = command("git", ["ls-tree", "-r", "--name-only", tag, folder], root).split("\n");
  const now = readdirSync(join(root, folder)).map((file) => `${folder}/${file}`);
  return before
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => {
      if (!now.includes(file)) return [`${file} was removed`];
      return incompatibleChanges(
        command("git", ["show", `${tag}:${file}`], root),
        readFileSync(join(root, file), "utf8"),
      );
    });
}

/** Returns everything that keeps this commit from being released as this version, one line each. */
export function releaseProblems(root: string, version: string): string[] {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const dirty = command("git", ["status", "--porcelain"], root) !== "";
  const files = command("git", ["ls-files"], root).trim().split("\n");
  const others = versionPlaces(root, files).filter((place) => place.version !== version);
  const tagged = command("git", ["tag", "--list", `v${version}`], root) !== "";
  const changes = crdChanges(root);
  return [
    ...(dirty ? ["the working tree has changes: commit them"] : []),
    ...(tagged
      ? [`the tag v${version} exists: run npm run release -- --bump with another version`]
      : []),
    ...others.map(
      (place) =>
        `${place.file}:${place.line} has the version ${place.version}, package.json has ${version}`,
    ),
    ...changelogProblems(changelog, version),
    ...(changes.length > 0 && !saysHowToUpgrade(changelog, version)
      ? [
          `CRDs changed incompatibly, and CHANGELOG.md has no "### Upgrade" in [${version}]:`,
          ...changes.map((line) => `  ${line}`),
        ]
      : []),
  ];
}
