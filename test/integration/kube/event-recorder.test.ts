import { expect, test } from "vitest";
import {
  ALL_NAMESPACES,
  EVENTS,
  NAMESPACES,
  SECRETS,
  type KubeObject,
} from "../../../src/operator/kube/resource.ts";
import { startEventRecorder } from "../../lab/kube/event-recorder.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;

test("a real API server accepts events of a cluster-scoped object in the namespace default", async () => {
  const controlPlane = await sharedControlPlane();
  const name = await controlPlane.createNamespace("kube-events");
  await using client = await connect(controlPlane.kubeconfigPath);
  const { uid = "" } = (await client.get(NAMESPACES, { name }, forever)).metadata;
  const { recorder, stop, running } = startEventRecorder(client, new VirtualClock(Date.now()));
  recorder.record({
    resource: NAMESPACES,
    namespace: "",
    name,
    uid,
    type: "Normal",
    reason: "Test",
    action: "Test",
    note: "seen",
  });
  const shown = () =>
    controlPlane.kubectl(["events", `--for=namespace/${name}`], { namespace: "default" });
  await expect
    .poll(async () => (await shown()).stdout)
    .toMatch(/Normal\s+Test\s+Namespace\/\S+\s+seen/);
  stop.abort();
  await running;
});

test("a real API server accepts events, counts a series, and kubectl shows them", async () => {
  const controlPlane = await sharedControlPlane();
  const namespace = await controlPlane.createNamespace("kube-events");
  await using client = await connect(controlPlane.kubeconfigPath);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace, name: "s" } };
  const { uid = "" } = (await client.create(SECRETS, secret, forever)).metadata;
  const clock = new VirtualClock(Date.now());
  const { recorder, stop, running } = startEventRecorder(client, clock);
  const about = { resource: SECRETS, namespace, name: "s", uid };
  const warn = (): void =>
    recorder.record({
      ...about,
      type: "Warning",
      reason: "SourceMissing",
      action: "Read",
      note: "no such name",
    });

  warn();
  await expect.poll(async () => (await events()).length).toBe(1);
  await clock.advance(60_000);
  warn();
  await expect.poll(async () => (await events())[0]?.["series"]).toMatchObject({ count: 2 });
  expect(await events()).toHaveLength(1);
  const shown = await controlPlane.kubectl(["events", "--for=secret/s"], { namespace });
  expect(shown.stdout).toMatch(/Warning\s+SourceMissing\s+Secret\/s\s+no such name/);

  stop.abort();
  await running;

  async function events(): Promise<KubeObject[]> {
    const found: KubeObject[] = [];
    for await (const { items } of client.list(EVENTS, { namespace: ALL_NAMESPACES }, forever))
      found.push(...items);
    return found.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.name.startsWith("s."),
    );
  }
});
