import { KubeClient, type KubeClientOptions } from "../../../src/operator/kube/client/kube-client.ts";
import { loadCredentials } from "../../../src/operator/kube/credentials/load-credentials.ts";
import { systemClock } from "../../../src/lib/clock.ts";

/** A client for a kubeconfig, as the operator makes one. */
export async function connect(kubeconfig: string, options: Partial<KubeClientOptions> = {}): Promise<KubeClient> {
  return new KubeClient({
    credentials: await loadCredentials({ kubeconfig }),
    clock: systemClock,
    fieldManager: "vaultsync",
    ...options,
  });
}
