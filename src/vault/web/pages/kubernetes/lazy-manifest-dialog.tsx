import type { VNode } from "preact";
import { Lazy } from "../../parts/lazy.tsx";
import type { ManifestDialogProps } from "./manifest-dialog.tsx";

const loadDialog = async () => (await import("./manifest-dialog.tsx")).ManifestDialog;

/** Dialog with the manifest that syncs secrets or a file. */
export function LazyManifestDialog(props: ManifestDialogProps): VNode {
  return <Lazy load={loadDialog} props={props} />;
}
