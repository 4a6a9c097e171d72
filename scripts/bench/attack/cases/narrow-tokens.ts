import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { scopeString, VaultClient } from "../../../../test/lab/vault/vault-client.ts";
import { accountEmail, type AttackCase } from "../attack-case.ts";
import type { Shot } from "../attacks.ts";
import { prepared } from "../patient.ts";
import { shotLoop } from "../shot-loop.ts";

const name = "narrow-tokens";
const TOKENS = 8;
const WAITS = 200;
const LOOPS = 100;

/** Logs in with a scope that admits nothing, and refreshes the token. */
async function narrowTokens(url: string, email: string): Promise<VaultClient[]> {
  const login = new VaultClient(url, email);
  const scope = scopeString({ secret_name: ["nothing"] });
  const body = { password: email, scope, expiration_hours: 24 };
  const response = await prepared(() => login.call("generate_access_token", body));
  const { access_token: used_access_token, refresh_token } = response.json();
  const tokens = [new VaultClient(url, email, { token: used_access_token })];
  while (tokens.length < TOKENS) {
    const refreshed = await prepared(() =>
      login.post(operationPath.refresh_token, { refresh_token, used_access_token }),
    );
    tokens.push(new VaultClient(url, email, { token: refreshed.json().access_token }));
  }
  return tokens;
}

/** Returns a request of a token whose body is the email. */
function shotOf(
  { email, token }: VaultClient,
  path: string,
  more: Record<string, string> = {},
): () => Shot {
  return () => ({
    path,
    headers: { authorization: token, ...more },
    body: JSON.stringify({ email }),
  });
}

/** A token that reaches nothing but uses up the waits and the request rate of its account. */
export const narrowTokensCase: AttackCase = {
  name,
  title: "200 waits and a flood by tokens of the owner that reach nothing",
  prepare: async (site) => {
    const tokens = await narrowTokens(site.url, accountEmail(name, "owner"));
    const tag = (await prepared(() => tokens[0]!.call("list_no_dup"))).headers.etag ?? "";
    const waits = tokens.map((token) =>
      shotOf(token, operationPath.list_no_dup, { "if-none-match": tag, prefer: "wait=4" }),
    );
    const floods = tokens.map((token) => shotOf(token, operationPath.list_file));
    return {
      run: async (round) => {
        const loop = (shots: typeof waits, index: number): Promise<void> =>
          shotLoop(site.url, [shots[index % TOKENS]!], site.address(index % 100), round);
        await Promise.all([
          ...Array.from({ length: WAITS }, (_, index) => loop(waits, index)),
          ...Array.from({ length: LOOPS }, (_, index) => loop(floods, index)),
        ]);
      },
    };
  },
  probe: {
    name: "the owner's read, with a wait for changes",
    intervalMs: 250,
    open: async (site) => {
      const owner = await site.logIn("owner");
      await prepared(() => owner.call("protect", { key_name: "own", key_value: "v" }));
      const tag = (await owner.call("list_no_dup")).headers.etag;
      return async () => {
        const [value, list] = await Promise.all([
          owner.call("expose", { key_name: "own" }),
          owner.call("list_no_dup", {}, { "if-none-match": tag, prefer: "wait=1" }),
        ]);
        if (list.status === 304 && list.headers["preference-applied"] === undefined)
          return "no wait";
        return list.status === 304 ? value.outcome() : list.outcome();
      };
    },
  },
};
