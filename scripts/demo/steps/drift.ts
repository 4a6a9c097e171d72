import { hasContent, isDeleted } from "../expectations.ts";
import { fingerprint, isEqual } from "../fingerprint.ts";
import { demoNamespace, kubectl } from "../kubectl.ts";
import { duration } from "../output.ts";
import type { Stage } from "../setup.ts";
import { runStep } from "../step.ts";
import type { Rotated } from "./new-version.ts";

/** Edits the target by hand. */
export async function editTarget(stage: Stage, { content }: Rotated): Promise<void> {
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
    await kubectl(controlPlane, [
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
export async function deleteTarget(stage: Stage, { content }: Rotated): Promise<void> {
  const { view, controlPlane } = stage;
  const head = {
    title: "5  kubectl delete secret shop-db",
    expected: "the Secret is recreated with the same bytes",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const since = view.mark();
    step.acted("kubectl delete started");
    await kubectl(controlPlane, ["delete", "secret", "shop-db", "-n", demoNamespace]);
    const deleted = await step.until("the deletion itself", isDeleted("Secret", "shop-db"), since);
    const recreated = await step.until(
      "the Secret shop-db as before",
      hasContent("Secret", "shop-db", content),
      deleted.index + 1,
    );
    step.done(`recreated ${duration(recreated.at - deleted.at)} after the deletion`);
  });
}
