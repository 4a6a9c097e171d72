import type { VNode } from "preact";
import { useRef, useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Lets the user choose a file. */
export function FileButton({ onFile }: { readonly onFile: (file: File) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const onChange = (): void => {
    const [file] = input.current?.files ?? [];
    if (file) onFile(file);
    // Reset: the same file can then be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <>
      <button class="button" type="button" onClick={() => input.current?.click()}>
        <Icon name="file" />
        From file
      </button>
      <input ref={input} type="file" hidden onChange={onChange} />
    </>
  );
}

function preventDefault(event: Event): void {
  event.preventDefault();
}

/** Attributes of an element that takes dropped files. */
export interface FileDrop {
  /** True while files are above it. */
  readonly "data-over": boolean;
  readonly onDrop: (event: DragEvent) => void;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: () => void;
}

/**
 * Takes files that are dropped on an element. Next to it, a dropped file does nothing: the browser
 * would open it in place of the page.
 */
export function useFileDrop(onFiles: (files: readonly File[]) => void): FileDrop {
  const [over, setOver] = useState(false);
  useEffect(() => {
    addEventListener("dragover", preventDefault);
    addEventListener("drop", preventDefault);
    return () => {
      removeEventListener("dragover", preventDefault);
      removeEventListener("drop", preventDefault);
    };
  }, []);
  const onDrop = (event: DragEvent): void => {
    setOver(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    // Dropped text is for the browser.
    if (files.length === 0) return;
    event.preventDefault();
    onFiles(files);
  };
  const onDragOver = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    setOver(true);
  };
  return { "data-over": over, onDrop, onDragOver, onDragLeave: () => setOver(false) };
}
