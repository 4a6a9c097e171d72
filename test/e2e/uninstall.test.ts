import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnedControlPlane, startControlPlane } from "../lab/control-plane/start.ts";
import { commandsIn } from "../lab/docs/commands.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { ShellProcess } from "../lab/real/processes/shell-process.ts";
import {
  deleteCommand,
  deletionsOfArgo,
  deletionsOfFlux,
  objectsOf,
} from "./support/gitops-deletion.ts";
import { storeSecretAndFile } from "./support/stored-content.ts";
import { SERVICE_ACCOUNT, World } from "../lab/real/world.ts";
import { bytesOf, condition, vaultFile, vaultPush, vaultSecret } from "../lab/real/resources.ts";

/**
 * The commands of docs/uninstall.md. They concern the whole cluster, so they have a control plane
 * of their own.
 */
const root = join(import.meta.dirname, "..", "..");
const page = commandsIn(await readFile(join(root, "docs/uninstall.md"), "utf8"));
const install = "kubectl apply -k deploy/overlays/cluster-wide";
const web = vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" });

let plane: OwnedControlPlane;
let world: World;
let directory: string;
let value: string;
let file: string;

/** The CRD of another operator, as far as its resources own Secrets. */
function externalSecrets(): object {
  const names = {
    plural: "externalsecrets",
    singular: "externalsecret",
    kind: "ExternalSecret",
    listKind: "ExternalSecretList",
  };
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  const spec = {
    group: "external-secrets.io",
    scope: "Namespaced",
    names,
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "externalsecrets.external-secrets.io" },
    spec,
  };
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-uninstall-"));
  plane = await startControlPlane();
  await symlink(plane.kubectlPath, join(directory, "kubectl"));
  await writeFile(join(directory, "vaultsync"), `#!/bin/sh\nexec node ${root}/src/main.ts "$@"\n`, {
    mode: 0o755,
  });
  await run(install);
  await plane.kubectl(["apply", "-f", "-"], { input: JSON.stringify(externalSecrets()) });
  await run("kubectl wait --for=condition=Established --timeout=60s crd --all");
  world = await World.create({ plane });
  ({ value, file } = await storeSecretAndFile(world));
  await world.apply(
    ...["owned", "kept", "removed"].map((name) => vaultSecret(name, { password: "db" })),
    vaultSecret("orphan", { password: "db" }, { creationPolicy: "Orphan" }),
    web,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pushed" },
      stringData: { password: value },
    },
    vaultPush("pushed", [{ secretKey: "password", remoteRef: { key: "pushed" } }], {
      deletionPolicy: "Delete",
    }),
  );
  await world.startClusterOperator();
  for (const name of ["owned", "kept", "removed", "orphan"]) await world.ready("VaultSecret", name);
  await world.ready("VaultFile", "web");
  await world.ready("VaultPush", "pushed");
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/**
 * Runs a command like a user of the repository, and returns its output. @throws Error with the
 * output when it fails
 */
async function run(command: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const env = {
    PATH: [directory, PATH].join(delimiter),
    HOME,
    KUBECONFIG: plane.kubeconfigPath,
    KUBECACHEDIR: directory,
  };
  await using shell = new ShellProcess(command, { cwd: root, env });
  await shell.succeed();
  return shell.output;
}

const outputOfFailure = (command: string): Promise<string> =>
  run(command).then(
    () => "succeeded",
    (error: unknown) => String(error),
  );

/** Runs the commands below a heading of the page, and returns the output of each. */
async function runSection(heading: string): Promise<string[]> {
  const outputs: string[] = [];
  for (const each of page.filter((one) => one.heading === heading))
    outputs.push(await run(each.command));
  return outputs;
}

const here = (command: string): Promise<string> => run(`${command} -n ${world.namespace}`);
const contentOf = async (name: string): Promise<unknown> => {
  const secret = await world.get("Secret", name);
  return secret && bytesOf(secret, "password")?.toString();
};

/** Returns the content of all targets, and whether they have anything of the operator. */
async function targets(): Promise<unknown> {
  const objects = [
    await world.get("Secret", "owned"),
    await world.get("Secret", "orphan"),
    await world.get("ConfigMap", "web"),
  ];
  const marks = objects.map((object) => [
    object?.metadata["ownerReferences"],
    object?.metadata["labels"],
    object?.metadata.annotations,
  ]);
  return {
    content: [
      ...objects.slice(0, 2).map((one) => one && bytesOf(one, "password")?.toString()),
      objects[2]?.data["web.conf"],
    ],
    marks,
  };
}
const whole = () => ({ content: [value, value, file] });

/** Returns the objects in the rows of a table that end with this result. */
function rowsWith(output: string, result: string): Set<string | undefined> {
  const rows = output.split("\n").filter((line) => line.endsWith(` ${result}`));
  return new Set(rows.map((line) => line.split(/ +/u)[1]));
}

test("a resource deleted with --cascade=orphan leaves its target, while the operator runs", async () => {
  await here("kubectl delete vaultsecret kept --cascade=orphan");
  await here("kubectl delete vaultsecret removed");
  // Garbage collection has reached the other target, so it would have reached this one.
  await world.gone("Secret", "removed", 60_000);
  const target = await world.until(
    "Secret",
    "kept",
    ({ metadata }) => metadata.ownerReferences === undefined,
  );
  expect(bytesOf(target, "password")?.toString()).toBe(value);
});

test("a Secret of another operator is handed over by the printed commands, never absent", async () => {
  const data = [{ secretKey: "password", remoteRef: { key: "db" } }];
  const manifest = join(directory, "external.json");
  const metadata = { name: "moved", namespace: world.namespace };
  const external = {
    apiVersion: "external-secrets.io/v1",
    kind: "ExternalSecret",
    metadata,
    spec: { secretStoreRef: { name: "vault" }, data },
  };
  await world.apply(external);
  await writeFile(manifest, JSON.stringify(external));
  const uid = await here("kubectl get externalsecret moved -o jsonpath={.metadata.uid}");
  const owner = {
    apiVersion: "external-secrets.io/v1",
    kind: "ExternalSecret",
    name: "moved",
    uid,
    controller: true,
  };
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "moved", ownerReferences: [owner] },
    stringData: { password: "theirs" },
  });
  const before = await world.get("Secret", "moved");

  const output = await run(`vaultsync import external-secrets -f ${manifest} 2>&1`);
  await run(`vaultsync import external-secrets -f ${manifest} 2> /dev/null | kubectl apply -f -`);
  const conflict = await world.untilReason("VaultSecret", "moved", "TargetConflict");
  expect(condition(conflict, "Ready")?.message).toContain("is controlled by ExternalSecret/moved");
  const commands = output.split("\n").filter((line) => line.startsWith("  kubectl "));
  expect(commands).toHaveLength(2);
  for (const command of commands) await run(command);
  await here("kubectl annotate vaultsecret moved vaultsync.dev/force-sync=1");
  await world.ready("VaultSecret", "moved");
  expect(await contentOf("moved")).toBe(value);
  expect((await world.get("Secret", "moved"))?.metadata.uid).toBe(before?.metadata.uid);
});

test("an existing ConfigMap is handed over to a VaultFile", async () => {
  await world.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "files" },
    data: { "web.conf": "theirs" },
  });
  const before = await world.get("ConfigMap", "files");
  await world.apply(vaultFile("files", [{ filename: "web.conf" }], { kind: "ConfigMap" }));
  await world.untilReason("VaultFile", "files", "TargetConflict");
  await here("kubectl annotate configmap files vaultsync.dev/adopt=VaultFile/files");
  await here("kubectl annotate vaultfile files vaultsync.dev/force-sync=1");
  await world.ready("VaultFile", "files");
  const after = await world.get("ConfigMap", "files");
  expect(after?.data["web.conf"]).toEqual(file);
  expect(after?.metadata.uid).toEqual(before?.metadata.uid);
});

test("nothing is released while an operator runs", async () => {
  const before = await targets();
  const output = await outputOfFailure("vaultsync release --all-namespaces --confirm");
  expect(output).toContain("nothing was released: an operator is running");
  expect(output).toContain("the Lease vaultsync-system/vaultsync");
  expect(await targets()).toEqual(before);
});

test("the removal of the operator removes nothing else", async () => {
  const before = await targets();
  expect(before).toMatchObject(whole());
  await run(
    "kubectl create secret generic of-a-cluster-connection -n vaultsync-system --type=vaultsync.dev/credentials",
  );
  await world.operator.stop();
  await runSection("Remove the operator");
  await run("kubectl get secret of-a-cluster-connection -n vaultsync-system");
  expect(await targets()).toEqual(before);
  expect(await outputOfFailure("kubectl delete -k crds")).toContain("see docs/uninstall.md");
  await world.ready("VaultSecret", "owned");
});

test("the deletion of an overlay deletes neither the CRDs nor the namespace with credentials", async () => {
  const output = await outputOfFailure("kubectl delete -k deploy/overlays/cluster-wide");
  for (const crd of [
    "vaultconnections",
    "clustervaultconnections",
    "vaultsecrets",
    "vaultfiles",
    "clustervaultsecrets",
    "clustervaultfiles",
    "vaultpushes",
  ]) {
    expect(output).toContain(`"${crd}.vaultsync.dev" is forbidden`);
  }
  expect(output).toContain('namespaces "vaultsync-system" is forbidden');
  await run("kubectl apply -k deploy/cluster");
  await run("kubectl get secret of-a-cluster-connection -n vaultsync-system");
  await world.ready("VaultSecret", "owned");
});

test.each([
  ["Flux", deletionsOfFlux],
  ["Argo CD", deletionsOfArgo],
] as const)(
  "a deletion by %s, in its order, removes the operator and keeps everything else",
  async (_, deletionsOf) => {
    await run(install);
    const before = await targets();
    expect(before).toMatchObject(whole());
    const steps = deletionsOf(
      objectsOf(await run("kubectl kustomize deploy/overlays/cluster-wide")),
    );
    for (const step of steps) await Promise.all(step.map((object) => run(deleteCommand(object))));

    expect(await run("kubectl get deployments -n vaultsync-system -o name")).toBe("");
    await run("kubectl get secret of-a-cluster-connection -n vaultsync-system");
    expect(await outputOfFailure("kubectl delete -k crds")).toContain("see docs/uninstall.md");
    expect(await outputOfFailure("kubectl delete namespace vaultsync-system")).toContain(
      "see docs/uninstall.md",
    );
    expect(await targets()).toEqual(before);
    await world.ready("VaultSecret", "owned");
  },
);

test("released targets stay when the CRDs are deleted, without anything of the operator", async () => {
  // The garbage collection of this ConfigMap shows that the targets would have been collected.
  const { metadata } = await world.until("VaultConnection", "vault", () => true);
  const owner = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    name: "vault",
    uid: metadata.uid,
  };
  await world.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "dependent", ownerReferences: [owner] },
  });

  const [shown = "", released = ""] = await runSection(
    "Remove the custom resources and keep the targets",
  );
  const names = [
    "ConfigMap/files",
    "Secret/kept",
    "Secret/moved",
    "Secret/orphan",
    "Secret/owned",
    "VaultPush/pushed",
    "ConfigMap/web",
  ];
  expect(rowsWith(shown, "would be released")).toEqual(new Set(names));
  expect(rowsWith(released, "released")).toEqual(new Set(names));
  expect(shown + released).not.toContain(value);
  await world.gone("ConfigMap", "dependent", 60_000);
  await run(
    "kubectl wait --for=delete --timeout=60s crd/vaultpushes.vaultsync.dev crd/vaultsecrets.vaultsync.dev",
  );
  expect(await targets()).toMatchObject({
    ...whole(),
    marks: [
      [undefined, undefined, {}],
      [undefined, undefined, {}],
      [undefined, undefined, expect.anything()],
    ],
  });
  expect((await world.caller.call("expose", { key_name: "pushed" })).status).toBe(200);
  expect(await run("vaultsync release --all-namespaces --confirm 2>&1")).toBe(
    "nothing to release in any namespace\n",
  );
});

test("an operator that is installed again changes a released target only after it is handed over", async () => {
  await run(install);
  await run("kubectl wait --for=condition=Established --timeout=60s crd --all");
  await world.createConnection();
  const next = world.canaries.text("next");
  await world.protect("db", next);
  await world.apply(vaultSecret("owned", { password: "db" }));
  // Its ServiceAccount was deleted, and created again.
  await using _operator = await OperatorProcess.start(await plane.kubeconfigFor(SERVICE_ACCOUNT));
  await world.untilReason("VaultSecret", "owned", "TargetConflict");
  expect(await contentOf("owned")).toBe(value);
  await here("kubectl annotate secret owned vaultsync.dev/adopt=VaultSecret/owned");
  await here("kubectl annotate vaultsecret owned vaultsync.dev/force-sync=1");
  await world.ready("VaultSecret", "owned");
  expect(await contentOf("owned")).toBe(next);
});

test("every command of the page is run", () => {
  expect(new Set(page.map(({ heading }) => heading))).toEqual(
    new Set(["Remove the operator", "Remove the custom resources and keep the targets"]),
  );
});
