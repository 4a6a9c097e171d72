import { expect, test } from "vitest";
import { collection } from "../lab/real/resources.ts";
import { Lanes } from "./support/lanes.ts";

/** The operator reads its watch of a real API server so slowly that the server closes it. */
const METRIC = 'apiserver_terminated_watchers_total{group="vaultsync.dev",resource="vaultsecrets"}';
/**
 * Close to the largest size of all annotations of an object: few events fill the buffers of the
 * connection.
 */
const FILLING = "x".repeat(240 * 1024);
const MAX_CHANGES = 600;

async function terminatedWatchers({ plane }: Lanes): Promise<number> {
  const { body } = await plane.request("GET", "/metrics");
  const line = body.split("\n").find((one) => one.startsWith(METRIC));
  return Number(line?.split(" ").at(-1) ?? 0);
}

/** Changes an annotation until the API server closes a watch of VaultSecrets. */
async function changeUntilClosed(world: Lanes, name: string): Promise<void> {
  const path = `${collection("VaultSecret", world.namespace)}/${name}`;
  const before = await terminatedWatchers(world);
  let { body } = await world.plane.request("GET", path);
  for (let change = 0; change < MAX_CHANGES; change += 1) {
    const object = JSON.parse(body) as { metadata: { annotations?: object } };
    object.metadata.annotations = {
      ...object.metadata.annotations,
      "example.com/filling": `${change}${FILLING}`,
    };
    const changed = await world.plane.request("PUT", path, object);
    expect(changed.status).toBe(200);
    body = changed.body;
    if (change % 20 === 0 && (await terminatedWatchers(world)) > before) return;
  }
  throw new Error(`the API server closed no watch after ${MAX_CHANGES} changes`);
}

test("O7: a watch that the API server closes because it is read slowly loses no change", async () => {
  await using world = await Lanes.create({ accounts: 1 });
  const operator = await world.startOperator();
  await using lane = await world.lane("o7-slow");
  operator.signal("SIGSTOP");
  await changeUntilClosed(world, lane.name);
  const data = [
    { secretKey: "value", remoteRef: { key: lane.name } },
    { secretKey: "missed", remoteRef: { key: lane.name } },
  ];
  await world.patch("VaultSecret", lane.name, {
    metadata: { annotations: { "example.com/filling": "" } },
    spec: { data },
  });
  operator.signal("SIGCONT");
  await lane.until(
    "Secret",
    (secret) => secret.data["missed"] === Buffer.from(lane.values[0] ?? "").toString("base64"),
  );
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0]]);
  expect(world.history.versions("Secret", lane.name).length).toBe(2);
  expect(operator.exited).toBe(false);
});
