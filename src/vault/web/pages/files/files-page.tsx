import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useState, useRef } from "preact/hooks";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useReturn, useListScroll } from "../../parts/scroll-position.ts";
import { type FileDeletion, listFiles } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { TrashLink } from "../deletion/trash-parts.tsx";
import {
  parseFileView,
  fileOrders,
  fileViewQuery,
  selectFiles,
  type FileOrder,
  type FileView,
} from "./file-view.ts";
import { UploadList } from "./upload-list.tsx";
import { useUploads } from "./use-upload-queue.ts";
import type { FileRecord } from "../../../../protocol/responses.ts";
import { DataTable, type Column } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/notes.tsx";
import { Pager, shownPage } from "../../parts/pager.tsx";
import { SearchField, SelectField } from "../../parts/field.tsx";
import { writeQuery } from "../../routing/use-route.ts";
import { DeleteFileDialog } from "./delete-file-dialog.tsx";
import { FileRow } from "./file-row.tsx";
import { MAX_FILE_BYTES } from "../../../../protocol/limits.ts";
import { Icon } from "../../parts/icon.tsx";
import { useFileDrop } from "../../parts/file-input.tsx";
import { sizeText } from "../../text/formats.ts";

/** Accepts files by drag and drop, or by a button. */
function DropZone({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const drop = useFileDrop(onFiles);
  const onPicked = (): void => {
    onFiles([...(input.current?.files ?? [])]);
    // Reset: the same file can then be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <div class="drop-zone" {...drop}>
      <Icon name="upload" />
      <p>
        Drop files here, or{" "}
        <button class="link-button" type="button" onClick={() => input.current?.click()}>
          choose files
        </button>
      </p>
      <p class="hint">
        At most {sizeText(MAX_FILE_BYTES)} a file. Uploading a file with an existing name adds a
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

const PAGE_SIZE = 50;

const orderLabels: Readonly<Record<FileOrder, string>> = {
  name: "Sort by name",
  uploaded: "Sort by last upload",
  size: "Sort by size",
};

/** Writes a view into the address, from where the page reads it. */
function show(view: FileView, push = false): void {
  writeQuery({ page: "files", query: fileViewQuery(view) }, push);
}

function FileToolbar({ view }: { readonly view: FileView }): VNode {
  return (
    <search class="toolbar">
      <SearchField
        label="Search files"
        placeholder="Search names"
        value={view.search}
        onSearch={(search) => show({ ...view, search, page: 0 })}
      />
      <SelectField
        label="Sort by"
        value={view.order}
        choices={fileOrders}
        labelOf={(order) => orderLabels[order]}
        onChoice={(order) => show({ ...view, order, page: 0 })}
      />
    </search>
  );
}

const columns: readonly Column[] = [
  { name: "name", title: "Name" },
  { name: "version", title: "Versions" },
  { name: "size", title: "Size" },
  { name: "updated", title: "Uploaded" },
  { name: "actions", title: "Actions", hidden: true },
];

interface FileListProps {
  readonly files: readonly FileRecord[];
  readonly view: FileView;
  readonly onChange: () => Promise<void>;
}

/** The stored files, with search and order. Opening a file shows its versions. */
function FileList({ files, view, onChange }: FileListProps): VNode {
  const [deletion, setDeletion] = useState<FileDeletion | undefined>(undefined);
  const matching = useMemo(() => selectFiles(files, view), [files, view]);
  const page = shownPage(view.page, matching.length, PAGE_SIZE);
  const listRef = useListScroll(page);
  if (files.length === 0) {
    return (
      <Empty icon="file" title="No files yet">
        <p>
          Upload certificates, configuration files or archives. All versions are stored encrypted.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <FileToolbar view={view} />
      {matching.length > 0 ? (
        <section ref={listRef} class="list" tabIndex={-1} aria-label="List of files">
          <DataTable name="files-table" caption="Your files" columns={columns}>
            {matching.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((file) => (
              <FileRow key={file.filename} file={file} onDelete={setDeletion} />
            ))}
          </DataTable>
        </section>
      ) : (
        <Empty icon="search" title="No matches">
          <p>No file has a name that contains these words.</p>
        </Empty>
      )}
      <Pager
        page={page}
        pageSize={PAGE_SIZE}
        total={matching.length}
        onPage={(next) => show({ ...view, page: next }, true)}
      />
      {deletion && (
        <DeleteFileDialog
          deletion={deletion}
          onChange={onChange}
          onClose={() => setDeletion(undefined)}
        />
      )}
    </>
  );
}

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
      <PageHeading title="Files">
        <TrashLink />
      </PageHeading>
      <DropZone onFiles={add} />
      <UploadList />
      <LoadedView of={list} what="your files">
        {(files) => <FileList files={files} view={view} onChange={reload} />}
      </LoadedView>
    </>
  );
}
