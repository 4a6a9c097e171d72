import type { TrashedRecord } from "../../../../protocol/responses.ts";
import { useToast } from "../../parts/toasts.tsx";
import { toRequestError } from "../../service/request-error.ts";
import { restoreEntries } from "../../service/trash.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";

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
