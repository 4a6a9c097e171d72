import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { useTrashDays } from "../../parts/vault-settings.ts";
import { hrefOf } from "../../routing/route.ts";

/** Leads to the trash of a vault that has one. */
export function TrashLink(): VNode | null {
  if (useTrashDays() === 0) return null;
  return (
    <a class="button trash-link" href={hrefOf({ page: "trash" })}>
      <Icon name="trash" />
      <span class="button-text">Trash</span>
    </a>
  );
}
