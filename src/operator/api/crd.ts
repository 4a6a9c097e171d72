import { z } from "zod";
import { fileStatus, secretStatus } from "./status.ts";
import { clusterConnectionSpec, connectionSpec, connectionStatus } from "./vault-connection.ts";
import {
  API_GROUP,
  clusterVaultConnectionKind,
  clusterVaultFileKind,
  clusterVaultSecretKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "./kinds.ts";
import { clusterFileStatus, clusterSecretStatus } from "./fan-out.ts";
import { clusterVaultFileSpec, vaultFileSpec } from "./vault-file.ts";
import { pushStatus, vaultPushSpec } from "./vault-push.ts";
import { clusterVaultSecretSpec, vaultSecretSpec } from "./vault-secret.ts";

/** A column of `kubectl get`; priority 1 shows with `-o wide` only. */
interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly priority?: number;
}

const readyColumn: Column = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};
const reasonColumn: Column = {
  name: "Reason",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
};
const messageColumn: Column = {
  name: "Message",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].message',
  priority: 1,
};
const staleColumn: Column = {
  name: "Stale",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Stale")].status',
  priority: 1,
};
const ageColumn: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

const targetKindColumn: Column = { name: "Kind", type: "string", jsonPath: ".spec.target.kind" };
const syncedColumn: Column = { name: "Synced", type: "date", jsonPath: ".status.syncedAt" };
const connectionColumn: Column = {
  name: "Connection",
  type: "string",
  jsonPath: ".spec.connectionRef.name",
  priority: 1,
};

/** Returns the columns of a kind that uses a connection, with `more` after its readiness. */
const userColumns = (...more: readonly Column[]): Column[] => [
  readyColumn,
  reasonColumn,
  ...more,
  ageColumn,
  connectionColumn,
  staleColumn,
  messageColumn,
];

const syncColumns = (...more: readonly Column[]): Column[] =>
  userColumns(
    ...more,
    { name: "Target", type: "string", jsonPath: ".status.target.name" },
    syncedColumn,
  );

const fanOutColumns = userColumns(
  { name: "Namespaces", type: "integer", jsonPath: ".status.namespaces.selected" },
  { name: "In-Sync", type: "integer", jsonPath: ".status.namespaces.ready" },
  syncedColumn,
);

const pushColumns = userColumns(
  { name: "Secret", type: "string", jsonPath: ".spec.secret.name" },
  syncedColumn,
);

const connectionColumns: Column[] = [
  readyColumn,
  reasonColumn,
  { name: "URL", type: "string", jsonPath: ".spec.url" },
  { name: "Email", type: "string", jsonPath: ".spec.email" },
  { name: "Secrets", type: "integer", jsonPath: ".status.secrets" },
  { name: "Files", type: "integer", jsonPath: ".status.files" },
  ageColumn,
  staleColumn,
  messageColumn,
];

/** Paths of a spec by which `kubectl get --field-selector` selects resources. */
const ofConnection = ["connectionRef.name", "connectionRef.kind"];
const syncSelectors = [...ofConnection, "target.name", "suspend"];
const fanOutSelectors = ["connectionRef.name", "target.name", "suspend"];
const pushSelectors = [...ofConnection, "secret.name", "suspend"];
const connectionSelectors = ["url", "email"];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * Converts JSON Schema to the structural form of the API server: no `anyOf` next to int-or-string,
 * and no bounds that only repeat the type.
 */
function structural(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(structural);
  if (schema === null || typeof schema !== "object") return schema;
  const out: { [key: string]: Json } = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "anyOf" && schema["x-kubernetes-int-or-string"] === true) continue;
    if (key === "maximum" && value === Number.MAX_SAFE_INTEGER) continue;
    if (key === "minimum" && value === Number.MIN_SAFE_INTEGER) continue;
    out[key] = structural(value);
  }
  if (schema.type === "integer") out.format = "int64";
  return out;
}

function openApiSchema(schema: z.ZodType): Json {
  return structural(z.json().parse(z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" })));
}

/**
 * Returns the schema of a status. Its default is a generation that no spec has: kstatus considers a
 * resource without `observedGeneration` current, even if no operator has seen it yet.
 */
function statusSchema(status: z.ZodType): Json {
  const schema = openApiSchema(status.describe("The observed state, which the operator writes."));
  return Object.assign({}, schema, { default: { observedGeneration: -1 } });
}

interface Definition {
  readonly kind: Kind;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly columns: readonly Column[];
  readonly selectors: readonly string[];
}

const definitions: readonly Definition[] = [
  {
    kind: vaultConnectionKind,
    description:
      "Connection to a vault: its URL, the account of the operator, and the refresh interval.",
    spec: connectionSpec,
    status: connectionStatus,
    columns: connectionColumns,
    selectors: connectionSelectors,
  },
  {
    kind: clusterVaultConnectionKind,
    description:
      "Connection to a vault for several namespaces: a VaultConnection, and what each namespace may read through it.",
    spec: clusterConnectionSpec,
    status: connectionStatus,
    columns: connectionColumns,
    selectors: connectionSelectors,
  },
  {
    kind: vaultSecretKind,
    description: "Keeps a Secret in sync with secrets of a vault.",
    spec: vaultSecretSpec,
    status: secretStatus,
    columns: syncColumns(),
    selectors: syncSelectors,
  },
  {
    kind: vaultFileKind,
    description: "Keeps a ConfigMap or Secret in sync with files of a vault.",
    spec: vaultFileSpec,
    status: fileStatus,
    columns: syncColumns(targetKindColumn),
    selectors: syncSelectors,
  },
  {
    kind: clusterVaultSecretKind,
    description: "Keeps a Secret in each of several namespaces in sync with secrets of a vault.",
    spec: clusterVaultSecretSpec,
    status: clusterSecretStatus,
    columns: fanOutColumns,
    selectors: fanOutSelectors,
  },
  {
    kind: clusterVaultFileKind,
    description:
      "Keeps a ConfigMap or Secret in each of several namespaces in sync with files of a vault.",
    spec: clusterVaultFileSpec,
    status: clusterFileStatus,
    columns: fanOutColumns,
    selectors: fanOutSelectors,
  },
  {
    kind: vaultPushKind,
    description: "Pushes keys of a Secret to secrets and files of a vault.",
    spec: vaultPushSpec,
    status: pushStatus,
    columns: pushColumns,
    selectors: pushSelectors,
  },
];

/**
 * Annotations of objects that have to outlive their removal from a repository: Flux and Argo CD do
 * not prune or delete an object with them. Without them, the tools would first delete the policies
 * against deletion.
 */
const KEPT = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

function customResourceDefinition(definition: Definition) {
  const { kind, description, spec, status, columns, selectors } = definition;
  const { plural, singular, shortName } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${API_GROUP}`, annotations: KEPT },
    spec: {
      group: API_GROUP,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: ["vaultsync"],
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          selectableFields: selectors.map((path) => ({ jsonPath: `.spec.${path}` })),
          schema: {
            openAPIV3Schema: {
              type: "object",
              description,
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object" },
                spec: openApiSchema(spec.describe("The desired state, which a user sets.")),
                status: statusSchema(status),
              },
            },
          },
        },
      ],
    },
  };
}

/** Returns every CustomResourceDefinition by the name of its file. */
export function customResourceDefinitions(): Map<string, object> {
  return new Map(
    definitions.map((definition) => [
      `${API_GROUP}_${definition.kind.plural}.yaml`,
      customResourceDefinition(definition),
    ]),
  );
}
