import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import type { ManifestDialogProps } from "./manifest-dialog.tsx";
import { Lazy } from "../../parts/loaded-view.tsx";

const loadDialog = async () => (await import("./manifest-dialog.tsx")).ManifestDialog;

interface ManifestButtonProps extends Pick<ManifestDialogProps, "subject"> {
  /** Label for screen readers. */
  readonly label?: string;
}

/** Opens the manifest that syncs secrets or a file into a cluster. */
export function ManifestButton({ subject, label }: ManifestButtonProps): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button class="button" type="button" aria-label={label} onClick={() => setOpen(true)}>
        <Icon name="terminal" />
        <span class="button-text">Use in Kubernetes</span>
      </button>
      {open && <Lazy load={loadDialog} props={{ subject, onClose: () => setOpen(false) }} />}
    </>
  );
}
