import {
  KubeClient,
  type KubeClientOptions,
} from "../../../src/operator/kube/client/kube-client.ts";
import {
  type Access,
  type AccessSource,
  Credentials,
} from "../../../src/operator/kube/credentials/credentials.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { LoopbackServer, type RequestHandler } from "../loopback-server.ts";

/** Returns the access to a loopback API server; `token` is called on each load. */
export function accessTo(
  { url }: LoopbackServer,
  token: (fresh: boolean) => string = () => "token",
): AccessSource {
  return {
    server: url,
    namespace: undefined,
    async load(fresh): Promise<Access> {
      return {
        headers: new Redacted({ authorization: `Bearer ${token(fresh)}` }),
        tls: new Redacted({}),
      };
    },
  };
}

/** A loopback API server and a client that is connected to it. */
export interface ConnectedClient extends AsyncDisposable {
  readonly server: LoopbackServer;
  readonly client: KubeClient;
}

/** Starts a server that responds by `handler`, and a client of it. */
export async function connectClient(
  handler: RequestHandler,
  options: Partial<KubeClientOptions> = {},
): Promise<ConnectedClient> {
  const server = await LoopbackServer.start(handler);
  const clock = options.clock ?? systemClock;
  const client = new KubeClient({
    credentials: new Credentials(accessTo(server), clock),
    clock,
    fieldManager: "vaultsync",
    ...options,
  });
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Returns the KubeError with which `promise` rejects; throws when it resolves or rejects otherwise.
 */
export async function kubeErrorOf(promise: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await promise.then(
    () => new Error("expected a KubeError"),
    (caught: unknown) => caught,
  );
  if (!(error instanceof KubeError)) throw error;
  return error;
}
