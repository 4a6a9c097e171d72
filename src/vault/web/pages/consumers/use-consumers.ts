import { useCallback } from "preact/hooks";
import type { ConsumerRecord } from "../../../../protocol/responses.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/use-return.ts";
import { listConsumers, type OwnEntries } from "../../service/consumers.ts";
import { useClient } from "../../session/client-context.ts";

interface Consumers {
  /** None while they load and after a failure: they only inform. */
  readonly consumers: readonly ConsumerRecord[];
  readonly failed: boolean;
}

/** Fetches the resources that read some entries of the user. `names` keeps its identity. */
export function useConsumers({ kind, names }: OwnEntries): Consumers {
  const client = useClient();
  const { loaded, reload } = useLoaded(
    useCallback(() => listConsumers(client, { kind, names }), [client, kind, names]),
  );
  useReturn(useCallback(() => void reload(), [reload]));
  return {
    consumers: loaded.kind === "ready" ? loaded.value : [],
    failed: loaded.kind === "failed",
  };
}
