import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toRequestError, RequestError } from "../../service/request-error.ts";
import { uploadFile } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";

export type UploadState =
  | { readonly kind: "waiting" }
  /** `share` is the fraction sent, from 0 to 1. */
  | { readonly kind: "sending"; readonly share: number }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly message: string };

export interface Upload {
  readonly id: number;
  readonly filename: string;
  readonly size: number;
  readonly state: UploadState;
}

interface Uploads {
  readonly uploads: readonly Upload[];
  readonly add: (files: readonly File[]) => void;
  readonly cancel: (id: number) => void;
  readonly clear: () => void;
}

const isFinished = ({ state }: Upload): boolean => state.kind === "done" || state.kind === "failed";

/** Uploads files one after another, with progress. Leaving the page cancels the rest. Calls `onStored` after each success. */
export function useUploads(onStored: () => Promise<void>): Uploads {
  const client = useClient();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const aborts = useRef(new Map<number, AbortController>());
  const queue = useRef<Promise<void>>(Promise.resolve());
  const ids = useRef(0);
  const set = useCallback(
    (id: number, state: UploadState) =>
      setUploads((previous) => previous.map((upload) => (upload.id === id ? { ...upload, state } : upload))),
    [],
  );
  useEffect(() => () => aborts.current.forEach((abort) => abort.abort()), []);
  const send = useCallback(
    async (id: number, file: File) => {
      const { signal } = aborts.current.get(id) ?? new AbortController();
      try {
        signal.throwIfAborted();
        set(id, { kind: "sending", share: 0 });
        await uploadFile(client, file, (share) => set(id, { kind: "sending", share }), signal);
        set(id, { kind: "done" });
        await onStored();
      } catch (error) {
        const failure = signal.aborted ? new RequestError("canceled", "Canceled.") : toRequestError(error);
        set(id, { kind: "failed", message: failure.message });
      } finally {
        aborts.current.delete(id);
      }
    },
    [client, set, onStored],
  );
  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        const id = ++ids.current;
        aborts.current.set(id, new AbortController());
        setUploads((previous) => [...previous, { id, filename: file.name, size: file.size, state: { kind: "waiting" } }]);
        queue.current = queue.current.then(() => send(id, file));
      }
    },
    [send],
  );
  const cancel = useCallback((id: number) => aborts.current.get(id)?.abort(), []);
  const clear = useCallback(() => setUploads((previous) => previous.filter((upload) => !isFinished(upload))), []);
  return { uploads, add, cancel, clear };
}
