import { mkdir, rename } from "node:fs/promises";
import { expect, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import {
  ann,
  bob,
  connection,
  directory,
  logIn,
  plan,
  secret,
  write,
} from "./support/plan-repository.ts";

/** `vaultsync plan` for programs, and its texts about references that it did not check. */

const elsewhere = "https://other.example.com";
const unchecked = `references of VaultConnection shop/vault are not checked: log in to ${elsewhere} as ${ann}`;

test("JSON contains what is not checked, and --strict makes it a failure", async () => {
  await write("1-vault.yaml", ...connection(elsewhere));
  await write("2-db.yaml", ...secret("db", "key: absent"));
  const { code, stdout } = await plan("-o", "json");
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { problems: [], notChecked: [unchecked] }]);
  expect(await plan("--strict")).toMatchObject({ code: 3, stderr: `${unchecked}\n` });
});

test("keys whose newer versions wait for an approval have the gate of their spec", async () => {
  const waiting = [...secret("db", "key: shop/db"), "  updates: { approval: Required }"];
  await write("db.yaml", ...waiting);
  const { stdout } = await plan("--offline");
  expect(stdout).toMatch(/VERSION +UPDATES\n.*shop\/db +- +AwaitingApproval/u);
  const window = '{ schedule: "0 2 * * *", duration: 2h }';
  const timed = `  updates: { approval: Required, windows: [${window}] }`;
  await write("db.yaml", ...secret("db", "key: shop/db"), timed);
  expect((await plan("--offline")).stdout).toContain("AwaitingApproval, OutsideWindow");
  await write("db.yaml", ...secret("db", "key: shop/db, version: 1"), ...waiting.slice(-1));
  expect((await plan("--offline")).stdout).not.toContain("AwaitingApproval");
});

test("a ClusterVaultConnection that is not in the files is reported as not checked", async () => {
  const through = "{ kind: ClusterVaultConnection, name: corporate }";
  const db = secret("db", "key: shop/db").map((line) => line.replace("{ name: vault }", through));
  await write("db.yaml", ...db);
  const note =
    "ClusterVaultConnection corporate is not in these files: neither its access nor the references through it are checked";
  expect(await plan("--offline")).toMatchObject({ code: 0, stderr: `${note}\n` });
  expect(await plan("--offline", "--strict")).toMatchObject({ code: 3 });
});

test("GitHub gets an annotation for each problem, and a warning for what is not checked", async () => {
  await write("1-vault.yaml", ...connection(elsewhere));
  await write("2-50%,a.yaml", ...secret("db", "key: absent, verison: 1"));
  const { code, stdout, stderr } = await plan("-o", "github");
  expect([code, stderr]).toEqual([3, ""]);
  expect(stdout.split("\n").filter((line) => line.startsWith("::"))).toEqual([
    "::error file=2-50%25%2Ca.yaml,line=7,title=vaultsync plan::spec.data[0].remoteRef.verison: unknown field (did you mean version?)",
    `::warning title=vaultsync plan::${unchecked}`,
  ]);
});

const namedIn = (namespace: string): string[] =>
  secret("db", "key: '##[stop-commands]x'").map((line) =>
    line.replace("namespace: shop", `namespace: "${namespace}"`),
  );

test("no text of a manifest becomes a workflow command of GitHub", async () => {
  await write("1-db.yaml", ...namedIn("::add-mask::x"), "---", ...namedIn(" ::debug::x"));
  const { stdout } = await plan("--offline", "-o", "github");
  const lines = stdout.split("\n").filter((line) => !line.startsWith("::error "));
  expect(lines.filter((line) => /^\s*::|##\[/u.test(line))).toEqual([]);
  expect(lines.filter((line) => line.includes("vaultsecret/db"))).toHaveLength(2);
});

test("SARIF names each problem with its file and line", async () => {
  await write("1-vault.yaml", ...connection(elsewhere));
  await write("2-a b.yaml", ...secret("db", "key: absent, verison: 1"));
  const { code, stdout, stderr } = await plan("-o", "sarif");
  expect([code, stderr]).toEqual([3, ""]);
  expect(JSON.parse(stdout)).toEqual({
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: { name: "vaultsync", version: expect.any(String), rules: [{ id: "plan" }] },
        },
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: [{ level: "warning", message: { text: unchecked } }],
          },
        ],
        results: [
          {
            ruleId: "plan",
            level: "error",
            message: {
              text: "spec.data[0].remoteRef.verison: unknown field (did you mean version?)",
            },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: "2-a%20b.yaml" },
                  region: { startLine: 7 },
                },
              },
            ],
          },
        ],
      },
    ],
  });
});

test("plan compares the references of each account that is logged in", async () => {
  const configuration = directory.join("configuration");
  const folder = directory.join("configuration", "vaultsync");
  await mkdir(folder, { recursive: true });
  await rename(directory.join("account.json"), `${folder}/account.json`);
  await write("1-ann.yaml", ...connection());
  await write(
    "2-bob.yaml",
    ...connection().map((line) => line.replace(ann, bob).replace("name: vault", "name: of-bob")),
  );
  await write("3-ann.yaml", ...secret("a", "key: shop/dv"));
  await write(
    "4-bob.yaml",
    ...secret("b", "key: recieved").map((line) => line.replace("name: vault", "name: of-bob")),
  );
  const repository = directory.join("repository");
  const planAll = (...args: string[]) =>
    runInProcess(["plan", "-f", repository, ...args], { XDG_CONFIG_HOME: configuration });
  const first = await planAll();
  expect(first.stderr).toContain(`references of VaultConnection shop/of-bob are not checked`);
  await logIn(bob, `${folder}/bob.json`);
  for (const accounts of [
    [],
    ["--account", folder],
    ["--account", `${folder}/account.json`, `${folder}/bob.json`],
  ]) {
    const { code, stderr } = await planAll(...accounts);
    expect([code, stderr.trimEnd().split("\n")]).toEqual([
      3,
      [
        expect.stringContaining(`3-ann.yaml:7: shop/dv is not in the list of ${ann}`),
        expect.stringContaining(`4-bob.yaml:7: recieved is not in the list of ${bob}`),
      ],
    ]);
  }
  const empty = directory.join("empty");
  await mkdir(empty);
  expect(await planAll("--account", empty)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not logged in: run vaultsync login"),
  });
});
