import { describe, expect, test } from "vitest";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import type { SignUpPolicy } from "../../src/vault/server/context.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const invitedBy = { permission: "R", key_name: "a", usr_id_from: ANN };

const start = async (signUp?: SignUpPolicy): Promise<TestVault> => {
  const vault = await TestVault.start({ ...(signUp && { signUp }), clock: new VirtualClock() });
  const ann = await vault.client(ANN);
  await ann.call("protect", { key_name: "a", key_value: "v" });
  await ann.call("share", {
    ...invitedBy,
    usr_id_to: ["shared@example.com", "shared@example.org"],
  });
  await ann.call("team_create", { group_id: "t", members: ["member@example.com"] });
  return vault;
};
const request = (vault: TestVault, email: string) =>
  vault.post(sessionOperationPath.app_request_password, { email });
const omitted = (vault: TestVault, kind: string) =>
  vault.metric(`vaultsync_vault_emails_total{kind="${kind}",outcome="omitted"}`);
const setPassword = (vault: TestVault, token: string) =>
  vault.post(sessionOperationPath.app_set_password, { token, password: "another-long-password" });

const everyone = [
  "stranger@example.com",
  "shared@example.com",
  "member@example.com",
  "shared@example.org",
  "x@sub.example.com",
];

describe.each<[string, SignUpPolicy | undefined, readonly string[], number]>([
  ["open", { mode: "open" }, everyone, 0],
  ["open, for one domain", { mode: "open", domains: ["example.com"] }, everyone.slice(0, 3), 1],
  ["as by default", undefined, everyone.slice(1, 4), 0],
  ["invited", { mode: "invited" }, everyone.slice(1, 4), 0],
  [
    "invited, for one domain",
    { mode: "invited", domains: ["example.com"] },
    everyone.slice(1, 3),
    1,
  ],
  ["closed", { mode: "closed" }, [], 2],
])("with sign-up %s", (_name, policy, allowed, omittedInvitations) => {
  test("only these addresses get a link, which works, and all get the same response", async () => {
    await using vault = await start(policy);
    const responses = [];
    for (const email of [...everyone, BOB]) responses.push(await request(vault, email));
    const parts = responses.map(
      ({ status, bytes, headers: { date: _date, "x-request-id": _id, ...headers } }) =>
        JSON.stringify({ status, body: bytes.toString(), headers }),
    );
    expect(new Set(parts).size).toBe(1);
    expect(responses[0]?.status).toBe(200);
    await expect.poll(() => omitted(vault, "confirmation")).toBe(everyone.length - allowed.length);
    for (const email of [...allowed, BOB]) {
      const { token } = await mailTo(vault.mailDirectory, email);
      expect((await setPassword(vault, token)).json()).toMatchObject({ session: { email } });
    }
    expect(await omitted(vault, "invitation")).toBe(omittedInvitations);
  });

  test("app_session names the mode", async () => {
    await using vault = await TestVault.start(policy && { signUp: policy });
    const response = await vault.post(sessionOperationPath.app_session, {});
    expect(response.json()).toEqual({
      session: null,
      sign_up: policy?.mode ?? "invited",
      email_delivery: "files",
      trash_days: 0,
    });
  });
});

test("a link sent before its sender stopped sharing does not sign up with sign-up invited", async () => {
  await using vault = await start({ mode: "invited" });
  const { token } = await mailTo(vault.mailDirectory, "shared@example.com");
  const ann = await vault.client(ANN);
  await ann.call("unshare", { key_name: "a" });
  expect((await setPassword(vault, token)).outcome()).toBe("401 invalid_confirmation");
  await ann.call("share", { ...invitedBy, usr_id_to: "shared@example.com" });
  expect((await setPassword(vault, token)).outcome()).toBe("200");
});
