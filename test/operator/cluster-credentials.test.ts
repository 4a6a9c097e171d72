import { expect, test } from "vitest";
import { accountOf, SimulatedWorld, passwordIn } from "../lab/simulated/simulated-world.ts";
import { OPERATOR_NAMESPACE } from "../lab/simulated/simulated-operator.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { EVENTS, SECRETS } from "../../src/operator/kube/resource.ts";
import { unlimitedScope, formatScope } from "../../src/protocol/scope.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

const corporate = { name: "corporate" };
const account = accountOf(corporate);
const db = { namespace: "shop", name: "db" };
const access = [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"] }];

/**
 * Returns a running operator and the VaultSecret shop/db, synced through a connection of the
 * cluster.
 */
async function start(): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  scene.namespace("shop");
  scene.connectAccount(corporate, { access });
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  scene.follow({ password: "shop-db" }, { ...db, connection: corporate });
  scene.start();
  await scene.settle();
  return scene;
}

test("refreshed tokens are stored in the operator's namespace only", async () => {
  await using scene = await start();
  const body = {
    email: account,
    password: passwordIn(OPERATOR_NAMESPACE),
    scope: formatScope(unlimitedScope),
    expiration_hours: 1,
  };
  const issued = JSON.parse(
    Buffer.from(
      scene.vault().respond({ operation: "generate_access_token", body }).body,
    ).toString(),
  );
  const data = Object.fromEntries(
    ["access_token", "refresh_token"].map((key) => [
      key,
      Buffer.from(String(issued[key])).toString("base64"),
    ]),
  );
  const places = [OPERATOR_NAMESPACE, "shop"].map((namespace) => ({ namespace, name: "tokens" }));
  for (const metadata of places)
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      type: CREDENTIALS_TYPE,
      data,
    });
  scene.connectAccount(corporate, { access, auth: { tokenSecretRef: { name: "tokens" } } });
  await scene.settle(2 * 3_600_000);
  const [stored, other] = places.map((ref) => scene.server.get(SECRETS, ref)["data"]);
  expect(other).toEqual(data);
  expect(stored).not.toEqual(data);
  scene.vault().writeAs(accountOf(corporate), ["shop-db"]);
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${account} shop-db 2, Synced`);
});

test("an event about a connection of the cluster is in the namespace default", async () => {
  await using scene = await start();
  scene.namespace("default");
  scene.vault().network = {
    send: ({ operation }) => Promise.reject(new TransientError(operation, "reset")),
  };
  await scene.settle(120_000);
  const events = scene.server
    .all(EVENTS)
    .filter(({ metadata }) => metadata.name.startsWith("corporate."));
  const open = events.find((event) => event["reason"] === "CircuitBreakerOpened");
  expect(open).toMatchObject({
    metadata: { namespace: "default" },
    regarding: { kind: "ClusterVaultConnection", name: "corporate" },
  });
  expect(open?.["regarding"]).not.toHaveProperty("namespace");
});
