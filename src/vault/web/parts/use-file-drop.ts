import { useEffect, useState } from "preact/hooks";

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
