import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { apiRequest, type ApiAccess, type ApiAnswer } from "./api-request.ts";
import { matches, readAuditLog, type AuditEvent, type RequestFilter } from "./audit.ts";
import { startConnectionProxy, type ConnectionProxy } from "./connection-proxy.ts";
import type { Handle, Timings } from "./handle.ts";
import { kubeconfig } from "./kubeconfig.ts";

/** Who a kubeconfig is for: a user named when the control plane was started, or any ServiceAccount. */
export type Identity = { readonly user: string } | { readonly serviceAccount: string; readonly namespace: string };

export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const tokenSeconds = 24 * 3600;
const Created = z.object({ metadata: z.object({ name: z.string() }) });
const TokenResponse = z.object({ status: z.object({ token: z.string() }) });

/** A running control plane, seen from any process of the same user. It holds no connection and needs no disposal. */
export class ControlPlane {
  /** For the administrator (group system:masters). */
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  readonly directory: string;
  readonly timings: Timings;
  /** The administrator's access, for raw requests. */
  readonly access: ApiAccess;
  private readonly handle: Handle;

  constructor(handle: Handle) {
    this.handle = handle;
    this.kubeconfigPath = handle.kubeconfig;
    this.kubectlPath = handle.kubectl;
    this.directory = handle.directory;
    this.timings = handle.timings;
    this.access = { server: handle.server, ca: handle.ca, token: this.userToken("admin") };
  }

  /** Runs kubectl as the administrator, or with another `kubeconfig`. It resolves whatever the exit code; look at `code`. */
  async kubectl(
    args: readonly string[],
    options: { input?: string; namespace?: string; kubeconfig?: string } = {},
  ): Promise<KubectlResult> {
    const env = {
      ...process.env,
      KUBECONFIG: options.kubeconfig ?? this.kubeconfigPath,
      KUBECACHEDIR: join(this.directory, "kubectl-cache"),
    };
    const scope = options.namespace === undefined ? [] : ["--namespace", options.namespace];
    const child = spawn(this.kubectlPath, [...scope, ...args], { env });
    child.stdin.on("error", () => {}).end(options.input ?? "");
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { stdout, stderr, code: typeof code === "number" ? code : 1 };
  }

  /** One raw request as the administrator; any status is an answer. */
  request(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    return apiRequest(this.access, { method, path, body });
  }

  /** Makes a namespace of a new name, `<prefix>-<random>`, and waits for its default ServiceAccount. */
  async createNamespace(prefix: string): Promise<string> {
    const name = `${prefix}-${randomBytes(4).toString("hex")}`;
    const created = await this.request("POST", "/api/v1/namespaces", { metadata: { name } });
    if (created.status !== 201) throw new Error(`Namespace ${name}: the API server answers ${created.status}.`);
    const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    for (let attempt = 0; attempt < 300; attempt++) {
      if ((await this.request("GET", path)).status === 200) return Created.parse(JSON.parse(created.body)).metadata.name;
      await sleep(50);
    }
    throw new Error(`Namespace ${name} has no default ServiceAccount after 15 s.`);
  }

  /**
   * Writes a kubeconfig for `identity` and gives its path; it goes with the control plane. A ServiceAccount's token comes from a
   * TokenRequest and is good for a day. `server` replaces the API server's address, e.g. by a proxy's.
   */
  async kubeconfigFor(identity: Identity, options: { server?: string } = {}): Promise<string> {
    const named = "user" in identity;
    const token = named ? this.userToken(identity.user) : await this.serviceAccountToken(identity);
    const user = named ? identity.user : identity.serviceAccount;
    const namespace = named ? {} : { namespace: identity.namespace };
    const folder = join(this.directory, "kubeconfigs");
    await mkdir(folder, { recursive: true });
    const path = join(folder, `${user.replaceAll(/[^\w.-]/g, "-")}-${randomBytes(4).toString("hex")}.yaml`);
    const server = options.server ?? this.access.server;
    await writeFile(path, kubeconfig({ server, ca: this.access.ca, token, user, ...namespace }), { mode: 0o600 });
    return path;
  }

  /** A counting, droppable relay in front of the API server, in this process. Its owner disposes it. */
  connectionProxy(): Promise<ConnectionProxy> {
    return startConnectionProxy(this.access.server);
  }

  /** Stops the API server gracefully; etcd and its data stay. Every other user of this control plane notices. */
  stopApiServer(): Promise<void> {
    return this.control("stop");
  }

  /** Starts it again on the same port and waits until it is ready. */
  startApiServer(): Promise<void> {
    return this.control("start");
  }

  restartApiServer(): Promise<void> {
    return this.control("restart");
  }

  /** A place in the audit log: `auditEvents` and `countRequests` can begin there. */
  async auditMark(): Promise<number> {
    await this.settleAudit();
    return (await stat(this.handle.auditLog)).size;
  }

  /** Every request since `since` (an `auditMark`) or the start, in the order of the log. Requests already answered are in it. */
  async auditEvents(options: { since?: number } = {}): Promise<AuditEvent[]> {
    await this.settleAudit();
    return (await readAuditLog(this.handle.auditLog, options.since ?? 0)).events;
  }

  async countRequests(filter: RequestFilter, options: { since?: number } = {}): Promise<number> {
    return (await this.auditEvents(options)).filter((event) => matches(event, filter)).length;
  }

  /** An event is written just after its answer: a request of our own, once logged, shows that what came before it is there. */
  private async settleAudit(): Promise<void> {
    const marker = `/version?marker=${randomUUID()}`;
    const { size } = await stat(this.handle.auditLog);
    try {
      await this.request("GET", marker);
    } catch {
      return; // The API server is down: nothing is on its way.
    }
    for (let attempt = 0; attempt < 200; attempt++) {
      const { events } = await readAuditLog(this.handle.auditLog, size);
      if (events.some((event) => event.requestURI === marker)) return;
      await sleep(10);
    }
    throw new Error("The audit log does not show a request that was answered two seconds ago.");
  }

  private userToken(name: string): string {
    const user = this.handle.users.find((candidate) => candidate.name === name);
    if (user === undefined)
      throw new Error(`No user "${name}"; there are ${this.handle.users.map((one) => one.name).join(", ")}.`);
    return user.token;
  }

  private async serviceAccountToken(account: { serviceAccount: string; namespace: string }): Promise<string> {
    const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.serviceAccount}/token`;
    const { status, body } = await this.request("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: tokenSeconds },
    });
    if (status !== 201) throw new Error(`No token for ServiceAccount ${account.namespace}/${account.serviceAccount}: ${status}.`);
    return TokenResponse.parse(JSON.parse(body)).status.token;
  }

  private async control(action: "stop" | "start" | "restart"): Promise<void> {
    const sent = request({ socketPath: this.handle.controlSocket, method: "POST", path: `/apiserver/${action}`, agent: false });
    sent.end();
    const [response] = await once(sent, "response");
    const body = await text(response);
    if (response.statusCode !== 204) throw new Error(`The API server does not ${action}: ${body}`);
  }
}
