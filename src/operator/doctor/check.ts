import { firstOf } from "../lib/first-of.ts";

/** The result of one check. */
export interface Check {
  /** The checked part: `cluster`, `operator`, or an object such as `vaultconnection/name`. */
  readonly subject: string;
  readonly check: string;
  /** `skipped`: it could not be checked, because of an earlier failure or a missing permission. */
  readonly result: "ok" | "failed" | "skipped";
  readonly message: string;
  /** The way to resolve a failure. */
  readonly remedy?: string | undefined;
}

/** Returns functions that make the checks of one subject. */
export function checksOf(subject: string) {
  return {
    ok: (check: string, message: string): Check => ({ subject, check, result: "ok", message }),
    failed: (check: string, message: string, remedy?: string): Check => ({
      subject,
      check,
      result: "failed",
      message,
      remedy,
    }),
    skipped: (check: string, message: string): Check => ({
      subject,
      check,
      result: "skipped",
      message,
    }),
  };
}

/** Returns names in a message. */
export const someOf = (names: readonly string[]): string => firstOf(names, { max: 5 });

export type Checks = ReturnType<typeof checksOf>;
