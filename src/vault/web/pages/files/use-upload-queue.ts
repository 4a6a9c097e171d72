import { useCallback, useEffect, useRef, useState, useContext } from "preact/hooks";
import { createContext } from "preact";
import { MAX_FILE_BYTES } from "../../../../protocol/limits.ts";
import { toRequestError } from "../../service/request-error.ts";
import { uploadFile } from "../../service/files.ts";
import type { VaultClient } from "../../service/vault-client.ts";
import { sizeText } from "../../text/formats.ts";

export type UploadState =
  | { readonly kind: "waiting" }
  /** `share` is the fraction sent, from 0 to 1. */
  | { readonly kind: "sending"; readonly share: number }
  | { readonly kind: "done" }
  /** `retry`: whether the same file may succeed later. */
  | { readonly kind: "failed"; readonly message: string; readonly retry: boolean };

export interface Upload {
  readonly id: number;
  readonly file: File;
  readonly state: UploadState;
}

interface UploadQueue {
  readonly uploads: readonly Upload[];
  /** Number of uploads that have succeeded: the list of files changes with it. */
  readonly stored: number;
  readonly add: (files: readonly File[]) => void;
  readonly cancel: (id: number) => void;
  readonly retry: (upload: Upload) => void;
  /** Removes the successful uploads from the list, or all that have ended. */
  readonly clear: (which: "done" | "ended") => void;
}

export function isEnded({ kind }: UploadState): boolean {
  return kind === "done" || kind === "failed";
}

function initialState({ size }: File): UploadState {
  if (size <= MAX_FILE_BYTES) return { kind: "waiting" };
  const message = `Not sent: it has ${sizeText(size)}. At most ${sizeText(MAX_FILE_BYTES)} a file.`;
  return { kind: "failed", message, retry: false };
}

function askBeforeUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** Asks before the browser closes the page with uploads in progress, in the browser's own words. */
function useUnloadQuestion(running: boolean): void {
  useEffect(() => {
    if (!running) return;
    addEventListener("beforeunload", askBeforeUnload);
    return () => removeEventListener("beforeunload", askBeforeUnload);
  }, [running]);
}

interface UploadStates extends Pick<UploadQueue, "uploads" | "clear"> {
  /** Appends an upload for each file. */
  readonly append: (files: readonly File[]) => readonly Upload[];
  readonly set: (id: number, state: UploadState) => void;
}

function useUploadStates(): UploadStates {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const ids = useRef(0);
  const append = useCallback((files: readonly File[]) => {
    const added = files.map((file): Upload => ({
      id: ++ids.current,
      file,
      state: initialState(file),
    }));
    setUploads((previous) => [...previous, ...added]);
    return added;
  }, []);
  const set = useCallback(
    (id: number, state: UploadState) =>
      setUploads((previous) =>
        previous.map((upload) => (upload.id === id ? { ...upload, state } : upload)),
      ),
    [],
  );
  const clear = useCallback(
    (which: "done" | "ended") =>
      setUploads((previous) =>
        previous.filter(({ state }) =>
          which === "done" ? state.kind !== "done" : !isEnded(state),
        ),
      ),
    [],
  );
  return { uploads, append, set, clear };
}

/** Said of an upload that was canceled after its last byte was sent. */
const CANCELED_LATE = "Canceled. The vault may have stored it already: see the list of files.";

/**
 * Uploads files one after another, with progress, while the user visits other pages. The end of the
 * session cancels the rest, and closing the tab asks first.
 */
export function useUploadQueue(client: VaultClient): UploadQueue {
  const { uploads, append, set, clear } = useUploadStates();
  const [stored, setStored] = useState(0);
  const aborts = useRef(new Map<number, AbortController>());
  const queue = useRef<Promise<void>>(Promise.resolve());
  useEffect(() => () => aborts.current.forEach((abort) => abort.abort()), []);
  useUnloadQuestion(uploads.some(({ state }) => !isEnded(state)));
  const send = useCallback(
    async ({ id, file }: Upload, { signal }: AbortController) => {
      if (signal.aborted) return;
      try {
        set(id, { kind: "sending", share: 0 });
        const onProgress = (share: number): void => set(id, { kind: "sending", share });
        await uploadFile(client, file, { onProgress, signal });
        set(id, { kind: "done" });
        setStored((count) => count + 1);
      } catch (error) {
        const { code, message } = toRequestError(error);
        if (!signal.aborted) set(id, { kind: "failed", message, retry: code !== "too_large" });
      }
    },
    [client, set],
  );
  const enqueue = useCallback(
    (upload: Upload) => {
      const abort = new AbortController();
      aborts.current.set(upload.id, abort);
      queue.current = queue.current.then(() => send(upload, abort));
    },
    [send],
  );
  const add = (files: readonly File[]): void =>
    append(files)
      .filter(({ state }) => state.kind === "waiting")
      .forEach(enqueue);
  const cancel = (id: number): void => {
    aborts.current.get(id)?.abort();
    const state = uploads.find((upload) => upload.id === id)?.state;
    const isSent = state?.kind === "sending" && state.share === 1;
    set(id, { kind: "failed", message: isSent ? CANCELED_LATE : "Canceled.", retry: true });
  };
  const retry = (upload: Upload): void => {
    set(upload.id, { kind: "waiting" });
    enqueue(upload);
  };
  return { uploads, stored, add, cancel, retry, clear };
}

const Context = createContext<UploadQueue | undefined>(undefined);

export const UploadsProvider = Context.Provider;

/**
 * Returns the uploads; they outlive the pages. @throws Error outside the pages that require a login
 */
export function useUploads(): UploadQueue {
  const queue = useContext(Context);
  if (!queue) throw new Error("there are no uploads here");
  return queue;
}
