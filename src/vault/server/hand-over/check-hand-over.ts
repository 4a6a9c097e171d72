import { nameProblem } from "../../../protocol/names.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import { defaultLimits, quotaTexts, type Quotas } from "../limits.ts";
import { currentKey } from "../store/current-key.ts";
import type { Transaction } from "../store/store.ts";
import type { Usage } from "../store/tables/account-tables.ts";

export interface HandOverPlan {
  /** Canonical addresses of the former and the new owner. */
  readonly from: string;
  readonly to: string;
  readonly keys: KeyRing;
  /** Quotas of the new owner. */
  readonly quotas: Quotas;
  /** Appended to names that the new owner has too; without it they are rejected. */
  readonly renameSuffix: string | undefined;
}

/** Maximum number of names in an error. */
const NAMED = 20;

const KINDS = ["secret", "file"] as const;
type Kind = (typeof KINDS)[number];

/**
 * Requires that the former owner still cannot write: nothing may be stored under the former name.
 * @throws Error
 */
export async function requireDisabled({ users }: Transaction, email: string): Promise<void> {
  const user = await users.find(email);
  if (!user)
    throw new Error(`no user has the email ${email}: list them with \`vaultsync vault user list\``);
  if (!user.disabled) {
    throw new Error(
      `${email} is not disabled and could write meanwhile: run \`vaultsync vault user disable ${email}\` first`,
    );
  }
}

const COUNTED = ["secrets", "versions", "bytes", "grants"] as const;

/** Returns what an account has outside of its trash: the trash is not handed over. */
async function liveUsage({ usage, trash }: Transaction, owner: string): Promise<Usage> {
  const [all, trashed] = [await usage.of(owner), await trash.usage(owner)];
  const live = { ...all };
  for (const name of COUNTED) live[name] -= trashed[name];
  return live;
}

async function requireQuotas(
  transaction: Transaction,
  { from, to, quotas }: HandOverPlan,
): Promise<void> {
  const [given, had] = [await liveUsage(transaction, from), await liveUsage(transaction, to)];
  const exceeded = COUNTED.filter(
    (name) => given[name] > 0 && given[name] + had[name] > quotas[name],
  );
  if (exceeded.length === 0) return;
  const list = exceeded
    .map((name) => `${quotaTexts[name]}: ${given[name] + had[name]} of ${quotas[name]}`)
    .join("; ");
  throw new Error(
    `${to} would exceed quotas: ${list}; raise them with --quotas here and on the servers, or delete some first`,
  );
}

/**
 * Returns the name at the new owner. @throws Error when the name is taken and cannot be extended
 */
export async function nameAtNewOwner(
  { handOver }: Transaction,
  { from, to, renameSuffix }: HandOverPlan,
  record: { readonly kind: Kind; readonly name: string },
  now: number,
): Promise<string> {
  const { kind, name } = record;
  if (!(await handOver.hasName(kind, to, name, now))) return name;
  const renamed = `${name}${renameSuffix ?? ""}`;
  const problem =
    renameSuffix === undefined
      ? "has this name too"
      : (nameProblem(renamed, defaultLimits.nameCharacters) ??
        ((await handOver.hasName(kind, to, renamed, now)) ||
        (await handOver.hasName(kind, from, renamed, now))
          ? "is taken as well"
          : undefined));
  if (problem !== undefined) throw new Error(`the ${kind} ${JSON.stringify(renamed)}: ${problem}`);
  return renamed;
}

async function requireNames(
  transaction: Transaction,
  plan: HandOverPlan,
  now: number,
): Promise<void> {
  const problems: string[] = [];
  for (const kind of KINDS) {
    for (const name of await transaction.handOver.collisions(kind, plan.from, plan.to, now)) {
      await nameAtNewOwner(transaction, plan, { kind, name }, now).catch((error: unknown) => {
        if (!(error instanceof Error)) throw error;
        problems.push(error.message);
      });
    }
  }
  if (problems.length === 0) return;
  const more = problems.length > NAMED ? `\n  and ${problems.length - NAMED} more` : "";
  throw new Error(
    `nothing was handed over, because ${plan.to} has secrets or files of the same names; rename or delete them, or add ` +
      `--rename-suffix TEXT, another one if you did:\n  ${problems.slice(0, NAMED).join("\n  ")}${more}`,
  );
}

/** Requires all that a hand-over needs, before anything changes. @throws Error with what to do */
export async function checkHandOver(
  transaction: Transaction,
  plan: HandOverPlan,
  now: number,
): Promise<void> {
  if (plan.from === plan.to) throw new Error("expected two different users");
  const heir = await transaction.users.find(plan.to);
  if (!heir)
    throw new Error(
      `no user has the email ${plan.to}: list them with \`vaultsync vault user list\``,
    );
  await requireDisabled(transaction, plan.from);
  if (heir.disabled)
    throw new Error(
      `${plan.to} is disabled: choose another user, or run \`vaultsync vault user enable\``,
    );
  await currentKey(plan.keys, transaction);
  await requireQuotas(transaction, plan);
  await requireNames(transaction, plan, now);
}
