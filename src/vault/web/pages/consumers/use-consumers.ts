import { useCallback } from "preact/hooks";
import type { ConsumerRecord } from "../../../../protocol/responses.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/use-return.ts";
import { listConsumers, type OwnEntry } from "../../service/consumers.ts";
import { useClient } from "../../session/client-context.ts";

/**
 * Fetches the resources that read an entry of the user. There are none while they load and when
 * that fails: they only inform.
 */
export function useConsumers({ kind, name }: OwnEntry): readonly ConsumerRecord[] {
  const client = useClient();
  const { loaded, reload } = useLoaded(
    useCallback(() => listConsumers(client, { kind, name }), [client, kind, name]),
  );
  useReturn(useCallback(() => void reload(), [reload]));
  return loaded.kind === "ready" ? loaded.value : [];
}
