import { KubeClient, type KubeClientOptions } from "../../../src/kube/client.ts";
import { loadCredentials } from "../../../src/kube/config.ts";
import { systemClock } from "../../../src/lib/clock.ts";

/** A client for a kubeconfig, as the operator makes one. */
export async function connect(kubeconfig: string, options: Partial<KubeClientOptions> = {}): Promise<KubeClient> {
  return new KubeClient({ credentials: await loadCredentials({ kubeconfig }), clock: systemClock, ...options });
}
