import { describeChange } from "./describe-change.ts";
import type { Stage } from "./stage.ts";
import { demoNamespace } from "./stage.ts";
import { screen } from "./screen.ts";
import { bold, dim } from "./style.ts";
import { Interrupted } from "./interruption.ts";

/** What a person can try while everything is up. */
export function thingsToTry({ controlPlane, operator, vault }: Stage): string {
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
  curl ${vault.url}/metrics

  Open ${vault.url} in a browser and sign up; the letter with the link is a file in the directory that
  grep -o "mailDir[^,]*" ${vault.logFile}
  tail -f ${operator.logFile}
`;
}

/** Prints changes as they happen until Ctrl-C. @throws what else ended the stage */
export async function stayUp(stage: Stage): Promise<void> {
  const { view, signal } = stage;
  screen.note(thingsToTry(stage));
  screen.note(`${bold("Changes, as the API server tells them")} (Ctrl-C ends the demo and removes everything)`);
  using _listening = view.onChange((change) => {
    const line = describeChange(change);
    if (line !== undefined) screen.note(`  ${dim(new Date(change.at).toLocaleTimeString("en-GB"))}   ${line}`);
  });
  const ended = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => ended.resolve(), { once: true });
  if (!signal.aborted) await ended.promise;
  if (!(signal.reason instanceof Interrupted)) throw signal.reason;
}
