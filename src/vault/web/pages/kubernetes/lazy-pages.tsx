import type { VNode } from "preact";
import { Lazy } from "../../parts/lazy.tsx";
import type { ConnectPage } from "./connect-page.tsx";
import type { ManifestDialogProps } from "./manifest-dialog.tsx";

const loadDialog = async () => (await import("./manifest-dialog.tsx")).ManifestDialog;
const loadPage = async (): Promise<typeof ConnectPage> =>
  (await import("./connect-page.tsx")).ConnectPage;

/** Dialog with the manifest that syncs secrets or a file. */
export function LazyManifestDialog(props: ManifestDialogProps): VNode {
  return <Lazy load={loadDialog} props={props} />;
}

/** Page that connects a cluster. */
export function LazyConnectPage(): VNode {
  return <Lazy load={loadPage} props={{}} />;
}
