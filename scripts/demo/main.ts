import { Interrupted, interruption, Preparation } from "./preparation.ts";
import { demoNamespace } from "./vault-account.ts";
import { bold, dim, screen, bad, good, summary } from "./output.ts";
import { type Stage, setUp } from "./setup.ts";
import { describeChange } from "./step.ts";
import { help, parseDemoArguments, type DemoArguments } from "./arguments.ts";
import { runLocalStory } from "./local-story.ts";
import { runStory } from "./story.ts";
import { messageOf } from "../../src/lib/errors.ts";

/** Printed at the end of a run with --once. */
export const nextSteps = `
${bold("Next")}
  npm run demo              the same, and everything stays up for you to try
  README.md, "Install"      install the operator in a cluster
  docs/changing-secrets.md  versions that wait, prove themselves and are taken back
  docs/resources.md         every field of VaultConnection, VaultSecret and VaultFile`;

/** Printed at the end of a run with --local. */
const nextLocalSteps = `
${bold("Next")}
  npm run demo -- --once      the same manifest in a cluster: control plane, vault and operator
  docs/command-line.md        plan, render and run`;

function commandsToTry({ controlPlane, operator, vault }: Stage): string {
  return `
${bold("Try it in another terminal")}
  export KUBECONFIG=${controlPlane.kubeconfigPath}
  alias kubectl=${controlPlane.kubectlPath}
  kubectl config set-context --current --namespace ${demoNamespace}

  kubectl get vaultconnections,vaultsecrets,vaultfiles -o wide
  kubectl describe vaultsecret shop-db
  kubectl get events
  kubectl patch secret shop-db --type=merge -p '{"stringData":{"password":"mine"}}'
  kubectl delete secret shop-db configmap web-files
  npm run -s vaultsync -- rollback payments --to 1
  npm run -s vaultsync -- resume payments
  curl ${operator.url}/metrics
  curl ${vault.metricsUrl}/metrics

  Open ${vault.url} in a browser and sign up; the confirmation email is a file in the directory printed by
  grep -o "mailDir[^,]*" ${vault.log.place}
  tail -f ${operator.log.place}
`;
}

/** Prints changes as they happen until Ctrl-C. @throws any other reason that ended the demo */
export async function stayUp(stage: Stage): Promise<void> {
  const { view, signal } = stage;
  screen.note(commandsToTry(stage));
  screen.note(`${bold("Changes in the cluster")} (Ctrl-C ends the demo and removes everything)`);
  using _listener = view.onChange((change) => {
    const line = describeChange(change);
    if (line !== undefined)
      screen.note(`  ${dim(new Date(change.at).toLocaleTimeString("en-GB"))}   ${line}`);
  });
  const ended = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => ended.resolve(), { once: true });
  if (!signal.aborted) await ended.promise;
  if (!(signal.reason instanceof Interrupted)) throw signal.reason;
}

const logLines = 15;

function fromCommandLine(): DemoArguments | string {
  try {
    return parseDemoArguments(process.argv.slice(2));
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Runs the demo and removes what it started. Returns the exit code: 0, 1 after a failure, 130 when
 * interrupted during the story.
 */
async function runDemo(options: DemoArguments): Promise<number> {
  const stop = interruption();
  const preparation = new Preparation(stop);
  let stage: Stage | undefined;
  try {
    if (options.local) {
      await runLocalStory(preparation);
      screen.note(nextLocalSteps);
      return 0;
    }
    stage = await setUp(options, preparation);
    await runStory(stage);
    screen.note(`\n${good("✓")} All steps passed.`);
    if (options.once) screen.note(nextSteps);
    else await stayUp(stage);
    return 0;
  } catch (error) {
    if (stop.aborted) return 130;
    explain(error, preparation, stage);
    return 1;
  } finally {
    screen.note(dim("\nStopping and removing everything the demo started."));
    await preparation[Symbol.asyncDispose]();
  }
}

function explain(error: unknown, { processes }: Preparation, stage: Stage | undefined): void {
  const parts = [`${bad("The demo failed.")}\n${messageOf(error)}`];
  if (stage !== undefined) parts.push(`State of the cluster:\n${summary(stage.view)}`);
  for (const [name, { stderr }] of processes) {
    const lines = stderr.trimEnd().split("\n").slice(-logLines);
    parts.push(`Last log lines of the ${name}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }
  screen.note("");
  process.stderr.write(`${parts.join("\n\n")}\n`);
}

const options = process.argv[2] === "fill" ? undefined : fromCommandLine();
if (options === undefined) {
  const { fillFromStandardInput } = await import("./fill.ts");
  await fillFromStandardInput();
} else if (typeof options === "string") {
  process.stderr.write(`${options}\n\n${help}`);
  process.exitCode = 2;
} else if (options.help) {
  process.stdout.write(help);
} else {
  // Not process.exitCode: a control plane that is still being built at Ctrl-C would keep this
  // process alive.
  process.exit(await runDemo(options));
}
