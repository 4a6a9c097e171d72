import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { externalSecrets } from "./operator/eso-subject.ts";
import { measureSubjects } from "./operator/measure-subjects.ts";
import { Samples, seriesTables } from "./operator/samples.ts";
import { measureNeighbors } from "./operator/scenarios/neighbors.ts";
import type { Subject } from "./operator/subject.ts";
import { vaultsync } from "./operator/vaultsync-subject.ts";
import { saveResult } from "./result-file.ts";

const all = ["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"];
const { values } = parseArgs({
  options: {
    resources: { type: "string", default: "1000" },
    connections: { type: "string", default: "10" },
    scenarios: { type: "string", default: all.slice(0, 6).join() },
    repeats: { type: "string", default: "3" },
    seconds: { type: "string", default: "125" },
    latency: { type: "string", default: "20" },
    outage: { type: "string", default: "600" },
    rounds: { type: "string", default: "5" },
    neighbors: { type: "string", default: "slow,failing,hot" },
    failing: { type: "string", default: "10000" },
    unrelated: { type: "string", default: "1000" },
    vault: { type: "string", default: "server" },
    pod: { type: "boolean", default: false },
    "poll-mode": { type: "string", multiple: true, default: ["list"] },
    before: { type: "string" },
    eso: { type: "string" },
    "eso-crds": { type: "string" },
    profiles: { type: "string" },
    output: { type: "string", default: "operator" },
    help: { type: "boolean" },
  },
});
const scenarios = new Set(values.scenarios.split(","));
const modes = (["list", "per-key"] as const).filter((mode) => values["poll-mode"].includes(mode));
const hasEso = (values.eso === undefined) === (values["eso-crds"] === undefined);
const isProgram = values.vault === "server" || values.vault === "stub";
if (
  values.help === true ||
  [...scenarios].some((name) => !all.includes(name)) ||
  modes.length === 0 ||
  !hasEso ||
  !isProgram
) {
  process.stdout
    .write(`Measure the operator, from the outside, next to what the API server allows and to External Secrets Operator.

npm run bench -- operator [--scenarios b0,b1,b2,b3,b4,b5] [--resources 1000] [--connections 10] [--repeats 3] [--seconds 125]
    [--latency 20] [--unrelated 1000] [--outage 600] [--rounds 5] [--neighbors slow,failing,hot] [--failing 10000]
    [--vault server|stub] [--poll-mode list|per-key]… [--pod] [--before PROGRAM] [--eso PROGRAM --eso-crds FILE]
    [--profiles DIRECTORY] [--output operator]

  --scenarios    b0: Secrets written by a plain client; b1: cold start (always); b2: warm restart; b3: nothing changes; b4: changes, one
                 each second and 1,000 together; b5: memory; b6: outage of the vault; b7: failover; b8: bad neighbors; b9: windows of all
                 resources that open together
  --resources    number of resources; several separated by commas
  --connections  number of connections, which share the resources; several separated by commas
  --repeats      number of repeats; the subjects are measured in turn within each
  --seconds      duration of a measurement that has no natural end
  --latency      delay in milliseconds that is added to each response of the vault
  --outage       duration in seconds of the vault's outage
  --rounds       number of times that the leader ends in each way, per repeat, for b7
  --neighbors    neighbors for b8: connections that take 30 s, secrets that cannot be read, resources that are edited all the time
  --failing      number of secrets of the connection of which 9 % fail, for b8
  --unrelated    number of Secrets of 100 KB that no resource refers to, for b5
  --vault        server: the vault server; stub: a vault in memory, for more than some 10,000 resources
  --pod          runs this operator with the ServiceAccount and the memory that it has in a pod; requires user namespaces
  --poll-mode    list: one connection for each account; per-key: a connection for each resource, listed once per interval
  --before       main.js of another build of this operator, to measure next to it
  --eso          binary of External Secrets Operator, measured with its defaults and tuned; --eso-crds: its definitions as YAML
  --profiles     directory for CPU profiles of this operator
  --output       name of the result in scripts/bench/results
`);
  process.exit(values.help === true ? 0 : 2);
}

const numbers = (text: string): number[] => text.split(",").map(Number);
const samples = new Samples();
const { profiles, before, pod } = values;
const subjects: Subject[] = modes.map((mode) => vaultsync({ mode, profiles, asInPod: pod }));
if (before !== undefined)
  subjects.push(
    vaultsync({ mode: "list", program: resolve(before), profiles: undefined, asInPod: pod }),
  );
if (values.eso !== undefined && values["eso-crds"] !== undefined) {
  const files = { program: values.eso, crds: values["eso-crds"] };
  subjects.push(externalSecrets("defaults", files), externalSecrets("tuned", files));
}
const settings = {
  seconds: Number(values.seconds),
  vault: values.vault === "stub" ? ("stub" as const) : ("server" as const),
  latencyMs: Number(values.latency),
  outageSeconds: Number(values.outage),
  rounds: Number(values.rounds),
  unrelated: Number(values.unrelated),
};
const repeats = Number(values.repeats);
const onProgress = (): Promise<void> => saveResult(values.output, values, samples.series);
if (scenarios.size > (scenarios.has("b8") ? 1 : 0)) {
  for (const resources of numbers(values.resources)) {
    for (const connections of numbers(values.connections)) {
      await measureSubjects(
        { subjects, scenarios, repeats, settings, samples, onProgress },
        resources,
        connections,
      );
    }
  }
}
if (scenarios.has("b8")) {
  const neighbors = values.neighbors.split(",");
  await measureNeighbors(samples, {
    seconds: settings.seconds,
    repeats,
    neighbors,
    failing: Number(values.failing),
  });
}
await onProgress();
process.stdout.write(seriesTables(samples.series));
