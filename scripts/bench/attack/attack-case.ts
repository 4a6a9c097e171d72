import type { VaultClient } from "../../../test/lab/vault/vault-client.ts";

export const attackerNames = ["attacker0", "attacker1", "attacker2", "attacker3"] as const;
export const ATTACKERS = attackerNames.length;
/** Accounts of a case: a user who pays for the attack, and the attackers. */
export const accountNames = ["owner", ...attackerNames] as const;
export type AccountName = (typeof accountNames)[number];

/** Returns the email of an account of a case. It is also the password. */
export function accountEmail(caseName: string, account: AccountName): string {
  return `${account}.${caseName}@example.com`;
}

/** The server that is attacked, as a case sees it. */
export interface Site {
  readonly url: string;
  /** Logs in to an account of the case, and returns a client with the token. @throws Error */
  logIn(account: AccountName): Promise<VaultClient>;
  /** Returns a loopback address that no other client has, for each number from 0 to 149. */
  address(number: number): string;
}

/** Logs in to the accounts of all attackers. */
export const logInAttackers = (site: Site): Promise<VaultClient[]> =>
  Promise.all(attackerNames.map((name) => site.logIn(name)));

/** A period in which an attack runs. */
export interface Round {
  /** Aborted at the end. */
  readonly signal: AbortSignal;
  /** Resolves when the measurement starts, after the first requests. */
  readonly measured: Promise<void>;
  readonly isLast: boolean;
  /** Counts the outcome of a request. */
  readonly count: (outcome: string, by?: number) => void;
}

export interface Attack {
  /** Prepares a round, before the measurement without the attack. */
  readonly arm?: () => Promise<void>;
  /** Attacks until the end of the round. */
  readonly run: (round: Round) => Promise<void>;
}

/** A request that another user sends at a fixed rate, with and without the attack. */
export interface Probe {
  readonly name: string;
  readonly intervalMs: number;
  /**
   * Prepares the probe, before the attack is prepared. Returns a function that sends the request of
   * the probe and resolves with its outcome: 200 and 304 are good ones.
   */
  readonly open: (site: Site) => Promise<() => Promise<string>>;
}

/**
 * Number of attacker's requests by outcome, and what it added to the audit log, while it was
 * measured.
 */
interface AttackFigures {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly logBytesPerSecond: number;
}

/** An attack that one party can cause and others would pay for. */
export interface AttackCase {
  /** Name in `--cases`. */
  readonly name: string;
  readonly title: string;
  /** Further arguments of the server, when the case is measured alone. */
  readonly serverArgs?: readonly string[];
  readonly prepare: (site: Site) => Promise<Attack>;
  readonly probe?: Probe;
  /** Returns what the case misses, in addition to the goals of all cases. */
  readonly misses?: (figures: AttackFigures) => readonly string[];
}
