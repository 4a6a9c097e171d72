import { readdirSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  mkdtempDisposable,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manifestsIn } from "../docs/commands.ts";
import { sharedControlPlane } from "../kube/control-plane.ts";
import { kubeconform, kubeScore } from "../tools/manifests/check-manifests.ts";
import { writeSchemas } from "../tools/manifests/write-schemas.ts";
import type { ControlPlane } from "./control-plane.ts";

/** The checks of `npm test -- manifests`. */
const root = join(import.meta.dirname, "..", "..", "..");
const overlays = readdirSync(join(root, "deploy/overlays"));
const clean = { isClean: true, output: expect.any(String) };

let controlPlane: ControlPlane;
let schemas: string;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  schemas = await mkdtemp(join(tmpdir(), "vaultsync-schemas-"));
  await writeSchemas(controlPlane, schemas);
});
afterAll(() => rm(schemas, { recursive: true }));

const render = async (overlay: string): Promise<string> =>
  (await controlPlane.kubectl(["kustomize", join(root, "deploy/overlays", overlay)])).stdout;

test.each(overlays)(
  "kube-score and kubeconform have no objection to the overlay %s",
  async (overlay) => {
    const manifests = await render(overlay);
    expect(await kubeScore(manifests)).toEqual(clean);
    const conform = await kubeconform(manifests, schemas);
    expect(conform).toEqual(clean);
    expect(conform.output).toContain(
      `Valid: ${manifests.match(/^kind: /gmu)?.length}, Invalid: 0, Errors: 0, Skipped: 0`,
    );
  },
);

test.each([
  [
    "install.md",
    [
      "--vault-hosts=vault.example.com",
      "priorityClassName: system-cluster-critical",
      "kind: CustomResourceDefinition",
    ],
  ],
  ["security.md", ["example.com/registry", 'expression: "false"']],
  ["security.md", ["cidr: 203.0.113.20/32", "kubernetes.io/metadata.name: monitoring"]],
] as const)("the overlay in docs/%s with %j changes what the page says", async (page, changes) => {
  const overlay = manifestsIn(await readFile(join(root, "docs", page), "utf8")).find(
    (one) => one.startsWith("# kustomization.yaml") && one.includes(changes[0]),
  );
  await using directory = await mkdtempDisposable(join(tmpdir(), "vaultsync-overlay-"));
  await symlink(root, join(directory.path, "vaultsync"));
  await mkdir(join(directory.path, "overlay"));
  await writeFile(join(directory.path, "overlay/kustomization.yaml"), overlay ?? "");
  const { stdout: manifests, stderr } = await controlPlane.kubectl([
    "kustomize",
    join(directory.path, "overlay"),
  ]);
  expect(stderr).toBe("");
  for (const change of changes) expect(manifests).toContain(change);
  expect(await kubeScore(manifests)).toEqual(clean);
  expect(await kubeconform(manifests, schemas)).toEqual(clean);
});

test("kube-score finds a container without a limit of its memory", async () => {
  const manifests = (await render("vault")).replace(/ +memory: 512Mi\n/u, "");
  expect(await kubeScore(manifests)).toEqual({
    isClean: false,
    output: expect.stringContaining("Memory limit is not set"),
  });
});

test.each([
  [
    "an unknown field",
    "policyTypes:",
    "policyType:",
    "additional properties 'policyType' not allowed",
  ],
  ["a wrong type", "replicas: 1", "replicas: one", "got string, want integer"],
])("kubeconform finds %s", async (_, right, wrong, message) => {
  const manifests = (await render("vault")).replace(right, wrong);
  expect(await kubeconform(manifests, schemas)).toEqual({
    isClean: false,
    output: expect.stringContaining(message),
  });
});
