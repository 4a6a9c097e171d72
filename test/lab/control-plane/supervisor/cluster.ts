import type { ApiAccess } from "../api-request.ts";
import type { Timings } from "../handle.ts";

/** A running cluster. It ends when the signal passed at its start is aborted. */
export interface Cluster {
  /** Credentials of the administrator. */
  readonly access: ApiAccess;
  readonly kubectl: string;
  readonly auditLog: string;
  readonly timings: Pick<Timings, "etcd" | "apiserver" | "controllerManager">;
  stopApiServer(): Promise<void>;
  /** Starts the API server on the same port, with the same data. */
  startApiServer(): Promise<void>;
  /**
   * Starts another API server with the same data and certificates, and returns its URL. @throws
   * Error if there is one already
   */
  startSecondApiServer(): Promise<string>;
  stopSecondApiServer(): Promise<void>;
  /** Actions of the control socket on a node, by path. */
  readonly nodeActions?: Readonly<Record<string, () => Promise<void>>>;
}

/**
 * Logs every request at Metadata level: user, verb, object, time and status, never a body. Loopback
 * requests of the API server itself are omitted.
 */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "None", users: ["system:apiserver"] }, { level: "Metadata" }],
});
