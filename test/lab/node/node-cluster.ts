import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ControlPlane } from "../control-plane/control-plane.ts";
import { type Handle, readHandle } from "../control-plane/handle.ts";
import { type NodeLayout, nodeName, registriesDirectory } from "./layout.ts";

const run = promisify(execFile);

/** A control plane with one node, for any process of the same user. It needs no disposal. */
export class NodeCluster extends ControlPlane {
  readonly layout: NodeLayout;
  readonly #ctr: string;

  private constructor(handle: Handle, node: NonNullable<Handle["node"]>) {
    super(handle);
    this.layout = node;
    this.#ctr = node.ctr;
  }

  /** Opens the cluster in a directory. @throws Error when it is not running, or has no node */
  static async open(directory: string): Promise<NodeCluster> {
    const handle = await readHandle(directory);
    if (handle.node === undefined) throw new Error(`the cluster in ${directory} has no node`);
    return new NodeCluster(handle, handle.node);
  }

  /** Loads the image of an OCI archive: pods then use it with the pull policy `Never`. */
  async importImage(archive: string): Promise<void> {
    await this.#images("import", archive);
  }

  /** Writes a loaded image to an OCI archive. */
  async exportImage(name: string, archive: string): Promise<void> {
    await this.#images("export", archive, name);
  }

  async #images(...args: readonly string[]): Promise<void> {
    const socket = `--address=${this.directory}/containerd.sock`;
    await run(this.#ctr, [socket, "--namespace=k8s.io", "images", ...args], {
      timeout: 300_000,
    });
  }

  /** Makes the node pull images of a registry, such as `10.213.0.1:5000`, over HTTP. */
  async addRegistry(host: string): Promise<void> {
    const directory = join(this.directory, registriesDirectory, host);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "hosts.toml"), `server = "http://${host}"\n`);
  }

  /** Adds volumes of the node's directory, without a class, for as many claims. */
  async addVolumes(names: readonly string[]): Promise<void> {
    const volumes: object[] = [];
    for (const name of names) {
      const path = join(this.directory, "volumes", name);
      await mkdir(path, { recursive: true });
      volumes.push(persistentVolume(name, path));
    }
    await this.apply(volumes);
  }

  /** Waits until a pod is ready, for two minutes, and returns its address. */
  async readyPod(name: string, namespace: string): Promise<string> {
    const options = { namespace };
    const ready = ["wait", "--for=condition=Ready", "--timeout=120s", `pod/${name}`];
    await this.kubectlOutput(ready, options);
    return this.kubectlOutput(["get", "pod", name, "--output=jsonpath={.status.podIP}"], options);
  }

  /** Stops containerd and starts it again. Containers continue to run. */
  async restartContainerd(): Promise<void> {
    await this.control("/containerd/restart");
  }

  /** Stops the kubelet. Containers continue to run. */
  async stopKubelet(): Promise<void> {
    await this.control("/kubelet/stop");
  }

  async startKubelet(): Promise<void> {
    await this.control("/kubelet/start");
  }
}

function persistentVolume(name: string, path: string): object {
  const term = { key: "kubernetes.io/hostname", operator: "In", values: [nodeName] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "10Gi" },
      accessModes: ["ReadWriteOnce"],
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [term] }] } },
    },
  };
}
