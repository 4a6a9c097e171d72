import type { ApiAccess } from "../api-request.ts";
import type { Timings } from "../handle.ts";

/** A running cluster, whatever it is made of. It ends when the signal that its start was given aborts. */
export interface Cluster {
  /** As the administrator. */
  readonly access: ApiAccess;
  readonly kubectl: string;
  readonly auditLog: string;
  readonly timings: Pick<Timings, "etcd" | "apiserver" | "controllerManager">;
  stopApiServer(): Promise<void>;
  /** On the same port, with the same data. */
  startApiServer(): Promise<void>;
}
