import { z } from "zod";
import { image } from "../../../scripts/cluster/image.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";

const port = 8080;

/** Responds with what its process reads: a variable, or the bytes of a file. */
export const readerProgram = `
const { randomUUID } = require("node:crypto");
const { readFileSync } = require("node:fs");
const id = randomUUID();
require("node:http").createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://reader");
  const name = searchParams.get("name");
  try {
    if (pathname === "/id") response.end(id);
    else if (pathname === "/file") response.end(readFileSync(name));
    else if (pathname === "/exit") response.end("", () => process.exit());
    else if (name in process.env) response.end(process.env[name]);
    else response.writeHead(404).end();
  } catch (error) {
    response.writeHead(404).end(error.code);
  }
}).listen(${port});
`;

export const readinessProbe = { httpGet: { path: "/id", port }, periodSeconds: 1 };

export interface ReaderSpec {
  readonly env?: readonly object[];
  readonly envFrom?: readonly object[];
  readonly mounts?: readonly object[];
  readonly volumes?: readonly object[];
  readonly restartPolicy?: string;
}

/** Returns the spec of a pod whose program reports what it reads. */
export function readerPod({ env, envFrom, mounts, volumes, restartPolicy }: ReaderSpec): object {
  return {
    automountServiceAccountToken: false,
    // With 0, a pod is gone before its container.
    terminationGracePeriodSeconds: 1,
    ...(restartPolicy !== undefined && { restartPolicy }),
    containers: [
      {
        name: "reader",
        image,
        imagePullPolicy: "Never",
        command: ["/usr/local/bin/node", "--eval", readerProgram],
        env: env ?? [],
        envFrom: envFrom ?? [],
        volumeMounts: mounts ?? [],
        readinessProbe,
      },
    ],
    volumes: volumes ?? [],
  };
}

const Pod = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  status: z.object({
    podIP: z.string().optional(),
    phase: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    containerStatuses: z
      .array(
        z.object({
          restartCount: z.int(),
          containerID: z.string().optional(),
          state: z.object({ waiting: z.object({ reason: z.string() }).optional() }),
        }),
      )
      .default([]),
    initContainerStatuses: z
      .array(z.object({ name: z.string(), restartCount: z.int() }))
      .default([]),
  }),
});
export type Pod = z.output<typeof Pod>;

export const isPodReady = ({ status }: Pod): boolean =>
  status.conditions.some((one) => one.type === "Ready" && one.status === "True");

/** Returns the pods that a selector matches and nothing is removing. */
export async function podsOf(
  cluster: NodeCluster,
  namespace: string,
  selector: string,
): Promise<Pod[]> {
  const args = ["get", "pods", `--selector=${selector}`, "--output=json"];
  const { items } = z
    .object({ items: z.array(Pod) })
    .parse(JSON.parse(await cluster.kubectlOutput(args, { namespace })));
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The program in a pod, over HTTP: this machine reaches the addresses of pods. */
export class Reader {
  readonly pod: Pod;

  constructor(pod: Pod) {
    this.pod = pod;
  }

  /** Waits for the only pod of a workload to be ready. `differs` excludes a former process. */
  static ready(
    cluster: NodeCluster,
    namespace: string,
    selector: string,
    differs?: string,
  ): Promise<Reader> {
    return waitUntil(
      `one pod with ${selector} is ready`,
      async () => {
        const [pod, ...others] = await podsOf(cluster, namespace, selector);
        if (pod === undefined || others.length > 0 || !isPodReady(pod)) return undefined;
        const reader = new Reader(pod);
        return (await reader.id()) === differs ? undefined : reader;
      },
      120_000,
      300,
    );
  }

  async #read(path: string, name = ""): Promise<Buffer | undefined> {
    const url = new URL(`http://${this.pod.status.podIP}:${port}${path}`);
    url.searchParams.set("name", name);
    const response = await fetch(url, { headers: { connection: "close" } });
    return response.ok ? Buffer.from(await response.arrayBuffer()) : undefined;
  }

  /** Returns a text that each process has another of. */
  async id(): Promise<string> {
    return String(await this.#read("/id"));
  }

  /** Returns a variable of the process; `undefined` if there is none. */
  async env(name: string): Promise<string | undefined> {
    return (await this.#read("/env", name))?.toString();
  }

  /** Returns the bytes of a file that the process can read; `undefined` if there is none. */
  file(path: string): Promise<Buffer | undefined> {
    return this.#read("/file", path);
  }

  async text(path: string): Promise<string | undefined> {
    return (await this.file(path))?.toString();
  }

  /** Ends the process with 0. */
  async exit(): Promise<void> {
    await this.#read("/exit");
  }
}
