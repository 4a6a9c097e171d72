import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { OperatorProcess } from "../../lab/real/processes/operator-process.ts";

const Variable = z.strictObject({ name: z.string(), value: z.string() });
const Volume = z.looseObject({
  name: z.string(),
  configMap: z.looseObject({ name: z.string() }).optional(),
});
const Container = z.looseObject({
  image: z.string(),
  command: z.undefined().optional(),
  args: z.array(z.string()),
  env: z.array(Variable).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
const Pod = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.looseObject({
    serviceAccountName: z.string(),
    containers: z.tuple([Container]),
    volumes: z.array(Volume).default([]),
  }),
});
const Deployments = z.object({
  items: z.array(z.object({ spec: z.looseObject({ replicas: z.number() }) })).min(1),
});
type Pod = z.output<typeof Pod>;

const listens = /^--listen=/u;

/**
 * Plays the kubelet for the pods of the operator: a control plane creates them, and no node runs
 * them. Starts each as a process, with the arguments, the variables, the ConfigMaps and the
 * ServiceAccount of the pod, and reports it as ready when it is. Three things differ from a node:
 * the port (a free one), the paths of mounted ConfigMaps, and `--allow-http`, to permit a vault on
 * a loopback address.
 */
export class Kubelet implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #namespace: string;
  readonly #images: () => Promise<ReadonlySet<string>>;
  readonly #processes = new Map<string, OperatorProcess>();
  readonly #directories: string[] = [];

  /** `images` returns the images that can be pulled. */
  constructor(plane: ControlPlane, namespace: string, images: () => Promise<ReadonlySet<string>>) {
    this.#plane = plane;
    this.#namespace = namespace;
    this.#images = images;
  }

  /**
   * Starts the pods of all Deployments of the namespace. @throws Error when an image cannot be
   * pulled or a ConfigMap is missing
   */
  async startPods(): Promise<void> {
    await waitUntil(
      "all pods are created",
      async () => (await this.#pods()).length === (await this.#replicas()),
      90_000,
    );
    for (const pod of await this.#pods())
      if (!this.#processes.has(pod.metadata.uid)) await this.#start(pod);
    await Promise.all((await this.#pods()).map((pod) => this.#report(pod)));
  }

  /** Stops all processes, like the deletion of their pods. */
  async stopPods(): Promise<void> {
    const running = [...this.#processes.values()];
    this.#processes.clear();
    for (const process of running) await process.stop();
    for (const directory of this.#directories.splice(0)) await rm(directory, { recursive: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stopPods();
  }

  #path(resource: string, name = ""): string {
    return `/api/v1/namespaces/${this.#namespace}/${resource}${name && `/${name}`}`;
  }

  /** Returns how many pods the Deployments want. @throws Error if there is no Deployment */
  async #replicas(): Promise<number> {
    const { body } = await this.#plane.request(
      "GET",
      `/apis/apps/v1/namespaces/${this.#namespace}/deployments`,
    );
    const { items } = Deployments.parse(JSON.parse(body));
    return items.reduce((sum, { spec }) => sum + spec.replicas, 0);
  }

  async #pods(): Promise<Pod[]> {
    const { body } = await this.#plane.request("GET", this.#path("pods"));
    const { items } = z.object({ items: z.array(Pod) }).parse(JSON.parse(body));
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async #start({ metadata, spec }: Pod): Promise<void> {
    const [{ image, args, env, volumeMounts }] = spec.containers;
    if (!(await this.#images()).has(image))
      throw new Error(`the image ${image} of the pod ${metadata.name} was not pushed`);
    const variables = new Map(env.map(({ name, value }) => [name, value]));
    for (const { name, mountPath } of volumeMounts) {
      const configMap = spec.volumes.find((volume) => volume.name === name)?.configMap;
      if (configMap === undefined) continue;
      const directory = await this.#mount(configMap.name);
      for (const [variable, value] of variables)
        variables.set(variable, value.replace(`${mountPath}/`, `${directory}/`));
    }
    const account = { serviceAccount: spec.serviceAccountName, namespace: this.#namespace };
    const [operator, ...flags] = args;
    if (operator !== "operator" || !flags.some((flag) => listens.test(flag)))
      throw new Error(`unknown arguments: ${args.join(" ")}`);
    const others = flags.filter((flag) => !listens.test(flag));
    const process = OperatorProcess.launch(await this.#plane.kubeconfigFor(account), others, {
      env: Object.fromEntries(variables),
    });
    this.#processes.set(metadata.uid, process);
  }

  /** Writes the content that a ConfigMap has at the start of the pod into a directory. */
  async #mount(name: string): Promise<string> {
    const { status, body } = await this.#plane.request("GET", this.#path("configmaps", name));
    if (status !== 200)
      throw new Error(`the ConfigMap ${name} does not exist: the pod does not start`);
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-config-map-"));
    this.#directories.push(directory);
    const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(JSON.parse(body));
    for (const [key, value] of Object.entries(data)) await writeFile(join(directory, key), value);
    return directory;
  }

  /** Waits for the process of a pod to be ready, then sets the pod's status. */
  async #report(pod: Pod): Promise<void> {
    const process = this.#processes.get(pod.metadata.uid);
    const ready = async (): Promise<boolean> => {
      if (process === undefined || process.exited)
        throw new Error(`the operator did not start:\n${process?.log}`);
      return process.port > 0 && (await process.page("/readyz")).status === 200;
    };
    await waitUntil(`${pod.metadata.name} is ready`, ready, 90_000);
    const conditions = ["Ready", "ContainersReady"].map((type) => ({
      type,
      status: "True",
      lastTransitionTime: new Date().toISOString(),
    }));
    const patch = { status: { phase: "Running", conditions } };
    const type = { "content-type": "application/merge-patch+json" };
    const { status, body } = await this.#plane.request(
      "PATCH",
      this.#path("pods", `${pod.metadata.name}/status`),
      patch,
      type,
    );
    if (status !== 200) throw new Error(`status of ${pod.metadata.name}: ${status} ${body}`);
  }
}
