import { connectClient, type ConnectedClient } from "./connected-client.ts";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Logger } from "../../../src/lib/logger.ts";
import { Reflector } from "../../../src/operator/kube/cache/reflector.ts";
import { SECRETS, type KubeObject } from "../../../src/operator/kube/resource.ts";
import { pump, VirtualClock } from "../clock/virtual-clock.ts";
import { failureStatus, json, type LoopbackServer } from "../loopback-server.ts";

export interface OpenWatch {
  readonly from: string | null;
  readonly timeoutSeconds: number;
  readonly response: ServerResponse;
  readonly socket: Socket;
}

/** A collection on a loopback server, and the changes that the reflector reports. */
export class ReflectorScene {
  readonly clock: VirtualClock;
  readonly changes: string[] = [];
  readonly logged: string[] = [];
  readonly watches: OpenWatch[] = [];
  readonly lists: number[] = [];
  /** Items of a list; `null` makes it fail with a 500. */
  items: object[] | null = [];
  listVersion = "100";
  /** Responds to a watch instead of opening a stream. */
  failWatch: ((response: ServerResponse) => void) | undefined;
  readonly server: LoopbackServer;
  readonly reflector: Reflector<string>;
  readonly #stop = new AbortController();
  readonly running: Promise<void>;

  private constructor(
    clock: VirtualClock,
    connected: ConnectedClient,
    project: (object: KubeObject) => string,
    relistMs: number,
  ) {
    const { server, client: api } = connected;
    this.clock = clock;
    this.server = server;
    server.handler = ({ query }, response, socket) => {
      // As an API server without streaming lists: a list is one request that is not a watch.
      if (query.has("sendInitialEvents")) json(response, 422, failureStatus(422, "Invalid"));
      else if (query.has("watch")) this.#watch(query, response, socket);
      else this.#list(response);
    };
    const log = (fields: object, message: string): void =>
      void this.logged.push(JSON.stringify({ ...fields, message }));
    const logger: Logger = {
      debug: () => undefined,
      info: log,
      warn: log,
      error: log,
      child: () => logger,
    };
    const base = { api, clock, logger, resource: SECRETS, namespace: "a", random: () => 0 };
    this.reflector = new Reflector({ ...base, project, relistMs });
    this.reflector.onChange(({ type, key }) => void this.changes.push(`${type} ${key}`));
    this.running = this.reflector.run(this.#stop.signal);
    onTestFinished(async () => {
      this.stop();
      await this.running;
      await connected[Symbol.asyncDispose]();
    });
  }

  static async start(
    items: object[] | null = [],
    project: (object: KubeObject) => string = versionOf,
    relistMs = 0,
  ): Promise<ReflectorScene> {
    const clock = new VirtualClock();
    const connected = await connectClient(() => undefined, { clock });
    const scene = new ReflectorScene(clock, connected, project, relistMs);
    scene.items = items;
    return scene;
  }

  stop(): void {
    this.#stop.abort(new Error("stop"));
  }

  until(isSo: () => boolean): Promise<void> {
    return pump(this.clock, isSo);
  }

  async nextWatch(): Promise<OpenWatch> {
    const count = this.watches.length;
    await this.until(() => this.watches.length > count);
    return this.watches[count]!;
  }

  #list(response: ServerResponse): void {
    this.lists.push(this.clock.monotonic());
    if (!this.items) return json(response, 500, failureStatus(500, "InternalError"));
    json(response, 200, {
      kind: "SecretList",
      metadata: { resourceVersion: this.listVersion },
      items: this.items,
    });
  }

  #watch(query: URLSearchParams, response: ServerResponse, socket: Socket): void {
    if (this.failWatch) return this.failWatch(response);
    response.flushHeaders();
    const timeoutSeconds = Number(query.get("timeoutSeconds"));
    this.watches.push({ from: query.get("resourceVersion"), timeoutSeconds, response, socket });
  }
}

/** Projects an object to its resourceVersion. */
export const versionOf = ({ metadata }: KubeObject): string => metadata.resourceVersion ?? "";
