import type { VNode } from "preact";
import { useCallback } from "preact/hooks";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { listFiles } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { DropZone } from "./drop-zone.tsx";
import { FileList } from "./file-list.tsx";
import { UploadList } from "./upload-list.tsx";
import { useUploads } from "./use-uploads.ts";

export function FilesPage(): VNode {
  const client = useClient();
  const list = useLoaded(useCallback(() => listFiles(client), [client]));
  const { uploads, add, cancel, clear } = useUploads(list.reload);
  return (
    <>
      <PageHeading title="Files" />
      <DropZone onFiles={add} />
      <UploadList uploads={uploads} onCancel={cancel} onClear={clear} />
      <LoadedView of={list} what="your files">
        {(files) => <FileList files={files} onChange={list.reload} />}
      </LoadedView>
    </>
  );
}
