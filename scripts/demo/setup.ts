import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { buildWeb } from "../build-web.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import type { VaultClient } from "../../src/protocol/client/vault-client.ts";
import type { ControlPlane } from "../../test/lab/control-plane/control-plane.ts";
import { startControlPlane } from "../../test/lab/control-plane/start.ts";
import { manifestsOf } from "../../test/lab/real/granted.ts";
import { SERVICE_ACCOUNT } from "../../test/lab/real/world.ts";
import { OperatorProcess } from "../../test/lab/real/processes/operator-process.ts";
import { VaultServerProcess } from "../../test/lab/real/processes/vault-server-process.ts";
import { defaultVaultPort, type DemoArguments } from "./arguments.ts";
import { ClusterView } from "./cluster-view.ts";
import { bold, screen } from "./output.ts";
import {
  type Preparation,
  checkPortIsFree,
  operatorReady,
  stoppingWithParent,
} from "./preparation.ts";
import {
  account,
  demoNamespace,
  fillVault,
  logInAsShop,
  type VaultContent,
} from "./vault-account.ts";

/** The log of a program. */
interface Log {
  /** The file or command with which a user reads it. */
  readonly place: string;
  read(): Promise<string>;
}

const fileLog = (place: string): Log => ({ place, read: () => readFile(place, "utf8") });

/** Everything that is ready before the first step. */
export interface Stage {
  readonly options: DemoArguments;
  readonly controlPlane: ControlPlane;
  readonly operator: { readonly url: string; readonly log: Log };
  readonly vault: {
    readonly url: string;
    /** The authority of its certificate, as PEM, if it has one. */
    readonly ca?: string;
    readonly metricsUrl: string;
    readonly log: Log;
    readonly password: Redacted<string>;
    readonly account: VaultClient;
    readonly content: VaultContent;
  };
  readonly view: ClusterView;
  /**
   * Replaces the address of the vault in a file of examples/demo, where the vault has another one.
   */
  readonly adaptExample?: (text: string) => string;
  /** Aborted by Ctrl-C, and when a child process ends by itself. */
  readonly signal: AbortSignal;
}

const root = join(import.meta.dirname, "../..");
const Version = z.object({ gitVersion: z.string() });

/** Starts everything the steps need, one after the other. */
export async function setUp(options: DemoArguments, preparation: Preparation): Promise<Stage> {
  screen.note(bold("Setting up"));
  await checkPortIsFree(options.vaultPort);
  // Building its binaries takes minutes the first time, and shows separate progress.
  const start = async (): Promise<ControlPlane> =>
    preparation.own(await startControlPlane({ progress: screen }));
  const controlPlane = await preparation.step(
    "control plane",
    start,
    ({ access }) => access.server,
    false,
  );
  const vault = await startVault(options, controlPlane, preparation);
  await preparation.step(
    "custom resources",
    () => controlPlane.kubectlOutput(["apply", "-f", join(root, "crds")]),
    () => "kubectl apply -f crds/",
  );
  const operator = await startOperator(controlPlane, preparation);
  const open = async (): Promise<ClusterView> =>
    preparation.own(await ClusterView.open(controlPlane.kubeconfigPath, demoNamespace));
  const version = Version.parse(
    JSON.parse((await controlPlane.request("GET", "/version")).body),
  ).gitVersion;
  const view = await preparation.step(
    "watch of the demo",
    open,
    () => `namespace ${demoNamespace}, Kubernetes ${version}`,
  );
  const stage = { options, controlPlane, operator, vault, view, signal: preparation.signal };
  if (options.vaultPort === defaultVaultPort) return stage;
  const address = `127.0.0.1:${options.vaultPort}`;
  return {
    ...stage,
    adaptExample: (text) => text.replaceAll(`127.0.0.1:${defaultVaultPort}`, address),
  };
}

async function startVault(
  options: DemoArguments,
  { directory }: ControlPlane,
  preparation: Preparation,
): Promise<Stage["vault"]> {
  await preparation.step(
    "web application",
    buildWeb,
    () => "built into dist/web, served by the vault",
  );
  const logFile = join(directory, "vault.log");
  const args = ["--dev", "--dev-users", account, "--listen", `127.0.0.1:${options.vaultPort}`];
  const { url, metricsUrl, passwords } = await preparation.step(
    "vault",
    async () =>
      preparation.run("vault", await VaultServerProcess.start(args, stoppingWithParent(logFile))),
    (ready) => `${ready.url}, in memory, with the account ${account}`,
  );
  const password = new Redacted(passwords.get(account) ?? "");
  const fill = async (): Promise<Pick<Stage["vault"], "account" | "content">> => {
    const loggedIn = await logInAsShop(url, password);
    return { account: loggedIn, content: await fillVault(loggedIn) };
  };
  const filled = await preparation.step(
    "vault content",
    fill,
    () => "shop-db in versions 1 and 2, payments, app.conf, logo.png",
  );
  return { url, metricsUrl, password, ...filled, log: fileLog(logFile) };
}

/** Workloads restart this long after a change, instead of 30 s. */
const restartSoon = ["--restart-window", "1s"];

async function startOperator(
  controlPlane: ControlPlane,
  preparation: Preparation,
): Promise<Stage["operator"]> {
  await preparation.step(
    "RBAC rules",
    () => applyOperatorAccess(controlPlane),
    () =>
      `deploy/base: ServiceAccount ${SERVICE_ACCOUNT.namespace}/${SERVICE_ACCOUNT.serviceAccount}`,
  );
  const kubeconfig = await controlPlane.kubeconfigFor(SERVICE_ACCOUNT);
  const logFile = join(controlPlane.directory, "operator.log");
  const start = async (): Promise<Stage["operator"]> => {
    const operator = preparation.run(
      "operator",
      await OperatorProcess.start(kubeconfig, restartSoon, stoppingWithParent(logFile)),
    );
    await operatorReady(operator, preparation.signal);
    return { log: fileLog(logFile), url: `http://127.0.0.1:${operator.port}` };
  };
  return preparation.step("operator", start, ({ url }) => `ready at ${url}/readyz`);
}

/**
 * Applies the operator's namespace, and the ServiceAccount and RBAC rules of deploy/base. There is
 * no node to run its Deployment: the operator is a process outside the cluster.
 */
async function applyOperatorAccess(plane: ControlPlane): Promise<void> {
  await plane.kubectlOutput(["apply", "-f", join(root, "deploy", "cluster", "namespace.yaml")]);
  const { namespace } = SERVICE_ACCOUNT;
  const manifests = await manifestsOf(plane, join(root, "deploy", "base"), namespace);
  await plane.apply(manifests.filter(({ kind }) => kind !== "Deployment"));
}

/**
 * Applies one file of examples/demo, or all of them: unchanged, unless the vault has another
 * address.
 */
export async function applyExamples(
  { controlPlane, adaptExample }: Stage,
  file = "",
): Promise<void> {
  const directory = join(root, "examples", "demo");
  if (adaptExample === undefined) {
    await controlPlane.kubectlOutput(["apply", "-f", join(directory, file)]);
    return;
  }
  const names = (await readdir(directory))
    .filter((name) => name.endsWith(".yaml") && name.includes(file))
    .toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  const input = texts.map(adaptExample).join("---\n");
  await controlPlane.kubectlOutput(["apply", "-f", "-"], { input });
}
