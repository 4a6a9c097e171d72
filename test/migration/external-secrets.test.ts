import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { NamespaceHistory } from "../faults/support/namespace-history.ts";
import { ShellProcess } from "../lab/real/processes/shell-process.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { condition, type ObservedObject } from "../lab/real/resources.ts";
import { World } from "../lab/real/world.ts";
import { FORMER, GIVEN, type Given, VAULTED } from "./given.ts";

/**
 * Docs/uninstall.md#move-from-the-external-secrets-operator with the real External Secrets
 * Operator. Its provider holds other bytes than the vault: a Secret shows whose it is.
 */
const eso = inject("externalSecrets");
const apiVersion = "external-secrets.io/v1";
/** ExternalSecrets that cannot be carried over whole: their Secrets stay unchanged. */
const INCOMPLETE = GIVEN.filter(({ isIncomplete }) => isIncomplete === true);
const COMPLETE = GIVEN.filter(({ isIncomplete }) => isIncomplete !== true);
const targetOf = ({ name, spec }: Given): string => spec.target?.name ?? name;

let world: World;
let history: NamespaceHistory;
let former: ReturnType<typeof spawn> | undefined;
let formerKubeconfig: string;

/** Runs commands as their reader would, one after the other. */
async function run(...commands: string[]): Promise<void> {
  const { kubectlPath, kubeconfigPath, directory } = world.plane;
  const kubectl = `kubectl() { ${kubectlPath} "$@"; }`;
  const env = {
    PATH: process.env["PATH"],
    KUBECONFIG: kubeconfigPath,
    KUBECACHEDIR: `${directory}/kubectl-cache`,
  };
  const line = [kubectl, "set -e", ...commands].join("\n");
  await using shell = new ShellProcess(line, { cwd: directory, env });
  await shell.succeed();
}

async function startFormer(): Promise<void> {
  const addresses = ["--metrics-addr=127.0.0.1:0", "--live-addr=127.0.0.1:0"];
  former = spawn(eso.program, ["--namespace", world.namespace, ...addresses, "--loglevel=error"], {
    env: { PATH: process.env["PATH"], KUBECONFIG: formerKubeconfig },
    stdio: "ignore",
  });
  await once(former, "spawn");
}

async function stopFormer(): Promise<void> {
  if (former === undefined || former.exitCode !== null) return;
  const exited = once(former, "exit");
  former.kill();
  await exited;
}

/** Creates the ServiceAccount of the former operator, with all permissions. */
async function installFormer(): Promise<void> {
  await world.plane.kubectlOutput(["apply", "--server-side", "-f", eso.crds]);
  const wait = "wait --for=condition=Established --timeout=60s crd --all";
  await world.plane.kubectlOutput(wait.split(" "));
  const account = { serviceAccount: "external-secrets", namespace: world.namespace };
  await world.apply({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: account.serviceAccount },
  });
  await world.plane.kubectlOutput([
    "create",
    "clusterrolebinding",
    world.namespace,
    "--clusterrole=cluster-admin",
    `--serviceaccount=${account.namespace}:${account.serviceAccount}`,
  ]);
  formerKubeconfig = await world.plane.kubeconfigFor(account);
}

const store = () => ({
  apiVersion,
  kind: "SecretStore",
  metadata: { name: "vault" },
  spec: { provider: { fake: { data: FORMER } } },
});

const externalSecret = ({ name, spec, labels }: Given) => ({
  apiVersion,
  kind: "ExternalSecret",
  metadata: { name, labels },
  spec: { refreshInterval: "1h", secretStoreRef: { name: "vault", kind: "SecretStore" }, ...spec },
});

const namesOf = (objects: readonly { readonly metadata: { readonly name: string } }[]) =>
  new Set(objects.map(({ metadata }) => metadata.name));

const textsOf = ({ data }: ObservedObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );

/**
 * Returns whose bytes a Secret had in each of its versions: `mixed` if keys are missing, or are of
 * both.
 */
function statesOf(given: Given): string[] {
  const target = targetOf(given);
  const owners = history.versions("Secret", target).map((version) => {
    const texts = textsOf(version);
    const values = given.keys.map((key) => texts[key] ?? "");
    return ["former", "vault"].find((owner) =>
      values.every((value) => value.includes(`${owner}-`)),
    );
  });
  const [key = ""] = given.keys;
  const isDeleted = history.values(target, key).includes("deleted");
  return [...(isDeleted ? ["deleted"] : []), ...owners.map((owner) => owner ?? "mixed")];
}

beforeAll(async () => {
  world = await World.create();
  await installFormer();
  for (const { key, value } of VAULTED) await world.protect(key, value);
  await world.apply(store(), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "shared" },
    stringData: { existing: "kept" },
  });
  await startFormer();
  await world.apply(...GIVEN.map(externalSecret));
  for (const given of GIVEN)
    await world.until("Secret", targetOf(given), ({ data }) =>
      given.keys.every((key) => key in data),
    );
  history = new NamespaceHistory(world.plane, world.namespace, ["Secret"]);
  for (const given of GIVEN) await history.until("Secret", targetOf(given), () => true);
});
afterAll(async () => {
  // It removes the finalizers of its resources.
  await world.plane.kubectl(["delete", "externalsecrets", "--all", "-n", world.namespace]);
  await stopFormer();
  await history[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test("ExternalSecrets of all shapes become VaultSecrets, and no Secret loses a key", async () => {
  const manifests = await world.plane.kubectlOutput(
    ["get", "externalsecrets,secretstores", "-o", "yaml"],
    { namespace: world.namespace },
  );
  const imported = await VaultsyncProcess.run(["import", "external-secrets", "-f", "-"], {
    input: manifests,
  });
  const commands = imported.stderr
    .split("\n")
    .filter((line) => line.startsWith("  kubectl "))
    .map((line) => line.trim());
  const objects = parseAllDocuments(imported.stdout).map((document) => document.toJS());
  const suspended = objects.filter(({ spec }) => spec.suspend === true);
  expect(namesOf(objects)).toEqual(new Set(GIVEN.map(({ name }) => name)));
  expect(namesOf(suspended)).toEqual(new Set(INCOMPLETE.map(({ name }) => name)));

  await world.startOperator();
  // The former operator runs while the Secrets are handed over, and is started again afterwards.
  await run(...commands);
  await world.apply(...objects);
  for (const { name } of COMPLETE) await world.ready("VaultSecret", name);
  await stopFormer();
  await startFormer();
  // The resource that follows within a minute.
  const value = "vault-plain-2";
  await world.protect("plain", value);
  await history.until("Secret", "minutes", (secret) => textsOf(secret)["password"] === value);
  // It lists its resources, and reconciles all of them.
  await sleep(15_000);

  for (const given of COMPLETE) {
    const states = statesOf(given);
    const expected = given.isUnchanged === true ? ["former"] : ["former", "vault"];
    expect(new Set(states), given.name).toEqual(new Set(expected));
    expect(states.at(-1), given.name).toBe(expected.at(-1));
  }
  for (const given of INCOMPLETE) {
    expect(new Set(statesOf(given)), given.name).toEqual(new Set(["former"]));
    const resource = await world.get("VaultSecret", given.name);
    expect(resource && condition(resource, "Ready")?.reason, given.name).toBe("Suspended");
  }
  const shared = history.versions("Secret", "shared").map(textsOf);
  expect(shared.filter(({ existing }) => existing !== "kept")).toEqual([]);
});
