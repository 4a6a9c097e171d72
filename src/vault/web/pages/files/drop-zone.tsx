import type { TargetedDragEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { MAX_FILE_BYTES } from "../../../../protocol/limits.ts";
import { Icon } from "../../parts/icon.tsx";
import { limitText } from "../../text/size-text.ts";

function preventDefault(event: Event): void {
  event.preventDefault();
}

/**
 * Keeps the browser from opening a file in place of the page when it is dropped next to the zone.
 */
function useMissedDrops(): void {
  useEffect(() => {
    addEventListener("dragover", preventDefault);
    addEventListener("drop", preventDefault);
    return () => {
      removeEventListener("dragover", preventDefault);
      removeEventListener("drop", preventDefault);
    };
  }, []);
}

/** Accepts files by drag and drop, or by a button. */
export function DropZone({
  onFiles,
}: {
  readonly onFiles: (files: readonly File[]) => void;
}): VNode {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  useMissedDrops();
  const onDrop = (event: TargetedDragEvent<HTMLDivElement>): void => {
    event.preventDefault();
    setOver(false);
    onFiles([...(event.dataTransfer?.files ?? [])]);
  };
  const onDragOver = (event: TargetedDragEvent<HTMLDivElement>): void => {
    event.preventDefault();
    setOver(true);
  };
  const onPicked = (): void => {
    onFiles([...(input.current?.files ?? [])]);
    // Reset: the same file can then be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <div
      class={over ? "drop-zone over" : "drop-zone"}
      onDrop={onDrop}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
    >
      <Icon name="upload" />
      <p>
        Drop files here, or{" "}
        <button class="link-button" type="button" onClick={() => input.current?.click()}>
          choose files
        </button>
      </p>
      <p class="hint">
        At most {limitText(MAX_FILE_BYTES)} a file. Uploading a file with an existing name adds a
        version.
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={onPicked}
      />
    </div>
  );
}
