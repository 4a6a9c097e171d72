import type { VNode } from "preact";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useReturn } from "../../parts/use-return.ts";
import { listFiles } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { DropZone } from "./drop-zone.tsx";
import { FileList } from "./file-list.tsx";
import { parseFileView } from "./file-view.ts";
import { UploadList } from "./upload-list.tsx";
import { useUploads } from "./use-upload-queue.ts";

/** The user's files and uploads. `query` is the state of the list in the address. */
export function FilesPage({ query }: { readonly query: string }): VNode {
  const client = useClient();
  const { add, stored } = useUploads();
  const list = useLoaded(useCallback(() => listFiles(client), [client]));
  const { reload } = list;
  useReturn(useCallback(() => void reload(), [reload]));
  const view = useMemo(() => parseFileView(query), [query]);
  useEffect(() => void (stored > 0 && reload()), [stored, reload]);
  return (
    <>
      <PageHeading title="Files" />
      <DropZone onFiles={add} />
      <UploadList />
      <LoadedView of={list} what="your files">
        {(files) => <FileList files={files} view={view} onChange={reload} />}
      </LoadedView>
    </>
  );
}
