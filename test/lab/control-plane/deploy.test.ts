import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { sharedControlPlane } from "../kube/control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const install = "deploy/overlays/cluster-wide";
const overlays = ["cluster-wide", "namespaced", "minimal", "vault", "vault-postgres"];
const serviceAccount = { serviceAccount: "vaultsync", namespace: "vaultsync-system" };
const account = "--as=system:serviceaccount:vaultsync-system:vaultsync";

const Container = z.looseObject({ ports: z.array(z.object({ containerPort: z.number() })) });
const Ports = z.object({ ports: z.array(z.object({ port: z.number() })) });
const Policy = z.object({
  podSelector: z.record(z.string(), z.unknown()),
  policyTypes: z.array(z.string()),
  ingress: z.array(Ports).default([]),
});
const Item = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    generation: z.number().optional(),
    resourceVersion: z.string().optional(),
  }),
  spec: z
    .looseObject({
      replicas: z.number().optional(),
      template: z
        .looseObject({
          spec: z.looseObject({ volumes: z.array(z.unknown()), containers: z.array(Container) }),
        })
        .optional(),
      volumeClaimTemplates: z
        .array(z.object({ metadata: z.object({ name: z.string() }) }))
        .default([]),
    })
    .optional(),
});
type Item = z.output<typeof Item>;

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  await kubectl("apply", "--kustomize", install);
  for (const file of ["vault/namespace", "vault-chart/files/vault/service-account"]) {
    await kubectl("apply", "--filename", `deploy/${file}.yaml`);
  }
});

/** Reports whether an argument is a path in the repository. */
const isPath = (arg: string): boolean => /^(?:crds|deploy)(?:\/|$)/u.test(arg);

/**
 * Runs kubectl with paths of the repository, and returns its output. @throws Error with the error
 * output
 */
const kubectl = (...args: string[]): Promise<string> =>
  controlPlane.kubectlOutput(args.map((arg) => (isPath(arg) ? join(root, arg) : arg)));

const rendered = new Map<string, Promise<string>>();

/** Returns the manifests of an overlay. */
function render(overlay: string): Promise<string> {
  const text = rendered.get(overlay) ?? kubectl("kustomize", `deploy/overlays/${overlay}`);
  rendered.set(overlay, text);
  return text;
}

async function objectsOf(overlay: string): Promise<Item[]> {
  const documents = parseAllDocuments(await render(overlay));
  return documents.map((document) => Item.parse(document.toJS()));
}

/**
 * Reports whether the API server drops the fields for selection, as before 1.31: it has then counted
 * each apply as a change of the spec.
 */
const dropsSelection = (kind: string, spec: unknown): boolean =>
  kind === "CustomResourceDefinition" && !JSON.stringify(spec).includes("selectableFields");

/**
 * Returns what a write changes of each object: status does not count where there is a generation.
 */
async function versions(): Promise<Record<string, unknown>> {
  const { items } = z
    .object({ items: z.array(Item) })
    .parse(JSON.parse(await kubectl("get", "-k", install, "-o", "json")));
  return Object.fromEntries(
    items.map(({ kind, metadata: { name, generation, resourceVersion }, spec }) => [
      `${kind}/${name}`,
      dropsSelection(kind, spec) ? spec : (generation ?? resourceVersion),
    ]),
  );
}

async function may(verb: string, resource: string, ...more: string[]): Promise<string> {
  return (
    await controlPlane.kubectl(["auth", "can-i", verb, resource, account, ...more])
  ).stdout.trim();
}

/** Returns the seats of the API server by priority level. */
async function seats(): Promise<Record<string, number>> {
  const metrics = await kubectl("get", "--raw=/metrics");
  const lines = metrics.matchAll(
    /^apiserver_flowcontrol_nominal_limit_seats\{priority_level="([\w-]+)"\} (\d+)$/gmu,
  );
  return Object.fromEntries([...lines].map(([, level = "", number]) => [level, Number(number)]));
}

describe("deploy", () => {
  test("applying an overlay again changes nothing, on the client or the server", async () => {
    const before = await versions();
    expect(Object.keys(before)).toHaveLength((await objectsOf("cluster-wide")).length);
    await kubectl("apply", "--kustomize", install);
    expect(await versions()).toEqual(before);
    const onServer = [
      "apply",
      "--server-side",
      "--force-conflicts",
      "--field-manager=gitops",
      "--kustomize",
      install,
    ];
    await kubectl(...onServer);
    const applied = await versions();
    await kubectl(...onServer);
    expect(await versions()).toEqual(applied);
  });

  test.each(overlays)(
    "the API server accepts the overlay %s, without a warning",
    async (overlay) => {
      const apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "--kustomize",
      ];
      const { code, stderr } = await controlPlane.kubectl([
        ...apply,
        join(root, "deploy/overlays", overlay),
      ]);
      // kubectl warns of objects that it applied before in another way.
      const warnings = stderr
        .split("\n")
        .filter((line) => line !== "" && !line.includes("last-applied-configuration"));
      expect({ code, warnings }).toEqual({ code: 0, warnings: [] });
      expect((await render(overlay)).match(/image: .+/gu)).toEqual([
        "image: REGISTRY/vaultsync:0.1.0",
      ]);
    },
  );

  test("deploy/base, which removes the operator, has nothing that outlives it", async () => {
    for (const folder of ["deploy/base", "deploy/namespaced", "deploy/vault"]) {
      expect(await kubectl("kustomize", folder)).not.toMatch(
        /^kind: (?:CustomResourceDefinition|Namespace|ValidatingAdmission\w+)$/mu,
      );
    }
  });

  test.each([
    ["view", "list", "yes"],
    ["view", "create", "no"],
    ["edit", "create", "yes"],
    ["edit", "deletecollection", "yes"],
    ["admin", "patch", "yes"],
  ])(
    "a user with the role %s of Kubernetes may %s the custom resources: %s",
    async (role, verb, allowed) => {
      const namespace = await controlPlane.createNamespace("roles");
      const user = `${role}-of-${namespace}`;
      await controlPlane.kubectl([
        "create",
        "rolebinding",
        role,
        `--clusterrole=${role}`,
        `--user=${user}`,
        "-n",
        namespace,
      ]);
      const mayAll = async (): Promise<string> => {
        const kinds = ["vaultconnections", "vaultsecrets", "vaultfiles", "vaultpushes"];
        const responses = kinds.map((kind) =>
          controlPlane.kubectl(["auth", "can-i", verb, kind, `--as=${user}`, "-n", namespace]),
        );
        return [
          ...new Set((await Promise.all(responses)).map(({ stdout }) => stdout.trim())),
        ].join();
      };
      await expect.poll(mayAll, { timeout: 20_000 }).toBe(allowed);
      for (const kind of ["clustervaultconnections", "clustervaultsecrets", "clustervaultfiles"]) {
        const cluster = ["auth", "can-i", "list", kind, `--as=${user}`];
        expect((await controlPlane.kubectl(cluster)).stdout.trim()).toBe("no");
      }
    },
  );

  test.each([
    ["view", "list", "clustervaultconnections", "yes"],
    ["view", "list", "clustervaultsecrets", "yes"],
    ["view", "list", "clustervaultfiles", "yes"],
    ["edit", "create", "clustervaultconnections", "no"],
    ["edit", "create", "clustervaultsecrets", "no"],
    ["admin", "patch", "clustervaultfiles", "no"],
    ["admin", "approve", "clustervaultsecrets", "no"],
    ["edit", "patch", "clustervaultconnections", "no"],
    ["admin", "update", "vaultpushes --subresource=status", "no"],
    ["vaultsync-cluster-edit", "create", "clustervaultconnections", "yes"],
    ["vaultsync-cluster-edit", "update", "clustervaultconnections --subresource=status", "no"],
    ["vaultsync-cluster-edit", "create", "clustervaultsecrets", "yes"],
    ["vaultsync-cluster-edit", "delete", "clustervaultfiles", "yes"],
    ["vaultsync-cluster-edit", "approve", "clustervaultsecrets", "no"],
    ["vaultsync-cluster-edit", "get", "secrets", "no"],
    ["vaultsync-cluster-approve", "approve", "clustervaultfiles", "yes"],
    ["vaultsync-cluster-approve", "create", "clustervaultfiles", "no"],
  ])(
    "a user with the role %s for the cluster may %s %s: %s",
    async (role, verb, resource, allowed) => {
      const user = `${role}-for-cluster`;
      const binding = [
        "create",
        "clusterrolebinding",
        user,
        `--clusterrole=${role}`,
        `--user=${user}`,
        "--dry-run=client",
        "-o=json",
      ];
      const input = await kubectl(...binding);
      expect((await controlPlane.kubectl(["apply", "-f", "-"], { input })).code).toBe(0);
      const mayDo = [
        "auth",
        "can-i",
        verb,
        ...resource.split(" "),
        `--as=${user}`,
        "--all-namespaces",
      ];
      await expect
        .poll(async () => (await controlPlane.kubectl(mayDo)).stdout.trim(), { timeout: 10_000 })
        .toBe(allowed);
    },
  );

  test.each(overlays)(
    "the pods of the overlay %s are admitted under Pod Security restricted",
    async (overlay) => {
      const workloads = (await objectsOf(overlay)).filter(
        ({ spec }) => spec?.template !== undefined,
      );
      expect(workloads).toHaveLength(1);
      for (const { metadata, spec } of workloads) {
        const claims =
          spec?.volumeClaimTemplates.map(({ metadata: { name } }) => ({ name, emptyDir: {} })) ??
          [];
        const volumes = [...(spec?.template?.spec.volumes ?? []), ...claims];
        const pod = { metadata: { name: "admitted" }, spec: { ...spec?.template?.spec, volumes } };
        const pods = `/api/v1/namespaces/${metadata.namespace}/pods?dryRun=All`;
        expect(await controlPlane.request("POST", pods, pod)).toMatchObject({ status: 201 });
        const bad = {
          metadata: { name: "privileged" },
          spec: { containers: [{ name: "c", image: "i" }] },
        };
        expect((await controlPlane.request("POST", pods, bad)).body).toContain(
          'violates PodSecurity \\"restricted:latest\\"',
        );
        expect(pod.spec).toMatchObject({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
        });
      }
    },
  );

  test.each(overlays)(
    "the NetworkPolicy of the overlay %s admits requests to the ports of the pods only",
    async (overlay) => {
      const objects = await objectsOf(overlay);
      const ports = objects.flatMap(
        ({ spec }) => spec?.template?.spec.containers.flatMap((one) => one.ports) ?? [],
      );
      const policies = objects
        .filter(({ kind }) => kind === "NetworkPolicy")
        .map(({ spec }) => Policy.parse(spec));
      expect(policies.map(({ policyTypes }) => policyTypes)).toEqual(
        policies.map(() => ["Ingress", "Egress"]),
      );
      const admitted = policies.flatMap(({ ingress }) =>
        ingress.flatMap((rule) => rule.ports.map(({ port }) => port)),
      );
      expect(admitted.toSorted((a, b) => a - b)).toEqual(
        ports.map(({ containerPort }) => containerPort).toSorted((a, b) => a - b),
      );
      expect(
        policies.filter(({ podSelector }) => Object.keys(podSelector).length === 0),
      ).toHaveLength(1);
    },
  );

  test("both replicas of the operator are created, on different nodes if possible", async () => {
    const pods = [
      "get",
      "pods",
      "--namespace=vaultsync-system",
      "--selector=app.kubernetes.io/name=vaultsync",
      "--output=json",
    ];
    const found = async (): Promise<unknown[]> => JSON.parse(await kubectl(...pods)).items;
    await expect.poll(async () => (await found()).length, { timeout: 20_000 }).toBe(2);
    const preferred = {
      podAffinityTerm: expect.objectContaining({ topologyKey: "kubernetes.io/hostname" }),
      weight: 100,
    };
    const affinity = {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferred] },
    };
    for (const pod of await found()) expect(pod).toMatchObject({ spec: { affinity } });
  });

  test.each([
    ["list", "vaultsecrets", "--all-namespaces"],
    ["watch", "secrets", "--all-namespaces"],
    ["watch", "clustervaultconnections"],
    ["update", "clustervaultconnections", "--subresource=status"],
    ["watch", "clustervaultsecrets"],
    ["update", "clustervaultsecrets", "--subresource=status"],
    ["update", "clustervaultfiles", "--subresource=finalizers"],
    ["list", "namespaces"],
    ["update", "vaultsecrets", "--subresource=status", "--namespace=default"],
    ["create", "configmaps", "--namespace=default"],
    ["patch", "secrets", "--namespace=default"],
    ["patch", "events.events.k8s.io", "--namespace=default"],
    ["update", "leases", "--namespace=vaultsync-system"],
  ])("RBAC allows the operator to %s %s", async (verb, resource, ...more) => {
    expect(await may(verb, resource, ...more)).toBe("yes");
  });

  test.each([
    ["update", "vaultsecrets", "--namespace=default"],
    ["delete", "vaultconnections", "--namespace=default"],
    ["update", "clustervaultconnections"],
    ["update", "clustervaultsecrets"],
    ["patch", "clustervaultfiles"],
    ["update", "namespaces"],
    ["get", "leases", "--namespace=default"],
    ["create", "leases", "--namespace=default"],
    ["create", "serviceaccounts", "--subresource=token", "--namespace=vaultsync-system"],
    ["get", "pods", "--namespace=vaultsync-system"],
    ["list", "nodes"],
    ["delete", "namespaces"],
    ["impersonate", "users"],
    ["escalate", "clusterroles"],
    ["bind", "clusterroles"],
    ["*", "*"],
  ])("RBAC denies the operator to %s %s", async (verb, resource, ...more) => {
    expect(await may(verb, resource, ...more)).toBe("no");
  });

  test("the operator has 24 of the 600 seats of the API server", async () => {
    await expect
      .poll(async () => (await seats())["vaultsync"], { timeout: 10_000, interval: 200 })
      .toBe(24);
    expect((await seats())["workload-low"]).toBeGreaterThan(200);
  });

  test.each([
    ["leader-election", "the lease", ["get", "leases", "--namespace=vaultsync-system"]],
    ["vaultsync", "Secrets", ["get", "secrets", "--namespace=default"]],
    ["vaultsync", "resources of all namespaces", ["get", "vaultsecrets", "--all-namespaces"]],
    ["vaultsync", "a path", ["get", "--raw=/version"]],
  ])("the priority level %s has the operator's requests for %s", async (level, _, args) => {
    const kubeconfig = await controlPlane.kubeconfigFor(serviceAccount);
    const uid = await kubectl(
      "get",
      "prioritylevelconfiguration",
      level,
      "--output=jsonpath={.metadata.uid}",
    );
    // kubectl prints the headers of the response. They name the level.
    const levels = async (): Promise<unknown> => {
      const { stderr } = await controlPlane.kubectl([...args, "-v=8"], { kubeconfig });
      return [...stderr.matchAll(/X-Kubernetes-Pf-Prioritylevel-Uid: (\S+)/giu)].at(-1)?.[1];
    };
    await expect.poll(levels, { timeout: 10_000, interval: 200 }).toBe(uid);
  });
});
