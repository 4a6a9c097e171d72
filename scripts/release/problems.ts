import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { changelogProblems, saysHowToUpgrade } from "./changelog.ts";
import { command } from "./command.ts";
import { versionPlaces } from "./version-places.ts";
import { parse } from "yaml";
import { z } from "zod";

interface Schema {
  readonly type?: string | undefined;
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly items?: Schema | undefined;
}
const Schema: z.ZodType<Schema> = z.object({
  type: z.string().optional(),
  required: z.array(z.string()).default([]),
  properties: z
    .record(
      z.string(),
      z.lazy(() => Schema),
    )
    .default({}),
  items: z.lazy(() => Schema).optional(),
});
const Crd = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    versions: z.array(
      z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: Schema }) }),
    ),
  }),
});

interface Field {
  readonly type: string;
  readonly isRequired: boolean;
}

/** Returns every field of a custom resource, by its path. */
function fieldsOf(crd: string): Map<string, Field> {
  const { metadata, spec } = Crd.parse(parse(crd));
  const fields = new Map<string, Field>();
  const visit = ({ properties, required, items }: Schema, path: string): void => {
    for (const [name, property] of Object.entries(properties)) {
      fields.set(`${path}.${name}`, {
        type: property.type ?? "any",
        isRequired: required.includes(name),
      });
      visit(property, `${path}.${name}`);
    }
    if (items !== undefined) visit(items, `${path}[]`);
  };
  for (const { name, schema } of spec.versions)
    visit(schema.openAPIV3Schema, `${metadata.name}/${name}`);
  return fields;
}

/** Returns the path of the object that has a field. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf(".")).replace(/\[\]$/u, "");
}

/**
 * Returns what of a custom resource's change can reject or ignore an object that the earlier
 * release accepted, one line each.
 */
export function incompatibleChanges(before: string, after: string): string[] {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const removed = [...old].flatMap(([path, { type }]) => {
    const now = current.get(path);
    if (now === undefined) return [`${path} was removed`];
    return now.type === type ? [] : [`${path} was of type ${type}, and is of type ${now.type}`];
  });
  const required = [...current].filter(
    ([path, { isRequired }]) => isRequired && old.get(path)?.isRequired !== true,
  );
  // A required field of a new object is no change for the objects that exist.
  const demands = required
    .filter(([path]) => old.has(parentOf(path)))
    .map(([path]) => `${path} is required, and was not`);
  return [...removed, ...demands];
}

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
