import { certificate } from "../../lab/certificates.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { FaultProxy } from "../../lab/real/fault-proxy.ts";

/** A proxy in front of the real API server, and how an operator reaches it. */
export interface ApiProxy {
  readonly proxy: FaultProxy;
  readonly api: { readonly server: string; readonly ca: string };
}

export async function startApiProxy(): Promise<ApiProxy> {
  const authority = certificate("API proxy CA");
  const { cert, keyPem: key } = certificate("api", { issuer: authority, hosts: ["127.0.0.1"] });
  const { access } = await sharedControlPlane();
  const proxy = await FaultProxy.start(
    { url: access.server, ca: access.ca },
    { tls: { cert, key } },
  );
  return { proxy, api: { server: proxy.url, ca: authority.cert } };
}
