import type { Redacted } from "../../../src/lib/redacted.ts";
import { hasReason, isDeleted } from "../expectations.ts";
import type { Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { seconds, took } from "../style.ts";

/** A secret with a deadline. */
export interface GuestPass {
  readonly value: Redacted<string>;
  /** When the vault removes it, in milliseconds since the epoch. */
  readonly deleteAt: number;
  /** The place in the cluster's history when it was protected. */
  readonly since: number;
}

/** The vault removes a secret at its delete_time. */
export async function removal(stage: Stage, { deleteAt, since }: GuestPass): Promise<void> {
  const leftMs = Math.max(0, deleteAt - Date.now());
  const head = {
    title: "7  The end of guest-pass",
    expected: "the Secret goes when the vault removes the secret, not before; the VaultSecret says SourceRemoved",
    limitMs: leftMs + 30_000,
  };
  return tellStep(stage, head, async (step) => {
    step.did(`the vault will remove guest-pass in ${seconds(leftMs)}, at ${new Date(deleteAt).toISOString()}`);
    const tick = (): void =>
      step.waiting(`waiting for the deadline, ${Math.max(0, Math.round((deleteAt - Date.now()) / 1000))} s to go`);
    const ticking = setInterval(tick, 1000);
    using _stopTicking = { [Symbol.dispose]: () => clearInterval(ticking) };
    const gone = await step.until("the Secret guest-pass gone", isDeleted("Secret", "guest-pass"), since);
    await step.until(
      "VaultSecret guest-pass with the reason SourceRemoved",
      hasReason("VaultSecret", "guest-pass", "SourceRemoved"),
      since,
    );
    if (gone.at < deleteAt) throw step.failure(`the Secret went ${seconds(deleteAt - gone.at)} too early`);
    step.done(`gone ${took(gone.at - deleteAt)} after the vault's deadline`);
  });
}
