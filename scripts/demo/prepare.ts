import { join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../test/control-plane/control-plane.ts";
import { startControlPlane } from "../../test/control-plane/start.ts";
import type { DemoArguments } from "./arguments.ts";
import { buildWeb } from "../build-web.ts";
import { ClusterView } from "./cluster-view.ts";
import { kubectl } from "./kubectl.ts";
import { applyOperatorAccess } from "./operator-access.ts";
import { operatorProgram, operatorReady } from "./operator-program.ts";
import type { Preparation } from "./preparation.ts";
import { screen } from "./screen.ts";
import { demoNamespace, type Stage } from "./stage.ts";
import { bold } from "./style.ts";
import { VaultAccount } from "./vault-account.ts";
import { fillVault } from "./vault-content.ts";
import { account, checkPortIsFree, vaultProgram, vaultReady } from "./vault-program.ts";

const crds = join(import.meta.dirname, "..", "..", "crds");
const Version = z.object({ gitVersion: z.string() });

/** Starts everything the story needs, one after the other. */
export async function prepare(options: DemoArguments, preparation: Preparation): Promise<Stage> {
  screen.note(bold("Preparing"));
  await checkPortIsFree(options.vaultPort);
  // Where its binaries have to be built first, this takes minutes; it shows its own progress.
  const start = async (): Promise<ControlPlane> => preparation.own(await startControlPlane({ progress: screen }));
  const controlPlane = await preparation.step("control plane", start, ({ access }) => access.server, false);
  const vault = await startVault(options, controlPlane, preparation);
  await preparation.step(
    "custom resources",
    () => kubectl(controlPlane, ["apply", "-f", crds]),
    () => "kubectl apply -f crds/",
  );
  const operator = await startOperator(controlPlane, preparation);
  const open = async (): Promise<ClusterView> =>
    preparation.own(await ClusterView.open(controlPlane.kubeconfigPath, demoNamespace));
  const version = Version.parse(JSON.parse((await controlPlane.request("GET", "/version")).body)).gitVersion;
  const view = await preparation.step("demo's own watch", open, () => `namespace ${demoNamespace}, Kubernetes ${version}`);
  return { options, controlPlane, operator, vault, view, signal: preparation.signal };
}

async function startVault(
  options: DemoArguments,
  { directory }: ControlPlane,
  preparation: Preparation,
): Promise<Stage["vault"]> {
  const logFile = join(directory, "vault.log");
  await preparation.step("web application", buildWeb, () => "built into dist/web, which the vault serves");
  const vault = await preparation.step(
    "vault",
    () => vaultReady(preparation.run(vaultProgram(options.vaultPort, logFile))),
    ({ url }) => `${url}, in memory, with the account ${account}`,
  );
  const fill = async (): Promise<Pick<Stage["vault"], "account" | "content">> => {
    const loggedIn = await VaultAccount.logIn(vault.url, account, vault.password);
    return { account: loggedIn, content: await fillVault(loggedIn) };
  };
  const filled = await preparation.step("vault's content", fill, () => "shop-db in versions 1 and 2, app.conf, logo.png");
  return { ...vault, ...filled, logFile };
}

async function startOperator(controlPlane: ControlPlane, preparation: Preparation): Promise<Stage["operator"]> {
  const identity = await preparation.step(
    "operator's rights",
    () => applyOperatorAccess(controlPlane),
    (who) => `deploy/base: ServiceAccount ${who.namespace}/${who.serviceAccount} and its RBAC`,
  );
  const kubeconfig = await controlPlane.kubeconfigFor(identity);
  const logFile = join(controlPlane.directory, "operator.log");
  const start = async (): Promise<Stage["operator"]> => {
    const program = preparation.run(operatorProgram(kubeconfig, logFile));
    return { program, logFile, url: await operatorReady(program, preparation.signal) };
  };
  return preparation.step("operator", start, ({ url }) => `ready at ${url}/readyz`);
}
