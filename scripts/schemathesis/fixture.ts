import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";

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

export interface Account {
  readonly email: string;
  readonly password: string;
}

const scope = "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*";

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

function isTokens(response: unknown): response is Tokens {
  return (
    typeof response === "object" &&
    response !== null &&
    "access_token" in response &&
    "refresh_token" in response
  );
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/**
 * Fills an empty vault with own and received secrets and teams of two users. The tokens are valid
 * for a day.
 */
export async function makeFixture(url: string, ann: Account, bob: Account): Promise<Fixture> {
  const send = async (operation: Operation, body: object, authorization = ""): Promise<unknown> => {
    const headers = { "content-type": "application/json", authorization };
    const response = await fetch(url + operationPath[operation], {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok)
      throw new Error(
        `${operation}: unexpected status ${response.status}: ${await response.text()}`,
      );
    return response.json();
  };
  const login = async (account: Account): Promise<Tokens> => {
    const response = await send("generate_access_token", {
      ...account,
      scope,
      expiration_hours: 24,
    });
    if (!isTokens(response)) throw new Error("the login response has no tokens");
    return response;
  };
  const [anns, bobs] = [await login(ann), await login(bob)];
  const [own, received, dismissable, teams] = [
    numbered("own", 40),
    numbered("received", 5),
    numbered("dismissable", 100),
    numbered("team", 40),
  ];
  for (const key_name of own)
    await send("protect", { email: ann.email, key_name, key_value: "v" }, anns.access_token);
  const shared = [...received, ...dismissable];
  for (const key_name of shared)
    await send("protect", { email: bob.email, key_name, key_value: "v" }, bobs.access_token);
  const grant = {
    email: bob.email,
    usr_id_from: bob.email,
    usr_id_to: ann.email,
    permission: "RW",
    key_name: shared,
  };
  // Accepts the sender: a stranger may share fewer secrets.
  const accepting = {
    email: ann.email,
    usr_id_from: ann.email,
    usr_id_to: bob.email,
    permission: "R",
    key_name: own[0],
  };
  await send("share", accepting, anns.access_token);
  await send("share", grant, bobs.access_token);
  for (const group_id of teams)
    await send("team_create", { email: ann.email, group_id }, anns.access_token);
  const { access_token: token, refresh_token } = anns;
  return {
    ...ann,
    token,
    refresh_token,
    own,
    received,
    dismissable,
    teams,
    files: ["file", "file_2", "hello.txt"],
  };
}
