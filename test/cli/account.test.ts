import { chmod, link, readFile, stat, writeFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { Canaries } from "../lab/assertions/canary.ts";
import { certificate } from "../lab/certificates.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultsyncProcess, type ProcessResult } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const HOUR = 3_600_000;
const ann = "ann@example.com";
const bob = "bob@example.com";
const clock = new VirtualClock();
const { vault } = await useVault({ clock });
const directory = new TestDirectory();
const canaries = new Canaries();

const accountOf = (email: string): string => directory.join(`${email}.json`);

/** Runs a command as a user of the vault. */
function as(email: string, ...args: string[]): Promise<ProcessResult> {
  return runInProcess(args, { VAULTSYNC_ACCOUNT: accountOf(email) });
}

async function logIn(email: string, ...args: string[]): Promise<ProcessResult> {
  const file = directory.join("password");
  await writeFile(file, `${vault.passwords.get(email)}\n`);
  return as(email, "login", "--url", vault.url, "--email", email, "--password-file", file, ...args);
}

/** Stores a secret, and returns its value. */
async function setSecret(email: string, name: string, ...args: string[]): Promise<string> {
  const value = canaries.text(name);
  await writeFile(directory.join("value"), value);
  const { code, stderr } = await as(
    email,
    "secret",
    "set",
    name,
    "--value-file",
    directory.join("value"),
    ...args,
  );
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^stored version \d+ of /u)]);
  expect(canaries.tracesIn({ stderr })).toEqual([]);
  return value;
}

const json = async (email: string, ...args: string[]) =>
  JSON.parse((await as(email, ...args, "-o", "json")).stdout);

describe("without a login", () => {
  test("every command says to log in", async () => {
    const commands = [
      ["secret", "list"],
      ["secret", "get", "a"],
      ["file", "list"],
      ["file", "get", "a"],
    ];
    for (const command of commands) {
      expect(await as(ann, ...command)).toEqual({
        code: 1,
        stdout: "",
        stderr: "vaultsync: not logged in: run vaultsync login\n",
      });
    }
  });

  test.each([
    ["a password that is wrong", ["--email", bob], /invalid_credentials/u, 1],
    [
      "a vault that does not listen",
      ["--url", "http://127.0.0.1:1"],
      /no response from 127\.0\.0\.1:1: ECONNREFUSED/u,
      1,
    ],
    ["plain HTTP to another machine", ["--url", "http://vault.example.com"], /use https/u, 2],
    [
      "a URL with a password",
      ["--url", "https://a:b@vault.example.com"],
      /without credentials/u,
      2,
    ],
    ["a malformed scope", ["--scope", "cloud_type:aws"], /--scope/u, 2],
    ["a lifetime of 0", ["--hours", "0"], /at least 1/u, 2],
    ["an end after 0 hours", ["--lifetime-hours", "0"], /at least 1/u, 2],
    [
      "a network that is none",
      ["--allowed-networks", "10.0.0.0/8,example.com"],
      /allowed_networks: entry 2: expected an address or a network/u,
      1,
    ],
  ])("%s is refused, and no login is stored", async (_what, args, message, code) => {
    const result = await logIn(ann, ...args);
    expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(message)]);
    await expect(stat(accountOf(ann))).rejects.toThrow(/ENOENT/u);
  });

  test("a malformed file of the login says to log in", async () => {
    await writeFile(accountOf(ann), '{"url":"x"}');
    expect((await as(ann, "secret", "list")).stderr).toMatch(/is malformed: run vaultsync login/u);
  });
});

describe("with a login", () => {
  beforeEach(async () => {
    for (const email of [ann, bob]) await logIn(email);
  });

  test("a login says where it is stored", async () => {
    const stderr = `logged in to ${vault.url} as ${ann}; the login is in ${accountOf(ann)}\n`;
    expect(await logIn(ann)).toEqual({ code: 0, stdout: "", stderr });
  });

  test("a login for other networks cannot be used, and one with an end is not refreshed past it", async () => {
    await logIn(ann, "--allowed-networks", "192.0.2.0/24, 2001:db8::/32");
    expect(await as(ann, "secret", "list")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/log in again|run vaultsync login/u),
    });
    await logIn(ann, "--allowed-networks", "127.0.0.0/8", "--lifetime-hours", "3", "--hours", "2");
    const outcomes: (number | null)[] = [];
    for (const hours of [0, 2.5, 0.5]) {
      clock.stepWall(hours * HOUR);
      outcomes.push((await as(ann, "secret", "list")).code);
    }
    expect(outcomes).toEqual([0, 0, 1]);
  });

  test("the file of the login is readable by its user only, and holds no password", async () => {
    expect((await stat(accountOf(ann))).mode & 0o777).toBe(0o600);
    expect(await readFile(accountOf(ann), "utf8")).not.toContain(vault.passwords.get(ann));
  });

  test("a secret is stored, listed without its value, read in each version, and deleted", async () => {
    const first = await setSecret(
      ann,
      "shop/db",
      "--metadata",
      "environment_type=prod",
      "--metadata",
      "size=3",
    );
    const second = await setSecret(ann, "shop/db");
    const list = await as(ann, "secret", "list");
    expect(list.stdout).toMatch(
      /^NAME {5}VERSION {2}OWNER .*\nshop\/db {2}2 {8}ann@example\.com {2}RW {10}no /u,
    );
    const { secrets } = await json(ann, "secret", "list");
    expect(secrets[0].metadata).toMatchObject({ environment_type: "prod", size: 3 });
    const versions = await as(ann, "secret", "versions", "shop/db");
    expect(versions.stdout).toMatch(/^VERSION .*\n2 .*\n1 .*\n$/u);
    expect(canaries.tracesIn({ list: list.stdout, versions: versions.stdout })).toEqual([]);
    expect((await as(ann, "secret", "get", "shop/db")).stdout).toBe(second);
    expect((await as(ann, "secret", "get", "shop/db", "--version", "1")).stdout).toBe(first);
    expect(await as(ann, "secret", "delete", "shop/db")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/confirm with --yes/u),
    });
    expect(await as(ann, "secret", "delete", "shop/db", "--version", "1", "--yes")).toMatchObject({
      code: 0,
    });
    expect(await as(ann, "secret", "get", "shop/db", "--version", "1")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/version_not_found/u),
    });
    expect(await as(ann, "secret", "delete", "shop/db", "--yes")).toMatchObject({ code: 0 });
    expect(await as(ann, "secret", "list")).toEqual({
      code: 0,
      stdout: "",
      stderr: "no secrets\n",
    });
    expect(await as(ann, "secret", "get", "shop/db")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no secret "shop\/db": .*list/u),
    });
  });

  test("a shared secret is read and written by its recipient, until it is no longer shared", async () => {
    const first = await setSecret(ann, "shared");
    expect(
      await as(ann, "secret", "share", "shared", "--with", bob, "--permission", "RW"),
    ).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^shared shared with bob@example\.com/u),
    });
    expect((await as(bob, "secret", "get", "shared", "--owner", ann)).stdout).toBe(first);
    const second = await setSecret(bob, "shared", "--owner", ann);
    expect((await as(ann, "secret", "get", "shared")).stdout).toBe(second);
    expect((await as(bob, "secret", "versions", "shared", "--owner", ann)).stdout).toMatch(
      /\n2 .*\n1 /u,
    );
    // The recipient's own secret of the same name comes first.
    await as(ann, "secret", "unshare", "shared", "--with", bob);
    const own = await setSecret(bob, "shared");
    await as(ann, "secret", "share", "shared", "--with", bob);
    expect((await as(bob, "secret", "get", "shared")).stdout).toBe(own);
    expect((await as(bob, "secret", "get", "shared", "--owner", "ANN@example.com")).stdout).toBe(
      second,
    );
    for (const email of [ann, bob]) await as(email, "secret", "delete", "shared", "--yes");
  });

  test("metadata and removal time of a shared secret are stored, and said when they are not", async () => {
    await setSecret(ann, "planned");
    await as(ann, "secret", "share", "planned", "--with", bob, "--permission", "RW");
    const listed = async () => (await json(ann, "secret", "list")).secrets[0];
    await setSecret(ann, "planned", "--metadata", "stage=one", "--delete-minutes", "90");
    expect(await listed()).toMatchObject({
      key_version: 2,
      metadata: { stage: "one" },
      delete_time: 90,
    });
    await setSecret(bob, "planned", "--metadata", "stage=two", "--owner", ann);
    expect(await listed()).toMatchObject({
      key_version: 3,
      metadata: { stage: "two" },
      delete_time: 90,
    });
    const set = ["secret", "set", "planned", "--value-file", directory.join("value")];
    expect(await as(bob, ...set, "--owner", ann, "--delete-minutes", "5")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/only the creator .*--delete-minutes\nnothing is stored\n$/u),
    });
    expect(await listed()).toMatchObject({ key_version: 3, delete_time: 90 });
    expect(
      await as(bob, ...set, "--owner", ann, "--metadata", `long=${"x".repeat(65_536)}`),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/stored version 4 of planned, without .*too_large/u),
    });
    expect(await listed()).toMatchObject({ key_version: 4, metadata: { stage: "two" } });
    await as(ann, "secret", "delete", "planned", "--yes");
  });

  test("recipients are either users or a team", async () => {
    for (const args of [[], ["--with", bob, "--team", "ops"]]) {
      expect(await as(ann, "secret", "share", "a", ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/--with or --team/u),
      });
    }
  });

  test("a file is uploaded and downloaded exactly, in each version, and deleted", async () => {
    const bytes = [
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.alloc(0),
      Buffer.from("\uFEFFa\r\n"),
    ];
    const path = directory.join("web conf 🔑");
    for (const content of bytes) {
      await writeFile(path, content);
      expect(await as(ann, "file", "put", path)).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^stored version \d of web conf 🔑/u),
      });
    }
    const to = directory.join("to");
    // Other users can read the file that is replaced. Its second name shows that it is not emptied.
    await writeFile(to, "former");
    await chmod(to, 0o644);
    await link(to, directory.join("former"));
    for (const [index, content] of bytes.entries()) {
      const get = [
        "file",
        "get",
        "web conf 🔑",
        "--version",
        `${index + 1}`,
        "--to",
        to,
        "--force",
      ];
      expect(await as(ann, ...get)).toMatchObject({ code: 0 });
      expect((await readFile(to)).equals(content)).toBe(true);
    }
    expect((await stat(to)).mode & 0o777).toBe(0o600);
    expect(await readFile(directory.join("former"), "utf8")).toBe("former");
    expect(await as(ann, "file", "get", "web conf 🔑", "--to", to)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/EEXIST/u),
    });
    expect((await as(ann, "file", "get", "web conf 🔑")).stdout).toBe("\uFEFFa\r\n");
    expect((await as(ann, "file", "list")).stdout).toMatch(/web conf 🔑 {2}3 {8}6 /u);
    expect((await as(ann, "file", "versions", "web conf 🔑")).stdout).toMatch(/\n3 .*\n2 .*\n1 /u);
    expect(await as(ann, "file", "delete", "web conf 🔑", "--yes")).toMatchObject({ code: 0 });
    expect(await as(ann, "file", "list")).toMatchObject({ stdout: "", stderr: "no files\n" });
  });

  test("a value from standard input is stored exactly, and one that is not text is refused", async () => {
    const env = { VAULTSYNC_ACCOUNT: accountOf(ann) };
    const value = `${canaries.text("piped")}\r\n`;
    expect(
      await VaultsyncProcess.run(["secret", "set", "piped"], { env, input: value }),
    ).toMatchObject({ code: 0 });
    expect((await as(ann, "secret", "get", "piped")).stdout).toBe(value);
    await writeFile(directory.join("binary"), Buffer.from([0xff]));
    const binary = await as(
      ann,
      "secret",
      "set",
      "piped",
      "--value-file",
      directory.join("binary"),
    );
    expect(binary).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is not UTF-8: .*file put/u),
    });
    await as(ann, "secret", "delete", "piped", "--yes");
  });

  test("an expired access token is refreshed and stored, and a login that ended says so", async () => {
    const before = await readFile(accountOf(ann), "utf8");
    clock.stepWall(25 * HOUR);
    expect((await as(ann, "secret", "list")).code).toBe(0);
    expect(await readFile(accountOf(ann), "utf8")).not.toBe(before);
    clock.stepWall(91 * 24 * HOUR);
    expect(await as(ann, "secret", "list")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the login has ended: run vaultsync login/u),
    });
  });

  test("logout ends the tokens in the vault", async () => {
    const copy = await readFile(accountOf(bob), "utf8");
    expect(await as(bob, "logout")).toMatchObject({ code: 0, stderr: "logged out\n" });
    expect((await as(bob, "secret", "list")).stderr).toMatch(/not logged in/u);
    await writeFile(accountOf(bob), copy);
    expect((await as(bob, "secret", "list")).stderr).toMatch(/the login has ended/u);
  });
});

test("an empty value is stored only if the user says so", async () => {
  await logIn(ann);
  const file = directory.join("empty");
  await writeFile(file, "");
  const refused = await as(ann, "secret", "set", "emptied", "--value-file", file);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the value is empty"),
  });
  expect(await json(ann, "secret", "list")).not.toContainEqual(
    expect.objectContaining({ key_name: "emptied" }),
  );
  const args = ["secret", "set", "emptied", "--value-file", file, "--allow-empty"];
  expect(await as(ann, ...args)).toMatchObject({ code: 0 });
  expect(await as(ann, "secret", "get", "emptied")).toMatchObject({ code: 0, stdout: "" });
});

test("a vault with a private authority is trusted with --ca-file, also by later commands", async () => {
  const authority = certificate("Private CA");
  const { cert, keyPem: key } = certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] });
  await using proxy = await FaultProxy.start(vault, { tls: { cert, key } });
  await writeFile(directory.join("ca.pem"), authority.cert);
  const refused = await logIn(ann, "--url", proxy.url);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/UNABLE_TO_VERIFY_LEAF_SIGNATURE; .* log in with --ca-file FILE/u),
  ]);
  expect((await logIn(ann, "--url", proxy.url, "--ca-file", directory.join("ca.pem"))).code).toBe(
    0,
  );
  expect((await as(ann, "secret", "list")).code).toBe(0);
});

test("a deletion says whether the vault has moved it to its trash", async () => {
  await using other = await TestVault.start({ trashDays: 30 });
  await writeFile(directory.join("other"), `${other.passwords.get(ann)}\n`);
  const login = ["login", "--url", other.url, "--email", ann];
  await writeFile(directory.join("app.conf"), "x");
  const deletions = async (...flags: string[]): Promise<string[]> => {
    await setSecret(ann, "db");
    await as(ann, "file", "put", directory.join("app.conf"));
    const secret = await as(ann, "secret", "delete", "db", "--yes", ...flags);
    const file = await as(ann, "file", "delete", "app.conf", "--yes", ...flags);
    return [secret.stderr, file.stderr];
  };
  await as(ann, ...login, "--password-file", directory.join("other"));
  expect(await deletions()).toEqual([
    "moved db with all versions to the trash\n",
    "moved app.conf with all versions to the trash\n",
  ]);
  expect(await deletions("--permanently")).toEqual([
    "deleted db with all versions\n",
    "deleted app.conf with all versions\n",
  ]);
  await logIn(ann);
  expect(await deletions()).toEqual([
    "deleted db with all versions\n",
    "deleted app.conf with all versions\n",
  ]);
});
