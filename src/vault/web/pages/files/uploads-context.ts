import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { UploadQueue } from "./use-upload-queue.ts";

const Context = createContext<UploadQueue | undefined>(undefined);

export const UploadsProvider = Context.Provider;

/**
 * Returns the uploads, which outlive the pages. @throws Error outside the pages that require a
 * login
 */
export function useUploads(): UploadQueue {
  const queue = useContext(Context);
  if (!queue) throw new Error("there are no uploads here");
  return queue;
}
