import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import { image } from "../../../scripts/cluster/image.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";

/** Ports on which each peer listens. */
export const ports = [
  "UDP 53",
  "TCP 53",
  "TCP 443",
  "TCP 465",
  "TCP 587",
  "TCP 5432",
  "TCP 6443",
  "TCP 8080",
  "TCP 8200",
  "TCP 9464",
  "TCP 9999",
] as const;
export type Port = (typeof ports)[number];

/** Listens on the ports of each address in its arguments. */
const listenProgram = `
const net = require("node:net"), dgram = require("node:dgram");
for (const address of process.argv.slice(1))
  for (const [protocol, port] of ${JSON.stringify(ports)}.map((one) => one.split(" "))) {
    if (protocol === "TCP") { net.createServer((socket) => socket.end()).listen(port, address); continue; }
    const server = dgram.createSocket("udp4");
    server.on("message", (text, from) => server.send(text, from.port, from.address));
    server.bind(Number(port), address);
  }
`;

/** Responds to a line with addresses and ports with a line that says which of them respond. */
const connectProgram = `
const net = require("node:net"), dgram = require("node:dgram");
const responds = ([address, name]) => new Promise((resolve) => {
  const [protocol, port] = name.split(" ");
  const socket = protocol === "TCP" ? net.connect(port, address) : dgram.createSocket("udp4");
  const end = (is) => { resolve(is); protocol === "TCP" ? socket.destroy() : socket.close(); };
  const timeout = setTimeout(() => end(false), 2000);
  const settle = (is) => { clearTimeout(timeout); end(is); };
  socket.once("error", () => settle(false)).once(protocol === "TCP" ? "connect" : "message", () => settle(true));
  if (protocol === "UDP") socket.connect(Number(port), address, () => socket.send("query", () => {}));
});
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) =>
  console.log(JSON.stringify(await Promise.all(JSON.parse(line).map(responds)))));
`;

const node = "/usr/local/bin/node";

/** Returns a pod that listens on the ports, and that Pod Security *restricted* permits. */
export function peerPod(name: string, labels: Readonly<Record<string, string>>): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "peer",
          image,
          imagePullPolicy: "Never",
          command: [node, "--eval", listenProgram, "0.0.0.0"],
          readinessProbe: { tcpSocket: { port: 9999 }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}

/** Listens on the ports of addresses of this machine. The caller kills the process. */
export function listenOutside(...addresses: readonly string[]): ChildProcess {
  return spawn(process.execPath, ["--eval", listenProgram, ...addresses], { stdio: "inherit" });
}

const Responses = z.array(z.boolean());

/** A program that connects, in a container or on this machine. */
export class Connector implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static outside(): Connector {
    return new Connector(process.execPath, ["--eval", connectProgram]);
  }

  static in(cluster: NodeCluster, namespace: string, pod: string): Connector {
    const args = [`--namespace=${namespace}`, "exec", "--stdin", pod, "--", node, "--eval"];
    return new Connector(cluster.kubectlPath, [...args, connectProgram], {
      KUBECONFIG: cluster.kubeconfigPath,
    });
  }

  /** Reports which of these ports of addresses respond. One call at a time. */
  async connects(targets: readonly (readonly [string, Port])[]): Promise<boolean[]> {
    this.#child.stdin?.write(`${JSON.stringify(targets)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the program that connects has ended");
    return Responses.parse(JSON.parse(value));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.stdin?.end();
    await ended;
  }
}
