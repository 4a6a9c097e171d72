import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";
import type { ApiAccess, ApiResponse } from "../../../test/lab/control-plane/api-request.ts";
import { collection } from "../../../test/lab/real/resources.ts";

/** Kinds of External Secrets Operator. */
const esoKinds = ["ExternalSecret", "SecretStore"];

/** Returns the path of the objects of a kind in a namespace. */
export function collectionOf(kind: string, namespace: string): string {
  if (!esoKinds.includes(kind)) return collection(kind, namespace);
  return `/apis/external-secrets.io/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;
}

export interface KubeObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

/**
 * The administrator's client. Its connections are kept open: thousands of objects take seconds.
 * Disposing it closes them.
 */
export class KubeWriter implements Disposable {
  readonly #access: ApiAccess;
  readonly #agent: Agent;

  /** @param inFlight maximum number of concurrent requests */
  constructor(access: ApiAccess, inFlight = 16) {
    this.#access = access;
    this.#agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  }

  /** Creates the objects. @throws Error with the first response that is not a success */
  async create(namespace: string, objects: readonly KubeObject[]): Promise<void> {
    await Promise.all(
      objects.map((object) => this.#succeed("POST", collectionOf(object.kind, namespace), object)),
    );
  }

  /** Changes an object by a JSON merge patch. */
  async patch(kind: string, namespace: string, name: string, patch: object): Promise<void> {
    await this.#succeed("PATCH", `${collectionOf(kind, namespace)}/${name}`, patch);
  }

  /** Replaces the status of an object. */
  async replaceStatus(namespace: string, object: KubeObject): Promise<void> {
    await this.#succeed(
      "PUT",
      `${collectionOf(object.kind, namespace)}/${object.metadata.name}/status`,
      object,
    );
  }

  async list(kind: string, namespace: string): Promise<unknown> {
    return JSON.parse((await this.#succeed("GET", collectionOf(kind, namespace))).body);
  }

  /** Returns the number of bytes of a list, as the API server sends it without compression. */
  async listedBytes(kind: string, namespace: string, metadataOnly = false): Promise<number> {
    const accept = metadataOnly
      ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
      : "application/json";
    return Buffer.byteLength(
      (await this.#succeed("GET", collectionOf(kind, namespace), undefined, accept)).body,
    );
  }

  /** Returns the metrics of the API server in the Prometheus text format. */
  async metrics(): Promise<string> {
    return (await this.#succeed("GET", "/metrics", undefined, "text/plain")).body;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #succeed(
    method: string,
    path: string,
    body?: object,
    accept?: string,
  ): Promise<ApiResponse> {
    const response = await this.#send(method, path, body, accept);
    if (response.status >= 300)
      throw new Error(`${method} ${path}: ${response.status} ${response.body.slice(0, 300)}`);
    return response;
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    accept = "application/json",
  ): Promise<ApiResponse> {
    const { server, ca, token } = this.#access;
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = {
      accept,
      authorization: `Bearer ${token}`,
      "content-type": type,
      "user-agent": "vaultsync-bench",
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(
        new URL(path, server),
        { method, ca, agent: this.#agent, headers },
        resolve,
      );
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
    return { status: response.statusCode ?? 0, body: await text(response) };
  }
}
