import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redacted } from "../../src/lib/redacted.ts";
import { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { hasContent, hasReason, isRestart, isRolledOut, waitsFor } from "./cluster-view.ts";
import { fingerprint, isEqual } from "./shown-object.ts";
import type { Stage } from "./setup.ts";
import { runStep, type Step } from "./step.ts";
import { account, demoNamespace, newValue } from "./vault-account.ts";
import { showRun } from "./output.ts";

/** The secret, its VaultSecret, its Secret and the Deployment that reads it. */
const NAME = "payments";
const LIMIT_MS = 60_000;

/** A terminal of a user of the demo, with a login in the vault. */
class Terminal {
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv;
  #output = "";

  constructor({ controlPlane: { directory, kubeconfigPath } }: Stage) {
    this.#directory = directory;
    this.#env = {
      KUBECONFIG: kubeconfigPath,
      VAULTSYNC_ACCOUNT: join(directory, "account.json"),
      NODE_COMPILE_CACHE: join(directory, "cache"),
    };
  }

  /** Everything that the commands printed. */
  get output(): string {
    return this.#output;
  }

  /** Runs a command and prints it with its output. @throws Error unless it exits like this */
  async run(
    { signal }: Step,
    args: readonly string[],
    { input = new Redacted(""), code = 0 } = {},
  ): Promise<void> {
    await using command = new VaultsyncProcess(args, { env: this.#env, input: input.reveal() });
    const stop = (): void => command.signal("SIGKILL");
    signal.addEventListener("abort", stop, { once: true });
    this.#output += await showRun(args, command, { code });
    signal.removeEventListener("abort", stop);
  }

  /** Runs a command about the resource. */
  ofResource(step: Step, command: string, more: readonly string[] = [], code = 0): Promise<void> {
    return this.run(step, [command, NAME, "-n", demoNamespace, ...more], { code });
  }

  async logIn(step: Step, { url, ca, password }: Stage["vault"]): Promise<void> {
    const authority = join(this.#directory, "vault-ca.crt");
    if (ca !== undefined) await writeFile(authority, ca);
    const args = ["login", "--url", url, "--email", account];
    await this.run(step, [...args, ...(ca === undefined ? [] : ["--ca-file", authority])], {
      input: password,
    });
  }

  /** Stores the next version of the secret. */
  store(step: Step, value: Redacted<string>): Promise<void> {
    return this.run(step, ["secret", "set", NAME], { input: value });
  }
}

/** Matches the Secret with a value. */
const hasValue = (value: Redacted<string>) =>
  hasContent("Secret", NAME, { password: fingerprint(value.reveal()) });

/** Stores the next version, and waits until it waits for an approval. */
async function storeAndWait(
  step: Step,
  terminal: Terminal,
  value: Redacted<string>,
  since: number,
): Promise<void> {
  await terminal.store(step, value);
  const waits = waitsFor("VaultSecret", NAME, "AwaitingApproval");
  await step.until("a wait for an approval", waits, since);
}

/** Waits until the Secret has a version, and the Deployment restarts after it. */
async function rolledOut(
  step: Step,
  { version, value, since }: { version: number; value: Redacted<string>; since: number },
) {
  const synced = await step.until(`the Secret with version ${version}`, hasValue(value), since);
  const restart = await step.until("a restart of the Deployment", isRestart(NAME), synced.index);
  return { synced, restart };
}

/** The chapter's traces, for the search for values. */
interface Told {
  /** Everything that the commands printed. */
  readonly output: string;
  readonly values: readonly Redacted<string>[];
}

/** Takes new versions of one secret through validation, approval, rollback and resumption. */
export async function runChangeStory(stage: Stage): Promise<Told> {
  const terminal = new Terminal(stage);
  const first = stage.vault.content.payments;
  const [short, good] = [new Redacted(newValue().reveal().slice(0, 12)), newValue()];
  await badVersion(stage, terminal, short);
  await goodVersion(stage, terminal, good);
  await takenBack(stage, terminal, first);
  await resumed(stage, terminal, good);
  return { output: terminal.output, values: [first, short, good] };
}

/** Stores a version that does not fit its rule, and approves it. */
async function badVersion(stage: Stage, terminal: Terminal, value: Redacted<string>) {
  const { view, vault } = stage;
  const head = {
    title: "7  A bad version, approved by mistake",
    expected:
      "the VaultSecret payments has the reason InvalidContent; the Secret keeps version 1, and nothing restarts",
    limitMs: LIMIT_MS,
  };
  return runStep(stage, head, async (step) => {
    await terminal.logIn(step, vault);
    const since = view.mark();
    step.acted("vaultsync secret set started: a value of 12 characters, and validate requires 16");
    await storeAndWait(step, terminal, value, since);
    await terminal.ofResource(step, "approve", [], 3);
    const rejected = hasReason("VaultSecret", NAME, "InvalidContent");
    await step.until("the reason InvalidContent", rejected, since);
    await terminal.ofResource(step, "status", [], 3);
    if (view.object("Deployment", NAME)?.restart !== undefined)
      throw step.failure("the Deployment was restarted");
    const [now, before] = [
      view.object("Secret", NAME)?.content.get("password"),
      fingerprint(vault.content.payments.reveal()),
    ];
    if (!isEqual(now, before)) throw step.failure("the Secret changed");
    step.done("validate held a password that is too short: the Secret keeps version 1");
  });
}

/** Stores a version that fits, and approves it. */
async function goodVersion(stage: Stage, terminal: Terminal, value: Redacted<string>) {
  const { view } = stage;
  const head = {
    title: "8  A good version waits for an approval, and rolls out",
    expected:
      "nothing changes before vaultsync approve; then the Secret has version 3, and the Deployment payments restarts",
    limitMs: LIMIT_MS,
  };
  return runStep(stage, head, async (step) => {
    const since = view.mark();
    step.acted("vaultsync secret set started");
    await storeAndWait(step, terminal, value, since);
    await terminal.ofResource(step, "history");
    const approved = view.mark();
    await terminal.ofResource(step, "approve");
    const { synced } = await rolledOut(step, { version: 3, value, since });
    if (synced.index < approved) throw step.failure("the Secret changed before the approval");
    step.done(
      "version 3 waited for its approval; then the Secret followed, and the Deployment restarted",
    );
  });
}

/** Takes the Secret back to its first version. */
async function takenBack(stage: Stage, terminal: Terminal, first: Redacted<string>) {
  const { view } = stage;
  const head = {
    title: "9  It does not work: back to version 1",
    expected: "the Secret has the bytes of version 1, held there, and the Deployment restarts",
    limitMs: LIMIT_MS,
  };
  return runStep(stage, head, async (step) => {
    const since = view.mark();
    step.acted("vaultsync rollback started");
    await terminal.ofResource(step, "rollback", ["--to", "1", "--reason", "wrong role"]);
    await rolledOut(step, { version: 1, value: first, since });
    await step.until("a hold", waitsFor("VaultSecret", NAME, "Held"), since);
    step.done("the Secret has version 1 again and is held there, and the Deployment restarted");
  });
}

/** Lets the Secret follow the vault again. */
async function resumed(stage: Stage, terminal: Terminal, good: Redacted<string>) {
  const { view } = stage;
  const head = {
    title: "10  The role is fixed: vaultsync resume",
    expected: "the Secret has version 3 again, still approved, and the Deployment restarts",
    limitMs: LIMIT_MS,
  };
  return runStep(stage, head, async (step) => {
    const since = view.mark();
    step.acted("vaultsync resume started");
    await terminal.ofResource(step, "resume");
    const { restart } = await rolledOut(step, { version: 3, value: good, since });
    await step.until("a rollout", isRolledOut("VaultSecret", NAME), restart.index);
    await terminal.ofResource(step, "history");
    step.done("the Secret follows the vault again, and the Deployment restarted with version 3");
  });
}
