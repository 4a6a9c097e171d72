import { systemClock } from "../../lib/clock.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import type { KeyRing } from "../server/crypto/key-ring.ts";
import { handOverSecrets, type HandOverResult } from "../server/hand-over/hand-over-secrets.ts";
import { defaultQuotas, type Quotas } from "../server/limits.ts";
import type { Store } from "../server/store/store.ts";
import { progressLine } from "./terminal.ts";

function report({ secrets, files, renamed, unreadable }: HandOverResult, to: string): void {
  for (const { kind, name, newName } of renamed) {
    process.stderr.write(
      `renamed the ${kind} ${JSON.stringify(name)} to ${JSON.stringify(newName)}\n`,
    );
  }
  for (const { kind, name } of unreadable) {
    process.stderr.write(
      `skipped the ${kind} ${JSON.stringify(name)}: a version cannot be opened with the given master keys\n`,
    );
  }
  process.stderr.write(`handed over secrets: ${secrets}, files: ${files} to ${to}\n`);
}

interface HandOver {
  readonly store: Store;
  readonly keys: KeyRing;
  /** Emails of the former and of the new owner. */
  readonly from: string;
  readonly to: string;
  readonly quotas: Quotas | undefined;
  readonly renameSuffix: string | undefined;
}

/**
 * Hands over secrets and files, and reports them. If one could not be read, the process ends with
 * exit code 1.
 */
export async function handOverBelongings({
  from,
  to,
  quotas = defaultQuotas,
  ...rest
}: HandOver): Promise<void> {
  const line = progressLine(systemClock);
  const result = await handOverSecrets({
    ...rest,
    clock: systemClock,
    from: canonicalEmail(from),
    to: canonicalEmail(to),
    quotas,
    progress: (done) => line(`handed over so far: ${done}`),
  });
  report(result, to);
  if (result.unreadable.length > 0) process.exitCode = 1;
}
