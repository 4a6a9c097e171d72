import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  sessionOperationPath,
  operationPath,
  type Operation,
} from "../../src/protocol/operation-paths.ts";
import { Canaries } from "../lab/assertions/canary.ts";
import {
  scopeString,
  sendRequest,
  VaultClient,
  type VaultResponse,
} from "../lab/vault/vault-client.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess, type ProcessResult } from "../lab/real/processes/vaultsync-process.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
const json = { "content-type": "application/json" };

const canaries = new Canaries();
let directory: string;
const at = (name: string): string => join(directory, name);
/** Everything that may hold no value: commands' output, refusals, lists, metrics. */
const places: Record<string, string> = {};
/** Places that must contain values: the search finds them there. */
let exposed = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vault-traces-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs a command to its end; what it prints is searched. */
async function command(name: string, ...args: string[]): Promise<ProcessResult> {
  const ended = await VaultsyncProcess.run(["vault", ...args]);
  places[name] = ended.stdout + ended.stderr;
  expect(ended, name).toMatchObject({ code: 0 });
  return ended;
}

function searched(name: string, response: VaultResponse): VaultResponse {
  places[name] = JSON.stringify(response.headers) + response.bytes.toString();
  return response;
}

async function emailTo(address: string): Promise<string> {
  return waitUntil(`an email to ${address}`, async () => {
    for (const name of await readdir(at("vault.db-mail"))) {
      const email = await readFile(at(`vault.db-mail/${name}`), "utf8");
      if (email.includes(`To: ${address}`)) return email;
    }
    return undefined;
  });
}

/** The link's token, out of a quoted-printable text. */
function proofIn(email: string): string {
  const [, proof] =
    /#\/set-password\?token=([\w-]+)/u.exec(email.replace(/=\r?\n/gu, "").replaceAll("=3D", "=")) ??
    [];
  if (proof === undefined) throw new Error("the email has no link");
  return proof;
}

async function logIn(url: string, password: string): Promise<VaultClient> {
  const body = { email: ann, password, scope: scopeString(), expiration_hours: 1 };
  const response = await sendRequest(url + operationPath.generate_access_token, {
    headers: json,
    body: JSON.stringify(body),
  });
  const tokens = response.json();
  for (const name of ["access_token", "refresh_token", "id_token"])
    canaries.known(name, tokens[name]);
  exposed += response.bytes.toString();
  return new VaultClient(url, ann, { token: tokens.access_token });
}

async function workWith(url: string, caller: VaultClient): Promise<void> {
  const value = canaries.text("a value");
  const call = async (name: string, operation: Operation, body: object): Promise<VaultResponse> =>
    searched(name, await caller.call(operation, body));
  await call("protect", "protect", {
    key_name: "shop-db",
    key_value: value,
    metadata: { team: "shop" },
  });
  await call("protect again", "protect", {
    key_name: "shop-db",
    key_value: canaries.text("a second value"),
  });
  await call("protect for a minute", "protect", {
    key_name: "gone",
    key_value: canaries.text("a deleted value"),
    delete_time: 1,
  });
  await call("delete", "delete", { key_name: "gone" });
  await call("share", "share", {
    key_name: "shop-db",
    permission: "RW",
    usr_id_from: ann,
    usr_id_to: bob,
  });
  await call("protect_link", "protect_link", {
    key_name: "shop-db",
    key_value: canaries.text("a linked value"),
  });
  await call("list", "list_no_dup", {});
  await call("versions", "version_list_for_link", { key_name: "shop-db" });
  exposed += (
    await caller.call("version_expose_link", { key_name: "shop-db", key_version: 1 })
  ).bytes.toString();
  exposed += (await caller.call("expose_link", { key_name: "shop-db" })).bytes.toString();
  const bytes = canaries.bytes("a file", 200_000);
  searched("upload", await caller.upload([{ filename: "logo.png", bytes }]));
  expect((await caller.call("download_file", { filename: "logo.png" })).bytes.equals(bytes)).toBe(
    true,
  );
  await refusals(url, caller);
}

/** Values where the server did not want them. */
async function refusals(url: string, caller: VaultClient): Promise<void> {
  const refused = async (
    name: string,
    headers: Record<string, string>,
    body: string,
  ): Promise<void> => {
    const response = searched(
      name,
      await sendRequest(url + operationPath.protect, { headers: { ...json, ...headers }, body }),
    );
    expect(response.status, name).toBeGreaterThan(399);
  };
  const token = { authorization: caller.token };
  const value = canaries.text("a refused value");
  await refused("not JSON", token, `{"email":"${ann}","key_name":"x","key_value":"${value}`);
  await refused(
    "wrong type",
    token,
    JSON.stringify({ email: ann, key_name: "x", key_value: { value } }),
  );
  await refused(
    "too large",
    token,
    JSON.stringify({ email: ann, key_name: "x", key_value: value.repeat(60_000) }),
  );
  await refused(
    "scheme word",
    { authorization: `Bearer ${caller.token}` },
    JSON.stringify({ email: ann, key_name: "x", key_value: value }),
  );
  await refused(
    "foreign email",
    token,
    JSON.stringify({ email: bob, key_name: "x", key_value: value }),
  );
  const body = JSON.stringify({
    email: ann,
    password: canaries.text("a wrong password"),
    scope: scopeString(),
    expiration_hours: 1,
  });
  searched(
    "failed login",
    await sendRequest(url + operationPath.generate_access_token, { headers: json, body }),
  );
  const refresh = JSON.stringify({
    refresh_token: canaries.text("a wrong token"),
    used_access_token: caller.token,
  });
  searched(
    "failed refresh",
    await sendRequest(url + operationPath.refresh_token, { headers: json, body: refresh }),
  );
}

/** Bob follows the link of his invitation, and gets a token from the web application. */
async function signUp(url: string): Promise<void> {
  const proof = proofIn(await emailTo(bob));
  const password = canaries.text("bob's password");
  const app = (path: string, body: object, headers = {}): Promise<VaultResponse> =>
    sendRequest(url + path, { headers: { ...json, ...headers }, body: JSON.stringify(body) });
  const set = await app(sessionOperationPath.app_set_password, { token: proof, password });
  expect(set.outcome()).toBe("200");
  const [cookie = ""] = (set.headers["set-cookie"] ?? [""])[0]?.split(";") ?? [];
  canaries.known("the session", cookie.split("=")[1] ?? "");
  const session = { cookie, "x-csrf-token": set.json().session.csrf_token };
  const copied = await app(sessionOperationPath.app_api_token, { password }, session);
  for (const name of ["access_token", "refresh_token"])
    canaries.known(`bob's ${name}`, copied.json()[name]);
  searched(
    "a used link",
    await app(sessionOperationPath.app_set_password, { token: proof, password }),
  );
  canaries.known("the proof of an address", proof);
}

/** All files that were left, master keys apart, as text in which every byte is a character. */
async function readFiles(): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.startsWith("master.key")) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    const isEmail = entry.name.endsWith(".eml");
    // The one place where the proof belongs.
    const text = isEmail
      ? bytes.toString("latin1").replaceAll(/token=3D[\w-]+(?:=\r\n[\w-]+)*/gu, "")
      : bytes.toString("latin1");
    places[`the file ${isEmail ? "of an email" : entry.name}`] = text;
  }
  places["the backup, unpacked"] = zstdDecompressSync(await readFile(at("backup"))).toString(
    "latin1",
  );
}

test("no value, password, token or key is in a file, log, email, response or output", async () => {
  const password = canaries.text("the password");
  await writeFile(at("password"), password);
  await command("key generate", "key", "generate", at("master.key"));
  canaries.known("the master key", (await readFile(at("master.key"), "utf8")).trim());
  const keep = ["--data", at("vault.db"), "--master-key-file", at("master.key")];
  await command("user add", "user", "add", ann, ...keep, "--password-file", at("password"));
  await rm(at("password"));
  {
    await using server = await VaultServerProcess.start([...keep, "--log-level", "debug"]);
    await workWith(server.url, await logIn(server.url, password));
    await signUp(server.url);
    searched("metrics", await sendRequest(`${server.metricsUrl}/metrics`, { method: "GET" }));
    await command("rotate-key", "rotate-key", ...keep);
    await command("backup", "backup", ...keep, "--to", at("backup"));
    await readFiles();
    await server.stop();
    const { stdout, stderr } = server;
    places["the server's log"] = stdout + stderr;
    expect(stderr).toContain("protect_link");
  }
  await command(
    "audit verify",
    "audit",
    "verify",
    at("vault.db-audit.jsonl"),
    "--data",
    at("vault.db"),
  );
  await command("audit show", "audit", "show", at("vault.db-audit.jsonl"), "--json");
  await readFiles();
  expect(Object.keys(places)).toEqual(
    expect.arrayContaining([
      "the file vault.db",
      "the file vault.db-audit.jsonl",
      "the file of an email",
    ]),
  );
  expect(canaries.tracesIn({ exposed }), "the search finds what is there").toContain(
    "a value in exposed",
  );
  expect(canaries.tracesIn(places)).toEqual([]);
}, 300_000);
