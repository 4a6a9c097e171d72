import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { AdmittedPod } from "./admitted-pod.ts";

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
export async function writeServiceAccountVolume(
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
