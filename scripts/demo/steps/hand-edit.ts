import { holds } from "../expectations.ts";
import { equal, fingerprint } from "../fingerprint.ts";
import { kubectl } from "../kubectl.ts";
import { demoNamespace, type Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { took } from "../style.ts";
import type { Rotated } from "./new-version.ts";

/** Somebody edits the Secret. */
export async function handEdit(stage: Stage, { content }: Rotated): Promise<void> {
  const { view, controlPlane } = stage;
  const head = {
    title: "4  An edit by hand: kubectl patch secret shop-db",
    expected: "the vault's bytes are put back; the operator sees the edit through its watch and waits for no interval",
    limitMs: 30_000,
  };
  return tellStep(stage, head, async (step) => {
    const edited = "edited by hand";
    const patch = JSON.stringify({ stringData: { password: edited } });
    const since = view.mark();
    step.did("kubectl patch begins");
    await kubectl(controlPlane, ["patch", "secret", "shop-db", "-n", demoNamespace, "--type=merge", "-p", patch]);
    const isEdited = fingerprint(edited);
    const edit = await step.until(
      "the edit itself",
      ({ object }) => object.kind === "Secret" && object.name === "shop-db" && equal(object.content.get("password"), isEdited),
      since,
    );
    const undone = await step.until("the Secret shop-db as before", holds("Secret", "shop-db", content), edit.index + 1);
    step.done(`undone ${took(undone.at - edit.at)} after the edit`);
  });
}
