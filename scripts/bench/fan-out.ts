import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { waitUntil } from "../../test/lab/clock/wait-until.ts";
import { OPERATOR_USER } from "../../test/lab/real/world.ts";
import { installEso, ESO_USER, type EsoFiles } from "./operator/eso-subject.ts";
import { cpuSeconds } from "./operator/process-usage.ts";
import { forEach, protect, Stage } from "./operator/stage.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    namespaces: { type: "string", default: "200" },
    eso: { type: "string" },
    "eso-crds": { type: "string" },
    output: { type: "string", default: "fan-out" },
    help: { type: "boolean" },
  },
});
const count = Number(values.namespaces);
const hasPeer = values.eso !== undefined && values["eso-crds"] !== undefined;
if (values.help === true || !Number.isSafeInteger(count) || count < 1) {
  process.stdout
    .write(`Measure one secret of the vault as a Secret in many namespaces, by one resource.

npm run bench -- fan-out [--namespaces 200] [--eso PROGRAM --eso-crds FILE] [--output fan-out]

  --namespaces  number of namespaces that the resource selects
  --eso         binary of External Secrets Operator, whose ClusterExternalSecret does the same; --eso-crds: its definitions as YAML
  --output      name of the result in scripts/bench/results
`);
  process.exit(values.help === true ? 0 : 2);
}

const ACCOUNT = "platform@example.com";
const ENTRY = "registry-login";
const LABEL = "bench";
const TIMEOUT_MS = 600_000;

type Figures = Readonly<Record<string, number>>;

/** A program that makes the Secrets. */
interface Maker {
  readonly label: string;
  readonly user: string;
  /** Plurals of its kinds with a status. */
  readonly plurals: readonly string[];
  /** Installs what it needs to start. */
  readonly prepare: (stage: Stage) => Promise<void>;
  /** Creates what it follows. The Secrets have this name. */
  readonly create: (stage: Stage, target: string) => Promise<void>;
  readonly start: (stage: Stage) => Promise<AsyncDisposable & { readonly pid: number }>;
}

const ours: Maker = {
  label: "vaultsync",
  user: OPERATOR_USER,
  plurals: ["clustervaultsecrets", "clustervaultconnections"],
  prepare: () => Promise.resolve(),
  create: async (stage, target) => {
    const { password } = stage;
    await stage.plane.apply(
      [
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "platform-login" },
          type: "vaultsync.dev/credentials",
          stringData: { password },
        },
      ],
      "vaultsync-system",
    );
    await stage.plane.apply([
      {
        apiVersion: "vaultsync.dev/v1alpha1",
        kind: "ClusterVaultConnection",
        metadata: { name: "platform" },
        spec: {
          url: stage.vault.url,
          email: ACCOUNT,
          auth: { passwordSecretRef: { name: "platform-login" } },
          access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["registry-*"] }],
        },
      },
      {
        apiVersion: "vaultsync.dev/v1alpha1",
        kind: "ClusterVaultSecret",
        metadata: { name: "registry" },
        spec: {
          connectionRef: { kind: "ClusterVaultConnection", name: "platform" },
          namespaceSelector: { matchLabels: { [LABEL]: "fan-out" } },
          data: [{ secretKey: "password", remoteRef: { key: ENTRY } }],
          target: { name: target },
        },
      },
    ]);
  },
  start: (stage) => stage.operator([]),
};

const peer = (files: EsoFiles): Maker => ({
  label: "ESO",
  user: ESO_USER,
  plurals: ["externalsecrets", "clusterexternalsecrets", "clustersecretstores"],
  prepare: (stage) => installEso(stage, files.crds),
  create: async (stage, target) => {
    const { token } = await stage.client(ACCOUNT);
    const apiVersion = "external-secrets.io/v1";
    const labels = { "external-secrets.io/type": "webhook" };
    await stage.plane.apply(
      [
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "platform-token", labels },
          stringData: { token },
        },
      ],
      "default",
    );
    const auth = { name: "platform-token", namespace: "default", key: "token" };
    await stage.plane.apply([
      {
        apiVersion,
        kind: "ClusterSecretStore",
        metadata: { name: "platform" },
        spec: {
          provider: {
            webhook: {
              url: `${stage.vault.url}${operationPath.expose}`,
              method: "POST",
              headers: { "Content-Type": "application/json", Authorization: "{{ .auth.token }}" },
              body: `{"email":"${ACCOUNT}","key_name":"{{ .remoteRef.key }}"}`,
              result: { jsonPath: "$.key_value" },
              secrets: [{ name: "auth", secretRef: auth }],
            },
          },
        },
      },
      {
        apiVersion,
        kind: "ClusterExternalSecret",
        metadata: { name: "registry" },
        spec: {
          externalSecretName: "registry",
          namespaceSelectors: [{ matchLabels: { [LABEL]: "fan-out" } }],
          refreshTime: "1m",
          externalSecretSpec: {
            refreshInterval: "60s",
            secretStoreRef: { kind: "ClusterSecretStore", name: "platform" },
            target: { name: target },
            data: [{ secretKey: "password", remoteRef: { key: ENTRY } }],
          },
        },
      },
    ]);
  },
  start: async (stage) => {
    const KUBECONFIG = await stage.plane.kubeconfigFor({
      serviceAccount: "external-secrets",
      namespace: "default",
    });
    const args = ["--metrics-addr=127.0.0.1:0", "--live-addr=127.0.0.1:0", "--loglevel=error"];
    const env = { PATH: process.env["PATH"], KUBECONFIG };
    const child = spawn(files.program, args, { env, stdio: "ignore" });
    const exited = once(child, "exit");
    return {
      pid: child.pid ?? 0,
      [Symbol.asyncDispose]: async () => {
        child.kill("SIGKILL");
        await exited;
      },
    };
  },
});

/** Returns the number of Secrets of a name whose password is this value. */
async function secretsWith(stage: Stage, name: string, value: string): Promise<number> {
  const path = `/api/v1/secrets?fieldSelector=metadata.name=${name}`;
  const { body } = await stage.plane.request("GET", path);
  const { items } = JSON.parse(body) as {
    readonly items: readonly { readonly data?: Record<string, string> }[];
  };
  const expected = Buffer.from(value).toString("base64");
  return items.filter(({ data }) => data?.["password"] === expected).length;
}

/** Counts what a program does until all Secrets have a value, and its CPU time. */
async function measure(
  stage: Stage,
  maker: Maker,
  pid: number,
  phase: string,
  until: () => Promise<boolean>,
  act: () => Promise<void>,
): Promise<Figures> {
  const since = await stage.plane.auditMark();
  const total = async (): Promise<number> =>
    (await stage.vaultRequests())
      .entries()
      .reduce(
        (sum, [key, requests]) =>
          key.startsWith("expose ") || key.startsWith("version_expose ") ? sum + requests : sum,
        0,
      );
  const [reads, cpu, from] = [await total(), await cpuSeconds(pid), performance.now()];
  await act();
  await waitUntil(`${maker.label}: ${phase}`, until, TIMEOUT_MS, 200);
  const seconds = (performance.now() - from) / 1_000;
  // Statuses follow the Secrets.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const events = (await stage.plane.auditEvents({ since })).filter(
    ({ user, verb }) => user.username === maker.user && !["get", "list", "watch"].includes(verb),
  );
  const writes = (resources: readonly string[], isStatus?: boolean): number =>
    events.filter(
      ({ objectRef }) =>
        resources.includes(objectRef?.resource ?? "") &&
        (isStatus === undefined || (objectRef?.subresource === "status") === isStatus),
    ).length;
  return {
    [`${phase}, s`]: seconds,
    [`${phase}: reads of the value`]: (await total()) - reads,
    [`${phase}: writes of Secrets`]: writes(["secrets"]),
    [`${phase}: statuses`]: writes(maker.plurals, true),
    [`${phase}: writes of other resources`]: writes(maker.plurals, false),
    [`${phase}: CPU, s`]: (await cpuSeconds(pid)) - cpu,
  };
}

async function measureMaker(stage: Stage, maker: Maker): Promise<Figures> {
  const target = `registry-${maker.label.toLowerCase()}`;
  const client = await stage.client(ACCOUNT);
  const all = (value: string) => async (): Promise<boolean> =>
    (await secretsWith(stage, target, value)) === count;
  await protect(client, ENTRY, "first");
  await maker.prepare(stage);
  await using running = await maker.start(stage);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const first = await measure(stage, maker, running.pid, "first", all("first"), () =>
    maker.create(stage, target),
  );
  stage.progress.note(`${maker.label}: ${count} Secrets have the first value`);
  const change = await measure(stage, maker, running.pid, "change", all("second"), () =>
    protect(client, ENTRY, "second"),
  );
  return { ...first, ...change };
}

await using stage = await Stage.start([ACCOUNT]);
const names = Array.from({ length: count }, (_, n) => `fan-out-${n}`);
await forEach(names, async (name) => {
  const metadata = { name, labels: { [LABEL]: "fan-out" } };
  await stage.plane.request("POST", "/api/v1/namespaces", { metadata });
});
const makers = [
  ours,
  ...(hasPeer ? [peer({ program: values.eso ?? "", crds: values["eso-crds"] ?? "" })] : []),
];
const results: { readonly maker: string; readonly figures: Figures }[] = [];
for (const maker of makers)
  results.push({ maker: maker.label, figures: await measureMaker(stage, maker) });
await saveResult(values.output, values, results);
const labels = Object.keys(results[0]?.figures ?? {});
const text = (value: number | undefined): string =>
  value === undefined ? "" : Number.isInteger(value) ? String(value) : value.toPrecision(3);
process.stdout.write(
  table([
    [`${count} namespaces`, ...results.map(({ maker }) => maker)],
    ...labels.map((label) => [label, ...results.map(({ figures }) => text(figures[label]))]),
  ]),
);
