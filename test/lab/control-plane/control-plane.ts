import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { apiRequest, type ApiAccess, type ApiResponse } from "./api-request.ts";
import { matches, readAuditLog, type AuditEvent, type RequestFilter } from "./audit.ts";
import { startConnectionProxy, type ConnectionProxy } from "./connection-proxy.ts";
import type { Handle, Timings } from "./handle.ts";
import { kubeconfig } from "./kubeconfig.ts";
import { tokenOf } from "./supervisor/identities.ts";
import { waitUntil } from "../clock/wait-until.ts";
import { type ProgramResult, runToEnd } from "../processes/run-to-end.ts";

/** The user of a kubeconfig: one named at the start of the control plane, or any ServiceAccount. */
export type Identity =
  | { readonly user: string }
  | { readonly serviceAccount: string; readonly namespace: string };

const tokenSeconds = 24 * 3600;
const TokenResponse = z.object({ status: z.object({ token: z.string() }) });

/** Returns objects as input of kubectl: of a stream of JSON, kubectl 1.30 reads no separators. */
export const manifestOf = (objects: readonly object[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n");

/**
 * A running control plane, for any process of the same user. It has no open connection and needs no
 * disposal.
 */
export class ControlPlane {
  /** Path of the kubeconfig of the administrator (group system:masters). */
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  readonly directory: string;
  readonly timings: Timings;
  /** The administrator's credentials, for raw requests. */
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

  /** Process group of etcd, the API server and the controller manager. */
  get processGroup(): number {
    return this.handle.pid;
  }

  /**
   * Runs kubectl as the administrator, or with another `kubeconfig`, and returns its output and
   * exit code.
   */
  async kubectl(
    args: readonly string[],
    options: { input?: string; namespace?: string; kubeconfig?: string } = {},
  ): Promise<ProgramResult> {
    const env = {
      KUBECONFIG: options.kubeconfig ?? this.kubeconfigPath,
      KUBECACHEDIR: join(this.directory, "kubectl-cache"),
    };
    const scope = options.namespace === undefined ? [] : ["--namespace", options.namespace];
    return runToEnd(this.kubectlPath, [...scope, ...args], { env, input: options.input ?? "" });
  }

  /** Returns the output of kubectl. @throws Error with what it reports when it fails */
  async kubectlOutput(
    args: readonly string[],
    options: { input?: string; namespace?: string } = {},
  ): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Applies objects with kubectl. @throws Error with what it reports when it fails */
  async apply(objects: readonly object[], namespace?: string): Promise<void> {
    const input = manifestOf(objects);
    await this.kubectlOutput(["apply", "-f", "-"], { input, ...(namespace && { namespace }) });
  }

  /** Sends a raw request as the administrator and returns the response, whatever its status. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse> {
    return apiRequest(this.access, { method, path, body, headers });
  }

  /** Creates a namespace, by default `<prefix>-<random>`, and waits for its default ServiceAccount. */
  async createNamespace(
    prefix: string,
    name = `${prefix}-${randomBytes(4).toString("hex")}`,
  ): Promise<string> {
    const created = await this.request("POST", "/api/v1/namespaces", { metadata: { name } });
    if (created.status !== 201)
      throw new Error(`cannot create namespace ${name}: status ${created.status}`);
    const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    const exists = async (): Promise<boolean> => (await this.request("GET", path)).status === 200;
    await waitUntil(`namespace ${name} has its default ServiceAccount`, exists, 15_000, 50);
    return name;
  }

  /**
   * Writes a kubeconfig for `identity` and returns its path; it is removed with the control plane.
   * The token of a ServiceAccount comes from a TokenRequest and is valid for a day. `server` and
   * `ca` replace the API server's address and authority, e.g. by the ones of a proxy.
   */
  async kubeconfigFor(
    identity: Identity,
    options: { server?: string; ca?: string } = {},
  ): Promise<string> {
    const named = "user" in identity;
    const token = named ? this.userToken(identity.user) : await this.serviceAccountToken(identity);
    const user = named ? identity.user : identity.serviceAccount;
    const namespace = named ? {} : { namespace: identity.namespace };
    const folder = join(this.directory, "kubeconfigs");
    await mkdir(folder, { recursive: true });
    const path = join(
      folder,
      `${user.replaceAll(/[^\w.-]/g, "-")}-${randomBytes(4).toString("hex")}.yaml`,
    );
    const { server = this.access.server, ca = this.access.ca } = options;
    await writeFile(path, kubeconfig({ server, ca, token, user, ...namespace }), { mode: 0o600 });
    return path;
  }

  /**
   * Starts a relay in front of the API server, in this process, that counts and resets connections.
   * The caller disposes it.
   */
  connectionProxy(): Promise<ConnectionProxy> {
    return startConnectionProxy(this.access.server);
  }

  /**
   * Stops the API server gracefully, for all users of this control plane; etcd and its data remain.
   */
  async stopApiServer(): Promise<void> {
    await this.control("/apiserver/stop");
  }

  /** Starts the API server again on the same port and waits until it is ready. */
  async startApiServer(): Promise<void> {
    await this.control("/apiserver/start");
  }

  async restartApiServer(): Promise<void> {
    await this.control("/apiserver/restart");
  }

  /**
   * Starts another API server with the same data, authority and users, and returns its URL.
   * Disposing the result stops it.
   */
  async startSecondApiServer(): Promise<AsyncDisposable & { readonly server: string }> {
    const server = await this.control("/second-apiserver/start");
    return {
      server,
      [Symbol.asyncDispose]: async () => void (await this.control("/second-apiserver/stop")),
    };
  }

  /**
   * Returns the current position in the audit log, at which `auditEvents` and `countRequests` can
   * start.
   */
  async auditMark(): Promise<number> {
    await this.settleAudit();
    return (await stat(this.handle.auditLog)).size;
  }

  /**
   * Returns every request since `since` (an `auditMark`) or the start, in the order of the log,
   * including all completed ones.
   */
  async auditEvents(options: { since?: number } = {}): Promise<AuditEvent[]> {
    await this.settleAudit();
    return (await readAuditLog(this.handle.auditLog, options.since ?? 0)).events;
  }

  async countRequests(filter: RequestFilter, options: { since?: number } = {}): Promise<number> {
    return (await this.auditEvents(options)).filter((event) => matches(event, filter)).length;
  }

  /**
   * Waits until the log contains all previous requests. An event is written after its response, so
   * a logged marker request shows that.
   */
  private async settleAudit(): Promise<void> {
    const marker = `/version?marker=${randomUUID()}`;
    const { size } = await stat(this.handle.auditLog);
    try {
      await this.request("GET", marker);
    } catch {
      return; // The API server is stopped, so no event is pending.
    }
    const isLogged = async (): Promise<boolean> => {
      const { events } = await readAuditLog(this.handle.auditLog, size);
      return events.some((event) => event.requestURI === marker);
    };
    await waitUntil("the audit log contains the marker request", isLogged, 30_000, 10);
  }

  private userToken(name: string): string {
    return tokenOf(this.handle.users, name);
  }

  /** Returns a token of a ServiceAccount that is valid for a day. */
  async serviceAccountToken(account: {
    readonly serviceAccount: string;
    readonly namespace: string;
  }): Promise<string> {
    const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.serviceAccount}/token`;
    const { status, body } = await this.request("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: tokenSeconds },
    });
    if (status !== 201)
      throw new Error(
        `cannot create a token for ServiceAccount ${account.namespace}/${account.serviceAccount}: status ${status}`,
      );
    return TokenResponse.parse(JSON.parse(body)).status.token;
  }

  /** Sends an action to the supervisor and waits for its result. */
  protected async control(path: string): Promise<string> {
    const sent = request({
      socketPath: this.handle.controlSocket,
      method: "POST",
      path,
      agent: false,
    });
    sent.end();
    const [response] = await once(sent, "response");
    const body = await text(response);
    if (response.statusCode !== 200) throw new Error(`control plane: ${path}: ${body}`);
    return body;
  }
}
