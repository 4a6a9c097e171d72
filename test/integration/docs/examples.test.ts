import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";

const root = new URL("../../../", import.meta.url);
const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** Returns every manifest with a namespace in the YAML blocks of a page. */
function manifestsIn(page: string): z.output<typeof Manifest>[] {
  const markdown = readFileSync(new URL(page, root), "utf8");
  return [...markdown.matchAll(/^```yaml\n([\s\S]*?)^```$/gmu)]
    .flatMap(([, yaml = ""]) => yaml.split(/^---$/mu))
    .map((yaml) => Manifest.safeParse(parse(yaml)).data)
    .filter((manifest) => manifest !== undefined);
}

/** A custom resource of the Prometheus Operator. That operator is not installed here. */
const ofOthers = ["PodMonitor"];

const pages = execFileSync("git", ["ls-files", "README.md", "docs"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path.endsWith(".md"));
const examples = pages.flatMap((page) =>
  manifestsIn(page)
    .filter(({ kind }) => !ofOthers.includes(kind))
    .map((manifest) => ({ page, what: `${manifest.kind} ${manifest.metadata.name}`, manifest })),
);

let controlPlane: ControlPlane;
let namespace: string;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  namespace = await controlPlane.createNamespace("examples");
  await installCrds(controlPlane);
});

test("the pages contain an example of each kind", () => {
  const kinds = [
    "VaultConnection",
    "ClusterVaultConnection",
    "VaultSecret",
    "VaultFile",
    "ClusterVaultSecret",
    "ClusterVaultFile",
    "VaultPush",
  ];
  expect(examples.map(({ manifest }) => manifest.kind)).toEqual(expect.arrayContaining(kinds));
});

test.each(examples)("$page: $what is admitted by the API server", async ({ manifest }) => {
  const input = stringify({ ...manifest, metadata: { ...manifest.metadata, namespace } });
  const { code, stderr } = await controlPlane.kubectl(
    ["apply", "--dry-run=server", "--filename=-"],
    { input },
  );
  expect(stderr).toBe("");
  expect(code).toBe(0);
});
