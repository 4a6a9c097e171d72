import { z } from "zod";
import { NodeLayout } from "../../node/layout.ts";

/** Directories of the programs of a node. */
const NodePrograms = z.object({
  kubernetes: z.string(),
  containerd: z.string(),
  /** With the images of the cluster's own pods. */
  pods: z.string(),
  /** Omitted: the cluster enforces no NetworkPolicy. */
  policies: z.string().optional(),
});
export type NodePrograms = z.infer<typeof NodePrograms>;

/** Settings of a supervisor: its only argument, as JSON, without secrets. */
export const Settings = z.object({
  provision: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("binaries"), directory: z.string() }),
    z.object({ kind: z.literal("k3s"), image: z.string(), kubectl: z.string() }),
  ]),
  /** Duration of the search for `provision`, in milliseconds. */
  binariesMs: z.number(),
  /** Users without a group other than `system:authenticated`. */
  users: z.array(z.string()),
  /** Omitted: the cluster has no node. */
  nodePrograms: NodePrograms.optional(),
  /** The place of the node, with the process that owns the namespaces. */
  node: NodeLayout.extend({ owner: z.int() }).optional(),
});
export type Settings = z.infer<typeof Settings>;

/** Messages of a supervisor: one JSON object per line on its standard output. */
export const Message = z.discriminatedUnion("event", [
  z.object({ event: z.literal("note"), line: z.string() }),
  z.object({ event: z.literal("ready"), directory: z.string() }),
  z.object({ event: z.literal("failed"), message: z.string() }),
]);
export type Message = z.infer<typeof Message>;
