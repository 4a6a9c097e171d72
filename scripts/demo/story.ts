import { defaultVaultPort } from "./arguments.ts";
import { runChangeStory } from "./change-story.ts";
import { hasContent, isReady, hasFiles, isDeleted, hasReason } from "./cluster-view.ts";
import { fingerprint, formatFingerprint, type Fingerprint, isEqual } from "./shown-object.ts";
import { duration, seconds, screen, summary } from "./output.ts";
import { applyExamples, type Stage } from "./setup.ts";
import { runStep } from "./step.ts";
import {
  demoNamespace,
  exampleFile,
  loginSecret,
  newValue,
  protectValue,
} from "./vault-account.ts";
import type { Redacted } from "../../src/lib/redacted.ts";

/** Runs all steps in order. @throws StepFailure from the first step that fails */
export async function runStory(stage: Stage): Promise<void> {
  const guestPass = await firstSync(stage);
  await syncedFiles(stage);
  const rotated = await newVersion(stage);
  await editTarget(stage, rotated);
  await deleteTarget(stage, rotated);
  await uploadFile(stage);
  const change = await runChangeStory(stage);
  await removal(stage, guestPass);
  const values = [...stage.vault.content.shopDb, rotated.value, guestPass.value, ...change.values];
  await noLeaks(stage, values, change.output);
  screen.note(`\n${summary(stage.view)}`);
}

const applied = [
  { kind: "VaultConnection", name: "vault" },
  { kind: "VaultSecret", name: "shop-db" },
  { kind: "VaultSecret", name: "guest-pass" },
  { kind: "VaultSecret", name: "payments" },
  { kind: "VaultFile", name: "web-files" },
];

/**
 * Applies the examples and waits for all targets and conditions. Returns the secret whose deadline
 * is one minute later.
 */
async function firstSync(stage: Stage): Promise<GuestPass> {
  const { view, controlPlane, vault, options } = stage;
  const head = {
    title: "1  kubectl apply -f examples/demo/",
    expected:
      "the Secrets shop-db and guest-pass contain the vault's bytes, and every resource becomes Ready",
    limitMs: 60_000,
  };
  return runStep(stage, head, async (step) => {
    if (options.vaultPort !== defaultVaultPort)
      step.detail(`the vault's port in the text is replaced by ${options.vaultPort}`);
    const since = view.mark();
    await applyExamples(stage, "00-namespace.yaml");
    const input = loginSecret(vault.password);
    await controlPlane.kubectlOutput(["create", "-f", "-"], { input });
    const guestPass = newValue();
    const { deleteAt } = await protectValue(vault.account, "guest-pass", guestPass, 1);
    step.acted(
      "created the namespace and the Secret vault-login; the vault protects guest-pass with delete_time: 1 minute",
    );
    await applyExamples(stage);

    const [first, latest] = vault.content.shopDb;
    if (first === undefined || latest === undefined)
      throw new Error("expected two versions of shop-db in the vault");
    const expected = {
      "first-password": fingerprint(first.reveal()),
      password: fingerprint(latest.reveal()),
    };
    const shopDb = await step.until(
      "the Secret shop-db",
      hasContent("Secret", "shop-db", expected),
      since,
    );
    const code = { code: fingerprint(guestPass.reveal()) };
    await step.until("the Secret guest-pass", hasContent("Secret", "guest-pass", code), since);
    for (const { kind, name } of applied)
      await step.until(`${kind} ${name} Ready=True`, isReady(kind, name), since);
    const resource = await step.until(
      "the VaultSecret",
      ({ object }) => object.kind === "VaultSecret" && object.name === "shop-db",
      since,
    );
    step.done(
      `Secret shop-db created ${duration(shopDb.at - resource.at)} after its VaultSecret, with the vault's bytes`,
    );
    return { value: guestPass, deleteAt, since };
  });
}

/** Compares the files in the ConfigMap with the vault's, by size and SHA-256. */
async function syncedFiles(stage: Stage): Promise<void> {
  const { vault } = stage;
  const head = {
    title: "2  Files: one text, one binary, in a ConfigMap",
    expected:
      "the ConfigMap web-files contains each file under its name, with the sha256 that the vault returned at the upload",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    await step.until("the ConfigMap web-files with these files", hasFiles(vault.content.files), 0);
    for (const { filename, size, sha256 } of vault.content.files)
      step.detail(`${filename}  ${size} bytes  sha256 ${sha256}`);
    const names = vault.content.files.map(({ filename, size }) => `${filename} (${size} bytes)`);
    step.done(`${names.join(" and ")}: equal sha256 in the vault and in the ConfigMap`);
  });
}

/** Uploads a new version of a file. */
async function uploadFile(stage: Stage): Promise<void> {
  const { view, vault } = stage;
  const head = {
    title: "6  A new version of a file",
    expected:
      "the ConfigMap contains the new app.conf within the refresh interval of 5 s; logo.png is unchanged",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const filename = "app.conf";
    const longer = new Blob([await exampleFile(filename), "workers = 4\n"]);
    const since = view.mark();
    const at = Date.now();
    const [uploaded] = (await vault.account.upload(new Map([[filename, longer]]))).files;
    if (uploaded === undefined)
      throw new Error("the vault's response to the upload contains no file");
    step.acted(
      `uploaded app.conf version ${uploaded.version}: ${uploaded.size} bytes, sha256 ${uploaded.sha256}`,
      at,
    );
    const files = vault.content.files.map((file) => (file.filename === filename ? uploaded : file));
    const synced = await step.until("the ConfigMap with the new file", hasFiles(files), since);
    step.done(`synced ${duration(synced.at - at)} after the upload`);
  });
}

/** The secret shop-db after its new version. */
interface Rotated {
  readonly value: Redacted<string>;
  /** The content of the Secret shop-db from now on. */
  readonly content: Readonly<Record<string, Fingerprint>>;
}

/** Protects a new version of a secret. Returns the Secret's content from then on. */
async function newVersion(stage: Stage): Promise<Rotated> {
  const { view, vault } = stage;
  const head = {
    title: "3  A new version in the vault",
    expected:
      "password follows within the refresh interval of 5 s; first-password is pinned to version 1 and unchanged",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const [first] = vault.content.shopDb;
    if (first === undefined) throw new Error("expected two versions of shop-db in the vault");
    const value = newValue();
    const since = view.mark();
    const at = Date.now();
    const { version } = await protectValue(vault.account, "shop-db", value);
    step.acted(
      `the vault protects shop-db version ${version}: ${formatFingerprint(fingerprint(value.reveal()))}`,
      at,
    );
    const content = {
      "first-password": fingerprint(first.reveal()),
      password: fingerprint(value.reveal()),
    };
    const synced = await step.until(
      "the Secret shop-db with the new version",
      hasContent("Secret", "shop-db", content),
      since,
    );
    step.done(
      `synced ${duration(synced.at - at)} after the change in the vault; the pinned key is unchanged`,
    );
    return { value, content };
  });
}

/** Edits the target by hand. */
async function editTarget(stage: Stage, { content }: Rotated): Promise<void> {
  const { view, controlPlane } = stage;
  const head = {
    title: "4  A manual edit: kubectl patch secret shop-db",
    expected:
      "the vault's bytes are restored immediately: the operator watches its targets and does not wait for an interval",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const edited = "edited by hand";
    const patch = JSON.stringify({ stringData: { password: edited } });
    const since = view.mark();
    step.acted("kubectl patch started");
    await controlPlane.kubectlOutput([
      "patch",
      "secret",
      "shop-db",
      "-n",
      demoNamespace,
      "--type=merge",
      "-p",
      patch,
    ]);
    const print = fingerprint(edited);
    const edit = await step.until(
      "the edit itself",
      ({ object }) =>
        object.kind === "Secret" &&
        object.name === "shop-db" &&
        isEqual(object.content.get("password"), print),
      since,
    );
    const repaired = await step.until(
      "the Secret shop-db as before",
      hasContent("Secret", "shop-db", content),
      edit.index + 1,
    );
    step.done(`repaired ${duration(repaired.at - edit.at)} after the edit`);
  });
}

/** Deletes the target. */
async function deleteTarget(stage: Stage, { content }: Rotated): Promise<void> {
  const { view, controlPlane } = stage;
  const head = {
    title: "5  kubectl delete secret shop-db",
    expected: "the Secret is recreated with the same bytes",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const since = view.mark();
    step.acted("kubectl delete started");
    await controlPlane.kubectlOutput(["delete", "secret", "shop-db", "-n", demoNamespace]);
    const deleted = await step.until("the deletion itself", isDeleted("Secret", "shop-db"), since);
    const recreated = await step.until(
      "the Secret shop-db as before",
      hasContent("Secret", "shop-db", content),
      deleted.index + 1,
    );
    step.done(`recreated ${duration(recreated.at - deleted.at)} after the deletion`);
  });
}

/** A secret with a deadline. */
interface GuestPass {
  readonly value: Redacted<string>;
  /** Time of the removal by the vault, in ms since the epoch. */
  readonly deleteAt: number;
  /** Position in the cluster's changes when the secret was protected. */
  readonly since: number;
}

/** Waits until the vault removes a secret at its delete_time. */
async function removal(stage: Stage, { deleteAt, since }: GuestPass): Promise<void> {
  const leftMs = Math.max(0, deleteAt - Date.now());
  const head = {
    title: "11  A delete_time: the vault removes guest-pass",
    expected:
      "the Secret is deleted when the vault removes the secret, not earlier; the VaultSecret has the reason SourceRemoved",
    limitMs: leftMs + 30_000,
  };
  return runStep(stage, head, async (step) => {
    step.acted(
      `the vault will remove guest-pass in ${seconds(leftMs)}, at ${new Date(deleteAt).toISOString()}`,
    );
    const tick = (): void =>
      step.waiting(
        `waiting for the deadline, ${Math.max(0, Math.round((deleteAt - Date.now()) / 1000))} s left`,
      );
    const ticking = setInterval(tick, 1000);
    using _stopTicking = { [Symbol.dispose]: () => clearInterval(ticking) };
    const deleted = await step.until(
      "the Secret guest-pass deleted",
      isDeleted("Secret", "guest-pass"),
      since,
    );
    await step.until(
      "VaultSecret guest-pass with the reason SourceRemoved",
      hasReason("VaultSecret", "guest-pass", "SourceRemoved"),
      since,
    );
    if (deleted.at < deleteAt)
      throw step.failure(`the Secret was deleted ${seconds(deleteAt - deleted.at)} too early`);
    step.done(
      `deleted ${duration(deleted.at - deleteAt)} after the vault's deadline, with the reason SourceRemoved`,
    );
  });
}

/**
 * Searches logs, metrics, statuses, events and the output of the commands for every value of this
 * run, plain and in base64.
 */
async function noLeaks(
  stage: Stage,
  values: readonly Redacted<string>[],
  printed: string,
): Promise<void> {
  const { controlPlane, operator, vault, signal } = stage;
  const head = {
    title: "12  No secret value leaks",
    expected: "no value and no password in a log, an event, a status, a metric or an output",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const resources = "vaultconnections,vaultsecrets,vaultfiles,events";
    const places = {
      "output of the commands": printed,
      "operator log": await operator.log.read(),
      "vault log": await vault.log.read(),
      "operator metrics": await textOf(`${operator.url}/metrics`, signal),
      "vault metrics": await textOf(`${vault.metricsUrl}/metrics`, signal),
      "statuses and events": await controlPlane.kubectlOutput([
        "get",
        resources,
        "-n",
        demoNamespace,
        "-o",
        "json",
      ]),
    };
    const forms = [...values, vault.password].flatMap((value) => [
      value.reveal(),
      Buffer.from(value.reveal()).toString("base64"),
    ]);
    for (const [place, text] of Object.entries(places)) {
      if (forms.some((form) => text.includes(form))) throw step.failure(`a value is in: ${place}`);
    }
    const sizes = Object.entries(places).map(
      ([place, text]) => `${place} (${Buffer.byteLength(text)} bytes)`,
    );
    step.detail(`searched: ${sizes.join(", ")}`);
    step.done(`none of ${values.length + 1} values in logs, metrics, statuses, events and outputs`);
  });
}

async function textOf(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return response.text();
}
