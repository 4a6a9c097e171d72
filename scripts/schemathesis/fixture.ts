import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";

/** What the hooks (test/schemathesis/hooks.py) put into requests. */
export interface Fixture {
  readonly email: string;
  readonly password: string;
  readonly token: string;
  readonly refresh_token: string;
  readonly own: readonly string[];
  readonly received: readonly string[];
  /** Received too, to be put away. */
  readonly away: readonly string[];
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

function isTokens(answer: unknown): answer is Tokens {
  return typeof answer === "object" && answer !== null && "access_token" in answer && "refresh_token" in answer;
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** Fills an empty vault with what two people have of their own, of each other and together; tokens live for a day. */
export async function makeFixture(url: string, ann: Account, bob: Account): Promise<Fixture> {
  const call = async (operation: Operation, body: object, authorization = ""): Promise<unknown> => {
    const headers = { "content-type": "application/json", authorization };
    const answer = await fetch(url + operationPath[operation], { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${operation} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const logIn = async (account: Account): Promise<Tokens> => {
    const answer = await call("generate_access_token", { ...account, scope, expiration_hours: 24 });
    if (!isTokens(answer)) throw new Error("the log-in answered no tokens");
    return answer;
  };
  const [anns, bobs] = [await logIn(ann), await logIn(bob)];
  const [own, received, away, teams] = [
    numbered("own", 40),
    numbered("received", 5),
    numbered("away", 100),
    numbered("team", 40),
  ];
  for (const key_name of own) await call("protect", { email: ann.email, key_name, key_value: "v" }, anns.access_token);
  const shared = [...received, ...away];
  for (const key_name of shared) await call("protect", { email: bob.email, key_name, key_value: "v" }, bobs.access_token);
  const grant = { email: bob.email, usr_id_from: bob.email, usr_id_to: ann.email, permission: "RW", key_name: shared };
  await call("share", grant, bobs.access_token);
  for (const group_id of teams) await call("team_create", { email: ann.email, group_id }, anns.access_token);
  const { access_token: token, refresh_token } = anns;
  return { ...ann, token, refresh_token, own, received, away, teams, files: ["file", "file_2", "hello.txt"] };
}
