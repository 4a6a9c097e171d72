import { expect, test } from "vitest";
import { TestVault } from "../../test/lab/vault/test-vault.ts";
import { makeFixture } from "./fixture.ts";

test("the fixture for schemathesis fits the quotas of a server", async () => {
  await using vault = await TestVault.start();
  const [ann, bob] = [...vault.passwords.keys()];
  const { email, token, received, dismissable } = await makeFixture(vault, ann!, bob!);
  const { bytes } = await vault.post(
    "/v1/user/secret/list_no_dup",
    { email },
    { authorization: token },
  );
  const names = (JSON.parse(bytes.toString()) as { secrets: { key_name: string }[] }).secrets.map(
    ({ key_name }) => key_name,
  );
  expect(names).toEqual(expect.arrayContaining([...received, ...dismissable]));
});
