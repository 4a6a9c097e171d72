import { Interrupted } from "./interruption.ts";
import { demoNamespace } from "./kubectl.ts";
import { bold, dim, screen } from "./output.ts";
import type { Stage } from "./setup.ts";
import { describeChange } from "./step.ts";

/** Printed at the end of a run with --once. */
export const nextSteps = `
${bold("Next")}
  npm run demo              the same, and everything stays up for you to try
  README.md, "Install"      install the operator in a cluster
  docs/resources.md         every field of VaultConnection, VaultSecret and VaultFile`;

function commandsToTry({ controlPlane, operator, vault }: Stage): string {
  return `
${bold("Try it in another terminal")}
  export KUBECONFIG=${controlPlane.kubeconfigPath}
  alias kubectl=${controlPlane.kubectlPath}
  kubectl config set-context --current --namespace ${demoNamespace}

  kubectl get vaultconnections,vaultsecrets,vaultfiles -o wide
  kubectl describe vaultsecret shop-db
  kubectl get events
  kubectl patch secret shop-db --type=merge -p '{"stringData":{"password":"mine"}}'
  kubectl delete secret shop-db configmap web-files
  curl ${operator.url}/metrics
  curl ${vault.metricsUrl}/metrics

  Open ${vault.url} in a browser and sign up; the confirmation email is a file in the directory printed by
  grep -o "mailDir[^,]*" ${vault.log.place}
  tail -f ${operator.log.place}
`;
}

/** Prints changes as they happen until Ctrl-C. @throws any other reason that ended the demo */
export async function stayUp(stage: Stage): Promise<void> {
  const { view, signal } = stage;
  screen.note(commandsToTry(stage));
  screen.note(`${bold("Changes in the cluster")} (Ctrl-C ends the demo and removes everything)`);
  using _listener = view.onChange((change) => {
    const line = describeChange(change);
    if (line !== undefined)
      screen.note(`  ${dim(new Date(change.at).toLocaleTimeString("en-GB"))}   ${line}`);
  });
  const ended = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => ended.resolve(), { once: true });
  if (!signal.aborted) await ended.promise;
  if (!(signal.reason instanceof Interrupted)) throw signal.reason;
}
