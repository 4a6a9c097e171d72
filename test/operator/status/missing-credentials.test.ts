import { expect, test } from "vitest";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { PASSWORD } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const MINUTE = 60_000;
const login = { namespace: "shop", name: "late" };

/** Creates the credentials Secret `late` with the right password. */
const createLogin = ({ server }: SimulatedWorld): object =>
  server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: login,
    type: CREDENTIALS_TYPE,
    data: { password: Buffer.from(PASSWORD).toString("base64") },
  });

/** Starts an operator with a connection whose credentials Secret does not exist. */
async function withoutLogin(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  scene.connect("vault", { auth: { passwordSecretRef: { name: login.name } } });
  scene.follow({ password: "db" });
  await scene.settle();
  return scene;
}

const reasons = (scene: SimulatedWorld) =>
  ["Ready", "Stalled"].map((type) => scene.connectionCondition(type)?.reason);

test("a connection waits five minutes for its credentials Secret, then it is Stalled", async () => {
  await using scene = await withoutLogin();
  expect(reasons(scene)).toEqual(["CredentialsMissing", undefined]);
  await scene.settle(4 * MINUTE);
  expect(reasons(scene)).toEqual(["CredentialsMissing", undefined]);
  await scene.settle(MINUTE);
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
  await scene.replace();
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
});

test.each([1, 30])(
  "a credentials Secret that appears after %d minutes is used",
  async (minutes) => {
    await using scene = await withoutLogin();
    await scene.settle(minutes * MINUTE);
    createLogin(scene);
    await scene.settle(1_000);
    expect(reasons(scene)).toEqual(["Synced", undefined]);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  },
);

test("a connection whose credentials Secret is deleted is Stalled at its next login", async () => {
  await using scene = await withoutLogin();
  createLogin(scene);
  await scene.settle(MINUTE);
  scene.server.delete(SECRETS, login);
  await scene.replace();
  expect(reasons(scene)).toEqual(["CredentialsMissing", "CredentialsMissing"]);
});
