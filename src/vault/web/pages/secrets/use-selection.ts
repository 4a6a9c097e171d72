import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";

/** Identifies a secret in the list. Names are unique per owner. */
export function secretId({ owner, key_name: name }: SecretRecord): string {
  return `${owner}\n${name}`;
}

/** The secrets that the user has selected, also on other pages of the list. */
export interface Selection {
  /** In the order of the list. */
  readonly secrets: readonly SecretRecord[];
  readonly has: (secret: SecretRecord) => boolean;
  readonly set: (secrets: readonly SecretRecord[], selected: boolean) => void;
  readonly clear: () => void;
}

/** Manages the selection. Secrets that leave the list leave the selection. */
export function useSelection(list: readonly SecretRecord[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    setIds((former) => {
      const listed = new Set(list.map(secretId));
      const kept = [...former].filter((id) => listed.has(id));
      return kept.length === former.size ? former : new Set(kept);
    });
  }, [list]);
  const secrets = useMemo(
    () => (ids.size === 0 ? [] : list.filter((secret) => ids.has(secretId(secret)))),
    [list, ids],
  );
  const has = useCallback((secret: SecretRecord) => ids.has(secretId(secret)), [ids]);
  const set = useCallback(
    (changed: readonly SecretRecord[], selected: boolean) =>
      setIds((former) => {
        const next = new Set(former);
        for (const secret of changed) {
          if (selected) next.add(secretId(secret));
          else next.delete(secretId(secret));
        }
        return next;
      }),
    [],
  );
  const clear = useCallback(() => setIds(new Set()), []);
  return { secrets, has, set, clear };
}
