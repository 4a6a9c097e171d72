import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isObject } from "../../../src/lib/is-object.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { certificate } from "../certificates.ts";
import { failureStatus, json, LoopbackServer, type SeenRequest } from "../loopback-server.ts";
import { runInProcess } from "../real/processes/run-in-process.ts";
import type { ProcessResult } from "../real/processes/vaultsync-process.ts";

export interface ObjectServerOptions {
  /** Collections that the user may not read. */
  readonly denied?: readonly string[];
  /** Collections of custom resources that are not installed. */
  readonly absent?: readonly string[];
  /** Returns an object after it was patched, as the operator changes it. */
  readonly operator?: (object: KubeObject) => KubeObject;
}

/** The place of objects in the paths of requests. */
interface Place {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const pluralOf = (kind: string): string => kind.toLowerCase() + (kind.endsWith("sh") ? "es" : "s");

function placeOf({ path }: SeenRequest): Place {
  const [first = "", ...rest] = path.replace(/^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\//u, "").split("/");
  if (first !== "namespaces" || rest.length < 2)
    return { plural: first, namespace: undefined, name: rest[0] };
  const [namespace, plural = "", name] = rest;
  return { plural, namespace, name };
}

/** Returns a value with a JSON merge patch applied (RFC 7386). */
function merged(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete result[name];
    else result[name] = merged(result[name], part);
  }
  return result;
}

/**
 * An API server on a loopback address that has some objects, and the commands of a user of it. It
 * reads, creates and patches: without validation, watches and versions.
 */
export class ObjectServer implements AsyncDisposable {
  readonly objects: KubeObject[];
  readonly #options: ObjectServerOptions;
  readonly #server: LoopbackServer;
  readonly #directory: string;

  private constructor(
    objects: readonly KubeObject[],
    options: ObjectServerOptions,
    server: LoopbackServer,
    directory: string,
  ) {
    this.objects = [...objects];
    this.#options = options;
    this.#server = server;
    this.#directory = directory;
    server.handler = (request, response) => this.#serve(request, response);
  }

  static async start(
    objects: readonly KubeObject[],
    options: ObjectServerOptions = {},
  ): Promise<ObjectServer> {
    const { cert, keyPem: key } = certificate("api", { hosts: ["127.0.0.1"] });
    const server = await LoopbackServer.start(() => undefined, { cert, key });
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
    const cluster = {
      server: server.url.origin,
      "certificate-authority-data": Buffer.from(cert).toString("base64"),
    };
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { token: "user" } }],
    };
    await writeFile(join(directory, "config"), JSON.stringify(config));
    return new ObjectServer(objects, options, server, directory);
  }

  get kubeconfig(): string {
    return join(this.#directory, "config");
  }

  /** The patches that the server has received, as `<plural> <namespace>/<name>`. */
  get patches(): string[] {
    return this.#server.requests
      .filter(({ method }) => method === "PATCH")
      .map((request) => {
        const { plural, namespace = "", name } = placeOf(request);
        return `${plural} ${namespace}/${name}`;
      });
  }

  /** Runs a command of vaultsync with this cluster. */
  run(command: string, ...args: readonly string[]): Promise<ProcessResult> {
    return runInProcess([command, "--kubeconfig", this.kubeconfig, ...args]);
  }

  /** Returns an object by its kind and name. */
  get(kind: string, name: string): KubeObject {
    const found = this.objects.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`no ${kind} ${name}`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #serve(request: SeenRequest, response: ServerResponse): void {
    const { denied = [], absent = [] } = this.#options;
    const place = placeOf(request);
    const { plural, name } = place;
    if (plural.endsWith("accessreviews"))
      return json(response, 201, { metadata: {}, status: { allowed: true } });
    if (denied.includes(plural)) return json(response, 403, failureStatus(403, "Forbidden"));
    if (absent.includes(plural))
      return void response.writeHead(404, { "audit-id": "1" }).end("404 page not found");
    if (request.method === "POST") {
      const created: KubeObject = JSON.parse(request.body);
      this.objects.push(created);
      return json(response, 201, created);
    }
    if (name === undefined)
      return json(response, 200, {
        metadata: { resourceVersion: "1" },
        items: this.#list(place, request.query.get("labelSelector")),
      });
    const index = this.#list(place).findIndex((one) => one.metadata.name === name);
    const object = this.#list(place)[index];
    if (object === undefined) return json(response, 404, failureStatus(404, "NotFound"));
    return json(
      response,
      200,
      request.method === "PATCH" ? this.#patch(object, JSON.parse(request.body)) : object,
    );
  }

  #list({ plural, namespace }: Place, labels?: string | null): KubeObject[] {
    return this.objects.filter(
      ({ kind, metadata }) =>
        pluralOf(kind) === plural &&
        (namespace === undefined || metadata.namespace === namespace) &&
        (labels ?? "").split(",").every((one) => {
          const [key = "", value] = one.split("=");
          return value === undefined || metadata.labels?.[key] === value;
        }),
    );
  }

  #patch(object: KubeObject, patch: unknown): KubeObject {
    const { operator = (one) => one } = this.#options;
    const patched = operator(merged(object, patch) as KubeObject);
    this.objects[this.objects.indexOf(object)] = patched;
    return patched;
  }
}
