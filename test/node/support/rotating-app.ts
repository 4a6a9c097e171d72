import { setTimeout as sleep } from "node:timers/promises";
import { image } from "../../../scripts/cluster/image.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import type { NodeNamespace } from "./scene.ts";

const port = 8080;

/** A database with passwords that it accepts: `PUT /accept` replaces them, `GET /login` checks one. */
const databaseProgram = `
let accepted = [];
require("node:http").createServer((request, response) => {
  if (request.method === "PUT") {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => { accepted = JSON.parse(body); response.end(); });
  } else if (request.url === "/ready") response.end();
  else response.writeHead(accepted.includes(request.headers["x-password"]) ? 200 : 401).end();
}).listen(${port});
`;

/**
 * Logs in to the database with the variable PASSWORD for each request. Ends like a server that users
 * depend on: it responds for a while after SIGTERM.
 */
const appProgram = `
const headers = { "x-password": process.env.PASSWORD, connection: "close" };
const database = "http://" + process.env.DATABASE_SERVICE_HOST + ":${port}/login";
const server = require("node:http").createServer(async (request, response) => {
  if (request.url === "/ready") return response.end();
  try {
    response.writeHead((await fetch(database, { headers })).status).end();
  } catch {
    response.writeHead(502).end();
  }
}).listen(${port});
process.on("SIGTERM", () => setTimeout(() => process.exit(), 5_000));
`;

const service = (name: string): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port }] },
});

const deployment = (name: string, replicas: number, program: string, env: object[]): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 10,
        containers: [
          {
            name: "app",
            image,
            imagePullPolicy: "Never",
            command: ["/usr/local/bin/node", "--eval", program],
            env,
            readinessProbe: { httpGet: { path: "/ready", port }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

/** The responses that users of the application got. */
export interface Served {
  readonly requests: number;
  /** Logins that the database refused. */
  readonly refused: number;
  /** Requests without a response of the application. */
  readonly failed: number;
}

/** A database, and two pods that log in to it with the key `password` of a Secret. */
export class RotatingApp {
  readonly #namespace: NodeNamespace;
  readonly #name: string;

  private constructor(namespace: NodeNamespace, name: string) {
    this.#namespace = namespace;
    this.#name = name;
  }

  /** Starts both, and waits until they are ready. */
  static async start(
    namespace: NodeNamespace,
    name: string,
    secret: string,
    accepted: readonly string[],
  ): Promise<RotatingApp> {
    const app = new RotatingApp(namespace, name);
    const env = [
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: secret, key: "password" } } },
    ];
    await namespace.apply(service("database"), service(name));
    await namespace.apply(deployment("database", 1, databaseProgram, []));
    await namespace.kubectl("rollout", "status", "deployment/database", "--timeout=120s");
    // kube-proxy writes its rules after the pods are ready.
    await waitUntil("the database is reachable", async () => {
      await app.accept(...accepted);
      return true;
    });
    await namespace.apply(deployment(name, 2, appProgram, env));
    await namespace.kubectl("rollout", "status", `deployment/${name}`, "--timeout=120s");
    const url = `${await app.#address(name)}/ready`;
    await waitUntil("the application is reachable", async () => (await fetch(url)).ok);
    return app;
  }

  async #address(name: string): Promise<string> {
    const ip = "jsonpath={.spec.clusterIP}";
    return `http://${await this.#namespace.kubectl("get", "service", name, "--output", ip)}:${port}`;
  }

  /** Replaces the passwords that the database accepts. */
  async accept(...passwords: readonly string[]): Promise<void> {
    const url = `${await this.#address("database")}/accept`;
    await fetch(url, { method: "PUT", body: JSON.stringify(passwords) });
  }

  /** Sends requests through the Service at a rate until the signal is aborted. */
  async load(perSecond: number, signal: AbortSignal): Promise<Served> {
    const url = await this.#address(this.#name);
    const counts = { requests: 0, refused: 0, failed: 0 };
    const sent: Promise<void>[] = [];
    const send = async (): Promise<void> => {
      const status = await fetch(url, { headers: { connection: "close" } }).then(
        (response) => response.status,
        () => 0,
      );
      counts.requests += 1;
      if (status === 401) counts.refused += 1;
      else if (status !== 200) counts.failed += 1;
    };
    for (let due = performance.now(); !signal.aborted; due += 1_000 / perSecond) {
      await sleep(Math.max(0, due - performance.now()));
      sent.push(send());
    }
    await Promise.all(sent);
    return counts;
  }
}
