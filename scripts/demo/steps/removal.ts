import type { Redacted } from "../../../src/lib/redacted.ts";
import { hasReason, isDeleted } from "../expectations.ts";
import { duration, seconds } from "../output.ts";
import type { Stage } from "../setup.ts";
import { runStep } from "../step.ts";

/** A secret with a deadline. */
export interface GuestPass {
  readonly value: Redacted<string>;
  /** Time of the removal by the vault, in ms since the epoch. */
  readonly deleteAt: number;
  /** Position in the cluster's changes when the secret was protected. */
  readonly since: number;
}

/** Waits until the vault removes a secret at its delete_time. */
export async function removal(stage: Stage, { deleteAt, since }: GuestPass): Promise<void> {
  const leftMs = Math.max(0, deleteAt - Date.now());
  const head = {
    title: "7  A delete_time: the vault removes guest-pass",
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
