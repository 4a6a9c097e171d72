import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnedControlPlane, startControlPlane } from "../lab/control-plane/start.ts";
import { commandsIn } from "../lab/docs/commands.ts";
import { Helm, operatorRelease } from "../lab/helm/helm.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { ShellProcess } from "../lab/real/processes/shell-process.ts";
import { goTool } from "../lab/tools/go-tool.ts";
import { storeSecretAndFile } from "./support/stored-content.ts";
import { OPERATOR_USER, SERVICE_ACCOUNT, World } from "../lab/real/world.ts";
import { bytesOf, vaultFile, vaultSecret } from "../lab/real/resources.ts";

/**
 * The commands of docs/install.md#helm. They concern the whole cluster, so they have a control plane of
 * their own.
 */
const root = join(import.meta.dirname, "..", "..");
const page = commandsIn(await readFile(join(root, "docs/install.md"), "utf8"));
const crd = "vaultsecrets.vaultsync.dev";

let plane: OwnedControlPlane;
let helm: Helm;
let world: World;
let directory: string;
let value: string;
let file: string;

/**
 * Runs a command like a user of the repository, and returns its output. @throws Error with the
 * output when it fails
 */
async function run(command: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const env = {
    PATH: [directory, PATH].join(delimiter),
    HOME,
    KUBECACHEDIR: directory,
    ...helm.env,
  };
  await using shell = new ShellProcess(`set -o pipefail; ${command}`, { cwd: root, env });
  await shell.succeed();
  return shell.output;
}

/** Runs the commands below a heading of the page, after `change`, and returns their output. */
async function runSection(
  heading: string,
  change = (command: string): string => command,
): Promise<string> {
  const commands = page
    .filter((one) => one.heading === heading)
    .map(({ command }) => change(command));
  let output = "";
  for (const command of commands) output += await run(command);
  return output;
}

/** The chart of an older release, whose CRD lacks the additional columns of `kubectl get`. */
async function olderChart(): Promise<string> {
  const older = join(directory, "older-chart");
  await cp(operatorRelease.chart, older, { recursive: true });
  const path = join(older, "files/crds", `vaultsync.dev_vaultsecrets.yaml`);
  const current = await readFile(path, "utf8");
  const without = current.replace(/^( +)additionalPrinterColumns:\n(?:\1[- ].*\n)+/mu, "");
  expect(without).not.toBe(current);
  await writeFile(path, without);
  const manifest = await readFile(join(older, "Chart.yaml"), "utf8");
  await writeFile(join(older, "Chart.yaml"), manifest.replace(/^version: .*$/mu, "version: 0.0.1"));
  return older;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-helm-"));
  plane = await startControlPlane();
  helm = await Helm.create(plane.kubeconfigPath);
  await symlink(plane.kubectlPath, join(directory, "kubectl"));
  await symlink(helm.path, join(directory, "helm"));
  await symlink(await goTool("kube-score"), join(directory, "kube-score"));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await helm[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const columns = `kubectl get crd ${crd} -o jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}`;
const clusterKinds =
  "crds,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles";
const ofTheOperator =
  "clusterrole.rbac.authorization.k8s.io/vaultsync$ -e /vaultsync-cluster-connections$";
const operatorObjects =
  "kubectl get deployments,serviceaccounts,services,pdb,networkpolicies -n vaultsync-system -o name";

/**
 * Reports whether the admission of owner references (OwnerReferencesPermissionEnforcement) knows
 * our kinds. It reads the kinds of the API server every 30 s, and without them denies every target
 * with an owner.
 */
async function isOwnerKnown(): Promise<boolean> {
  const owner = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    name: "db",
    uid: "0",
    blockOwnerDeletion: true,
  };
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "owned", ownerReferences: [owner] },
  };
  const args = ["create", "--dry-run=server", "--filename=-", `--as=${OPERATOR_USER}`];
  const { stderr } = await plane.kubectl(args, {
    namespace: world.namespace,
    input: JSON.stringify(object),
  });
  expect(stderr).toContain("forbidden");
  return !stderr.includes("cannot find RESTMapping");
}

/** Returns the identity and the content of each target, and what else outlives a release. */
async function whatStays(): Promise<unknown> {
  const objects = [
    await world.get("Secret", "db"),
    await world.get("Secret", "orphan"),
    await world.get("ConfigMap", "web"),
  ];
  const [db, orphan, web] = objects;
  const [cluster, resources, secrets] = await Promise.all([
    run(
      `kubectl get ${clusterKinds} -l app.kubernetes.io/managed-by=Helm -o name | grep -v -e ${ofTheOperator}`,
    ),
    run("kubectl get vaultconnections,vaultsecrets,vaultfiles --all-namespaces -o name"),
    run("kubectl get secrets -n vaultsync-system -o name | grep -v sh.helm.release"),
  ]);
  return {
    versions: objects.map((object) => [object?.metadata.uid, object?.metadata.resourceVersion]),
    content: [
      db && bytesOf(db, "password")?.toString(),
      orphan && bytesOf(orphan, "password")?.toString(),
      web?.data["web.conf"],
    ],
    cluster,
    resources,
    secrets,
  };
}

test("the API server accepts the rendered chart, and kube-score finds nothing critical", async () => {
  const output = await runSection("Check the chart");
  expect(output).toContain("1 chart(s) linted, 0 chart(s) failed");
  expect(output).toContain("deployment.apps/vaultsync serverside-applied (server dry run)");
  expect(output).not.toContain("[CRITICAL]");
  expect(await run(operatorObjects)).toBe("serviceaccount/default\n");
});

test("a release installs everything in an empty cluster, and an upgrade its newer CRDs", async () => {
  const older = await olderChart();
  expect(
    await runSection("Install with Helm", (command) => command.replace("deploy/chart", older)),
  ).toContain("STATUS: deployed");
  expect(await run(columns)).toBe("");
  expect(await runSection("Upgrade with Helm")).toContain("REVISION: 2");
  expect(await run(columns)).toContain("Ready");
  await runSection("Uninstall with Helm");
  expect(await run(operatorObjects)).toBe("serviceaccount/default\n");
});

test("a release takes over what kubectl installed", async () => {
  await run("kubectl apply -k deploy/overlays/cluster-wide");
  await expect(run("helm install other deploy/chart -n vaultsync-system")).rejects.toThrow(
    "cannot be imported",
  );
  expect(await runSection("From kustomize to Helm")).toContain("STATUS: deployed");
});

test("an operator with the permissions of the release syncs", async () => {
  world = await World.create({ plane });
  ({ value, file } = await storeSecretAndFile(world));
  await world.apply(
    vaultSecret("db", { password: "db" }),
    vaultSecret("orphan", { password: "db" }, { creationPolicy: "Orphan" }),
    vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" }),
  );
  await run(
    "kubectl create secret generic of-a-cluster-connection -n vaultsync-system --type=vaultsync.dev/credentials",
  );
  await expect.poll(isOwnerKnown, { timeout: 60_000, interval: 500 }).toBe(true);
  await world.startClusterOperator();
  for (const name of ["db", "orphan"]) await world.ready("VaultSecret", name);
  await world.ready("VaultFile", "web");
});

test("an upgrade changes no target, and without the CRDs and policies it deletes none of them", async () => {
  const before = await whatStays();
  expect(before).toMatchObject({ content: [value, value, file] });
  await runSection("Upgrade with Helm");
  expect(await whatStays()).toEqual(before);
  await runSection(
    "Upgrade with Helm",
    (command) => `${command} --set crds.install=false,cluster.install=false,policies.install=false`,
  );
  expect(await whatStays()).toEqual(before);
});

test("the removal of the release removes the operator only", async () => {
  const before = await whatStays();
  await world.operator.stop();
  await runSection("Uninstall with Helm");
  expect(await run(operatorObjects)).toBe("serviceaccount/default\n");
  await expect(run("kubectl delete -k crds")).rejects.toThrow("see docs/uninstall.md");
  await expect(run("kubectl delete namespace vaultsync-system")).rejects.toThrow(
    "vaultsync.dev/confirm-delete=true",
  );
  await world.ready("VaultSecret", "db");
  expect(await whatStays()).toEqual(before);
});

test("another release continues with what the first one left", async () => {
  await runSection("Install with Helm");
  await using _operator = await OperatorProcess.start(await plane.kubeconfigFor(SERVICE_ACCOUNT));
  const next = world.canaries.text("next");
  await world.protect("db", next);
  await world.has("db", "password", next, 60_000);
});

test("a second release serves the namespaces of its list, and no others", async () => {
  await runSection("Some namespaces with Helm");
  const account = "--as=system:serviceaccount:team-operator:vaultsync";
  expect(await run(`kubectl auth can-i update secrets -n shop ${account}`)).toBe("yes\n");
  expect(await run(`kubectl auth can-i list vaultsecrets -n shop ${account}`)).toBe("yes\n");
  await expect(run(`kubectl auth can-i get secrets -n default ${account}`)).rejects.toThrow("no");
  // The policies of each release limit the ServiceAccount of that release.
  const forbidden = `kubectl create secret generic not-a-target -n shop --dry-run=server ${account}`;
  const denial = "ValidatingAdmissionPolicy 'vaultsync-team-operator-targets'";
  await expect
    .poll(() => run(forbidden).catch(String), { timeout: 30_000, interval: 200 })
    .toContain(denial);
  expect(
    await run("kubectl get configmap vaultsync -n team-operator -o jsonpath={.data.namespaces}"),
  ).toBe("shop");
});

test("the removal of the vault keeps its data", async () => {
  const claim =
    "kubectl get persistentvolumeclaim data-vault-0 -n vaultsync-vault -o jsonpath={.metadata.uid}";
  const uninstall = "helm uninstall vault -n vaultsync-vault";
  const notes = await runSection("The vault with Helm", (command) =>
    command === uninstall ? "true" : command,
  );
  expect(notes).toContain("WARNING: the Secret vault-master-key does not exist in vaultsync-vault");
  await expect
    .poll(() => run(claim).catch(() => ""), { timeout: 30_000, interval: 200 })
    .not.toBe("");
  const uid = await run(claim);
  await run(uninstall);
  expect(await run("kubectl get statefulsets -n vaultsync-vault -o name")).toBe("");
  expect(await run(claim)).toBe(uid);
});

test("every command with Helm is run", () => {
  const sections = [
    "Check the chart",
    "Install with Helm",
    "Some namespaces with Helm",
    "Upgrade with Helm",
    "Uninstall with Helm",
    "From kustomize to Helm",
    "The vault with Helm",
  ];
  const chart = page.filter(({ command }) => command.startsWith("helm "));
  expect(new Set(chart.map(({ heading }) => heading))).toEqual(new Set(sections));
});
