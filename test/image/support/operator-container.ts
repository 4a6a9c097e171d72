import { timeToReady, type StartTime } from "../../../scripts/image/start-time.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { AdmittedPod } from "./admitted-pod.ts";
import { ConfinedContainer } from "./confined-container.ts";
import { writeServiceAccountVolume } from "./service-account-volume.ts";

/**
 * Returns an amount of memory of Kubernetes in bytes. @throws Error for other units than Mi and Gi
 */
function bytesOf(quantity: string): number {
  const [, amount, unit] = /^(\d+)(Mi|Gi)$/u.exec(quantity) ?? [];
  if (amount === undefined) throw new Error(`memory ${quantity}: expected Mi or Gi`);
  return Number(amount) * (unit === "Mi" ? 2 ** 20 : 2 ** 30);
}

/**
 * Runs the container of an admitted pod as a kubelet would: its arguments, user, environment,
 * limits and volume, and nothing else but the address of the API server.
 */
export async function startOperatorContainer(
  controlPlane: ControlPlane,
  pod: AdmittedPod,
  image: string,
): Promise<{ container: ConfinedContainer; url: string; time: StartTime }> {
  const [template] = pod.spec.containers;
  const [mount] = template.volumeMounts;
  const { hostname, port } = new URL(controlPlane.access.server);
  const http = template.ports.find(({ name }) => name === "http");
  const url = `http://127.0.0.1:${http?.containerPort}`;
  if (
    await fetch(url).then(
      () => true,
      () => false,
    )
  )
    throw new Error(`port ${http?.containerPort} of this machine is in use`);
  const source = await writeServiceAccountVolume(controlPlane, pod);
  const { runAsUser, runAsGroup } = pod.spec.securityContext;
  const started = performance.now();
  const container = await ConfinedContainer.start({
    image,
    command: template.args,
    user: `${runAsUser}:${runAsGroup}`,
    environment: {
      ...Object.fromEntries(template.env.map(({ name, value }) => [name, value])),
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
    },
    mounts: [{ source, target: mount.mountPath, mode: "ro" }],
    memoryBytes: bytesOf(template.resources.limits.memory),
  });
  try {
    return { container, url, time: await timeToReady(url, started) };
  } catch (error) {
    const log = await container.log();
    await container[Symbol.asyncDispose]();
    throw new Error(`the operator is not ready:\n${log.slice(-4000)}`, { cause: error });
  }
}
