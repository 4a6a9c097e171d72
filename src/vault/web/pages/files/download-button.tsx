import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { toRequestError } from "../../service/request-error.ts";
import { useAction } from "../../parts/use-action.ts";
import { savedText, saveBlob } from "../../parts/save-blob.ts";
import { downloadFile } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";

interface DownloadButtonProps {
  readonly filename: string;
  readonly version: number;
  /** Label for screen readers. */
  readonly label: string;
  /** Shows only the icon. */
  readonly compact?: boolean;
}

/** Downloads one version of a file. */
export function DownloadButton({
  filename,
  version,
  label,
  compact = false,
}: DownloadButtonProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const download = (): void =>
    void action.run(async () => {
      try {
        saveBlob(await downloadFile(client, filename, version), filename);
        toast(savedText(`version ${version} of ${filename}`, filename));
      } catch (error) {
        toast(toRequestError(error).message, "bad");
      }
    });
  return (
    <button
      class={compact ? "button icon-button" : "button"}
      type="button"
      onClick={download}
      aria-disabled={action.busy}
      aria-label={label}
      title={compact ? label : undefined}
    >
      {compact && action.busy ? <span class="spinner" /> : <Icon name="download" />}
      {!compact && "Download"}
      {!compact && action.busy && <span class="spinner" />}
    </button>
  );
}
