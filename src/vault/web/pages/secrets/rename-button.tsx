import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { Lazy } from "../../parts/loaded-view.tsx";
import type { RenameDialogProps } from "./rename-dialog.tsx";

const loadDialog = async () => (await import("./rename-dialog.tsx")).RenameDialog;

/** Opens the form for another name of an own secret. */
export function RenameButton({ secret }: Pick<RenameDialogProps, "secret">): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button class="button" type="button" onClick={() => setOpen(true)}>
        <Icon name="edit" />
        Rename
      </button>
      {open && <Lazy load={loadDialog} props={{ secret, onClose: () => setOpen(false) }} />}
    </>
  );
}
