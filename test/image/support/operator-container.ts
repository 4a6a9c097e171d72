import { timeToReady, type StartTime } from "../../../scripts/image/start-time.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { AdmittedPod } from "./admitted-pod.ts";
import { ConfinedContainer } from "./confined-container.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const TokenResponse = z.object({ status: z.object({ token: z.string() }) });
const ConfigMap = z.object({ data: z.record(z.string(), z.string()) });

/** Requests a token for the pod's ServiceAccount that is bound to the pod, as a kubelet does. */
async function requestToken(
  controlPlane: ControlPlane,
  { metadata, spec }: AdmittedPod,
  wanted: { readonly expirationSeconds: number; readonly audience?: string | undefined },
): Promise<string> {
  const path = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName}/token`;
  const { status, body } = await controlPlane.request("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      expirationSeconds: wanted.expirationSeconds,
      ...(wanted.audience === undefined ? {} : { audiences: [wanted.audience] }),
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid },
    },
  });
  if (status !== 201)
    throw new Error(`cannot create a token for pod ${metadata.name}: status ${status}`);
  return TokenResponse.parse(JSON.parse(body)).status.token;
}

/**
 * Writes the files of the pod's projected volume into a new directory, readable for the container's
 * user. Returns its path.
 */
async function writeServiceAccountVolume(
  controlPlane: ControlPlane,
  pod: AdmittedPod,
): Promise<string> {
  const directory = join(controlPlane.directory, `volume-${pod.metadata.uid}`);
  await mkdir(directory, { mode: 0o755 });
  const write = (path: string, text: string): Promise<void> =>
    writeFile(join(directory, path), text, { mode: 0o444 });
  const [volume] = pod.spec.volumes;
  for (const source of volume.projected.sources) {
    if ("serviceAccountToken" in source) {
      const { path, ...wanted } = source.serviceAccountToken;
      await write(path, await requestToken(controlPlane, pod, wanted));
    } else if ("configMap" in source) {
      const { name, items } = source.configMap;
      const found = await controlPlane.request(
        "GET",
        `/api/v1/namespaces/${pod.metadata.namespace}/configmaps/${name}`,
      );
      const { data } = ConfigMap.parse(JSON.parse(found.body));
      for (const { key, path } of items) await write(path, data[key] ?? "");
    } else {
      for (const { path } of source.downwardAPI.items) await write(path, pod.metadata.namespace);
    }
  }
  return directory;
}

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
