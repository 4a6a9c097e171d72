import {
  KubeClient,
  type KubeClientOptions,
} from "../../../src/operator/kube/client/kube-client.ts";
import { loadCredentials } from "../../../src/operator/kube/credentials/load-credentials.ts";
import { systemClock } from "../../../src/lib/clock.ts";

/** Creates a client for a kubeconfig, as the operator does. */
export async function connect(
  kubeconfig: string,
  options: Partial<KubeClientOptions> = {},
): Promise<KubeClient> {
  return new KubeClient({
    credentials: await loadCredentials({ kubeconfig }),
    clock: systemClock,
    fieldManager: "vaultsync",
    ...options,
  });
}
