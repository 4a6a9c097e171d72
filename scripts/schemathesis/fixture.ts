import { VaultClient, type VaultResponse } from "../../test/lab/vault/vault-client.ts";

/** Values that the hooks (test/schemathesis/hooks.py) insert into requests. */
export interface Fixture {
  readonly email: string;
  readonly password: string;
  readonly token: string;
  readonly refresh_token: string;
  readonly own: readonly string[];
  readonly received: readonly string[];
  /** Received secrets for `delete_shared_key_link`. */
  readonly dismissable: readonly string[];
  readonly teams: readonly string[];
  readonly files: readonly string[];
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** Returns a response with status 200. @throws Error */
function expected(response: VaultResponse): VaultResponse {
  if (response.status !== 200) throw new Error(`unexpected status ${response.outcome()}`);
  return response;
}

/**
 * Fills an empty vault with own and received secrets and teams of two users. The tokens are valid
 * for a day.
 */
export async function makeFixture(
  { url, passwords }: { readonly url: string; readonly passwords: ReadonlyMap<string, string> },
  ann: string,
  bob: string,
): Promise<Fixture> {
  const logIn = async (email: string) => {
    const client = new VaultClient(url, email);
    const password = passwords.get(email) ?? "";
    const { refresh_token } = expected(await client.logIn(password)).json();
    return { client, password, refresh_token: String(refresh_token) };
  };
  const [{ client, password, refresh_token }, { client: bobs }] = [
    await logIn(ann),
    await logIn(bob),
  ];
  const [own, received, dismissable, teams] = [
    numbered("own", 40),
    numbered("received", 5),
    numbered("dismissable", 100),
    numbered("team", 40),
  ];
  for (const key_name of own) expected(await client.call("protect", { key_name, key_value: "v" }));
  const shared = [...received, ...dismissable];
  for (const key_name of shared) expected(await bobs.call("protect", { key_name, key_value: "v" }));
  // Accepts the sender: a stranger may share fewer secrets.
  const accepting = { usr_id_from: ann, usr_id_to: bob, permission: "R", key_name: own[0] };
  expected(await client.call("share", accepting));
  const grant = { usr_id_from: bob, usr_id_to: ann, permission: "RW", key_name: shared };
  expected(await bobs.call("share", grant));
  for (const group_id of teams) expected(await client.call("team_create", { group_id }));
  return {
    email: ann,
    password,
    token: client.token,
    refresh_token,
    own,
    received,
    dismissable,
    teams,
    files: ["file", "file_2", "hello.txt"],
  };
}
