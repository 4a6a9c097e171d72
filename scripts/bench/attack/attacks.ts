import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { scopeString, type VaultClient } from "../../../test/lab/vault/vault-client.ts";

/** One request of an attacker, on a connection that its loop keeps. */
export interface Shot {
  /** Default: POST, with JSON. */
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Sends only this many bytes of the body and keeps the connection open. */
  readonly withhold?: number;
  /** Sends the request repeatedly and reads no response. */
  readonly deaf?: boolean;
}

export interface Attack {
  /** Number of the finding in docs/design/security.md. */
  readonly finding: number;
  readonly name: string;
  /** Concurrent loops, each with its own connection and address. */
  readonly loops: number;
  /**
   * Prepares the account of a loop, if the attack needs one. Returns the requests of the loop: it
   * sends them in turn.
   */
  readonly prepare: (account: VaultClient, loop: number) => Promise<(() => Shot)[]>;
}

const MIB = 1024 * 1024;
/** Largest body of a caller without valid credentials. */
const STRANGER_BYTES = 16 * 1024;
const LOOPS = 4;

const json = (body: object): string => JSON.stringify(body);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

function colons(bytes: number): string {
  return `"${"A".repeat(bytes / 2)}"${"[:]".repeat(bytes / 6)}`.slice(0, bytes);
}

/** Returns `protect` without a token, with as many invalid metadata names as fit. */
function invalidNames(bytes: number): string {
  const start = '{"email":"a@example.com","key_name":"a","key_value":"v","metadata":{';
  const names = upTo(Math.floor((bytes - start.length - 2) / 14)).map(
    (n) => `"${String(n).padStart(6, "0")}":1e999`,
  );
  return `${start}${names.join(",")}}}`;
}

const wideNames = (count: number): string =>
  json({ email: "\u{E000}".repeat(320), key_name: upTo(count).map(() => "\u{E000}".repeat(160)) });

/** Metadata of a version at its limit: 100 names, 64 KiB. */
const largeMetadata = Object.fromEntries(upTo(90).map((n) => [`n${n}`, "x".repeat(680)]));

async function expectOk(response: ReturnType<VaultClient["call"]>): Promise<void> {
  const { status, bytes } = await response;
  if (status !== 200)
    throw new Error(`attacker's preparation: ${status} ${bytes.toString().slice(0, 200)}`);
}

const authorized = ({ token }: VaultClient): Record<string, string> => ({ authorization: token });

export const attacks: readonly Attack[] = [
  {
    finding: 1,
    name: "a string before many colons, 2 MiB and 16 KiB",
    loops: LOOPS,
    prepare: async () =>
      [2 * MIB - 1, STRANGER_BYTES].flatMap((bytes) => {
        const body = colons(bytes);
        return [
          () => ({ path: operationPath.refresh_token, body }),
          () => ({ path: operationPath.list_no_dup, body }),
        ];
      }),
  },
  {
    finding: 2,
    name: "wide names without a token, for the audit log",
    loops: LOOPS,
    prepare: async () =>
      [100, 30].map((count) => {
        const body = wideNames(count);
        return () => ({ path: operationPath.delete, body });
      }),
  },
  {
    finding: 3,
    name: "invalid names without a token, unread responses, withheld bodies",
    loops: 25,
    prepare: async (_account, loop) => {
      const large = invalidNames(1.7 * MIB);
      const small = invalidNames(STRANGER_BYTES);
      if (loop < LOOPS)
        return [large, small].map((body) => () => ({ path: operationPath.protect, body }));
      if (loop < 2 * LOOPS)
        return [() => ({ path: operationPath.protect, body: small, deaf: true })];
      return [() => ({ path: operationPath.protect, body: small, withhold: 1000 })];
    },
  },
  {
    finding: 7,
    name: "share and unshare with 10,000 and with 200 recipients",
    loops: LOOPS,
    prepare: async (account, loop) => {
      const { email } = account;
      await expectOk(account.call("protect", { key_name: "shared", key_value: "v" }));
      let next = loop * 1e6;
      const recipients = (count: number): string[] =>
        upTo(count).map(() => `r${(next += 1)}@example.com`);
      const shot = (count: number): Shot => ({
        path: operationPath.share,
        headers: authorized(account),
        body: json({
          email,
          key_name: "shared",
          usr_id_from: email,
          usr_id_to: recipients(count),
          permission: "R",
        }),
      });
      const unshare = (): Shot => ({
        path: operationPath.unshare,
        headers: authorized(account),
        body: json({
          email,
          key_name: "shared",
          usr_id_to: upTo(200).map((back) => `r${next - back}@example.com`),
        }),
      });
      return [() => shot(200), unshare, () => shot(10_000)];
    },
  },
  {
    finding: 8,
    name: "metadata at its limit, copied by versions and listed",
    loops: LOOPS,
    prepare: async (account) => {
      const { email } = account;
      const name = { email, key_name: "large" };
      await expectOk(account.call("protect", { ...name, key_value: "v", metadata: largeMetadata }));
      for (const _ of upTo(20))
        await expectOk(account.call("protect", { ...name, key_value: "v" }));
      const headers = authorized(account);
      return [
        () => ({ path: operationPath.version_list, headers, body: json(name) }),
        () => ({
          path: operationPath.update_key_metadata,
          headers,
          body: json({ ...name, key_version: 1, metadata: largeMetadata }),
        }),
        () => ({ path: operationPath.protect, headers, body: json({ ...name, key_value: "v" }) }),
        () => ({
          path: operationPath.update_key_metadata,
          headers,
          body: json({ ...name, key_version: 1, metadata: { large: "x".repeat(2e6) } }),
        }),
        () => ({ path: operationPath.list_no_dup, headers, body: json({ email }) }),
      ];
    },
  },
  {
    finding: 11,
    name: "a token with the longest scope, requests with many entity tags",
    loops: LOOPS,
    prepare: async (account) => {
      const { email } = account;
      const scope = scopeString({
        secret_name: ["scoped", ...upTo(190).map((n) => `n${n}`.padEnd(25, "x"))],
      });
      await expectOk(account.call("protect", { key_name: "scoped", key_value: "v" }));
      const login = await account.call("generate_access_token", {
        password: email,
        scope,
        expiration_hours: 1,
      });
      const headers = { authorization: String(login.json().access_token) };
      const tags = upTo(10)
        .map((n) => `W/"${Date.now() - n}-a"`)
        .join();
      const body = json({ email });
      return [
        () => ({
          path: operationPath.list_no_dup,
          headers: { ...headers, "if-none-match": tags },
          body,
        }),
        () => ({
          path: operationPath.list_no_dup,
          headers: { ...headers, "if-none-match": 'W/"1-a",'.repeat(800) },
          body,
        }),
        () => ({ path: operationPath.expose, headers, body: json({ email, key_name: "scoped" }) }),
      ];
    },
  },
];
