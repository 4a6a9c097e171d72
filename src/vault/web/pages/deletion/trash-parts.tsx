import type { TrashedRecord } from "../../../../protocol/responses.ts";
import { useToast } from "../../parts/toasts.tsx";
import { toRequestError } from "../../service/request-error.ts";
import { restoreEntries } from "../../service/trash.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import type { VNode } from "preact";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";
import { Icon } from "../../parts/icon.tsx";
import { hrefOf } from "../../routing/route.ts";

/** Returns `Restored db.` or `Restored 3 entries.` */
export function restoredText(entries: readonly Pick<TrashedRecord, "name">[]): string {
  const [first] = entries;
  const one = first && entries.length === 1 ? shortened(first.name) : `${entries.length} entries`;
  return `Restored ${one}.`;
}

/**
 * Returns a function that reports a deletion, and offers to undo it when the vault has a trash.
 * @param reload fetches the list again that the restored entries belong to
 */
export function useDeletedToast(
  reload: () => Promise<void>,
): (text: string, trashed: readonly TrashedRecord[]) => void {
  const client = useClient();
  const toast = useToast();
  const restore = async (trashed: readonly TrashedRecord[]): Promise<void> => {
    // The button that has the focus leaves the page.
    document.querySelector("h1")?.focus();
    try {
      await restoreEntries(
        client,
        trashed.map(({ id }) => id),
      );
      toast(restoredText(trashed));
    } catch (error) {
      const link = { route: { page: "trash" }, label: "Open the trash" } as const;
      toast(toRequestError(error).message, "bad", link);
    }
    await reload();
  };
  return (text, trashed) => {
    if (trashed.length === 0) return toast(text);
    let undone = false;
    const undo = (): void => {
      // The second click of a double click.
      if (!undone) void restore(trashed);
      undone = true;
    };
    toast(text, "good", { label: "Undo", run: undo });
  };
}

interface PermanentFieldProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Part of the question before a deletion that bypasses the trash of a vault that has one. */
export function PermanentField({ checked, onChange }: PermanentFieldProps): VNode | null {
  const days = useTrashDays();
  if (days === 0) return null;
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        Delete permanently, without {daysText(days)} in the trash
      </label>
      <p class="hint">
        Choose this after a leak, and replace the value where it is in use: copies stay valid.
      </p>
    </div>
  );
}

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
