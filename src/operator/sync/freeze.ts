import { z } from "zod";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { FREEZE_ANNOTATION, FREEZE_CONFIG_MAP } from "../api/names.ts";
import {
  isSelected,
  type Labels,
  type NamespaceSelector,
  namespaceSelector,
} from "../api/namespace-selector.ts";
import { explainProblems } from "../api/validation.ts";
import { note } from "./note.ts";

/** Longest time in milliseconds, after it was written, of a freeze that cannot be parsed. */
export const INVALID_FREEZE_MS = 24 * 3_600_000;

/** A freeze as the API server has it. */
export interface WrittenFreeze {
  /** The data of the ConfigMap, or `until` alone. */
  readonly values: Readonly<Record<string, string>>;
  /** Time of the last change of these values, in milliseconds since the epoch. */
  readonly writtenAt: number;
}

/** A time in which no target follows newer versions. */
export interface Freeze {
  /** End in milliseconds since the epoch. */
  readonly endsAt: number;
  /** The namespaces; `undefined`: all, or the one with the annotation. */
  readonly selector?: NamespaceSelector | undefined;
  /** The end, the origin and the reason, for a message. */
  readonly text: string;
  /** Reason why it cannot be parsed: then it freezes all, but not for long. */
  readonly problem?: string | undefined;
}

const EXPECTED = "expected a time such as 2026-12-24T18:00:00Z";
const timestamp = z.iso.datetime({ offset: true, error: EXPECTED });
const selector = z
  .string()
  .transform((text) => jsonOrUndefined(text))
  .pipe(namespaceSelector);
const freezeSchema = z.strictObject({
  until: timestamp,
  reason: note.optional(),
  namespaceSelector: selector.optional(),
});

/** Formats a time that a clock can have. */
const formatted = (ms: number): string => new Date(ms).toISOString();

function freezeOf(
  until: string,
  origin: string,
  selected?: NamespaceSelector,
  reason = "",
): Freeze {
  const endsAt = Date.parse(until);
  const from = reason === "" ? origin : `${origin}: ${reason}`;
  return { endsAt, selector: selected, text: `until ${formatted(endsAt)} (${from})` };
}

/** Returns the freeze for one that cannot be parsed. It is not longer than what is valid of it. */
function unusable({ values, writtenAt }: WrittenFreeze, problem: string): Freeze {
  const latest = writtenAt + INVALID_FREEZE_MS;
  const until = timestamp.safeParse(values["until"]);
  const endsAt = until.success ? Math.min(latest, Date.parse(until.data)) : latest;
  const text = `until ${formatted(endsAt)}, because it cannot be parsed (${problem})`;
  return { endsAt, text, problem };
}

/**
 * Parses the ConfigMap vaultsync-freeze: `until` (RFC 3339), `reason` and `namespaceSelector`
 * (JSON). One that cannot be parsed freezes all namespaces for at most {@link INVALID_FREEZE_MS}.
 */
export function parseFreeze(written: WrittenFreeze): Freeze {
  const origin = `ConfigMap ${FREEZE_CONFIG_MAP}`;
  const parsed = freezeSchema.safeParse(written.values);
  if (!parsed.success)
    return unusable(written, `${origin}: ${explainProblems(parsed.error, "data")}`);
  const { until, reason, namespaceSelector: selected } = parsed.data;
  return freezeOf(until, origin, selected, reason);
}

/** Parses the annotation vaultsync.dev/freeze-until of a namespace: RFC 3339. */
export function parseFreezeUntil(written: WrittenFreeze): Freeze {
  const origin = `annotation ${FREEZE_ANNOTATION} of the namespace`;
  const parsed = timestamp.safeParse(written.values["until"]);
  return parsed.success
    ? freezeOf(parsed.data, origin)
    : unusable(written, `${origin}: ${EXPECTED}`);
}

/**
 * Returns the freeze that holds now in a namespace with these labels, of several the one that ends
 * last. One that selects namespaces holds also where the labels are not known.
 */
export function frozenBy(
  freezes: readonly Freeze[],
  labels: Labels | undefined,
  now: number,
): Freeze | undefined {
  const current = freezes.filter(
    ({ endsAt, selector: of }) =>
      endsAt > now && (of === undefined || labels === undefined || isSelected(of, labels)),
  );
  return current.toSorted((a, b) => b.endsAt - a.endsAt)[0];
}
