import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/** Clusters that can run on a machine simultaneously. */
export const slots = 10;

/** Names and addresses of a node: everything that it adds to the machine has one of these names. */
export const NodeLayout = z.object({
  directory: z.string(),
  /** Network interface of the machine, with the address `host`. Its peer is the node's `eth0`. */
  link: z.string(),
  cgroup: z.string(),
  host: z.string(),
  address: z.string(),
  /** All addresses of the cluster. */
  network: z.string(),
  pods: z.string(),
  services: z.string(),
  dns: z.string(),
});
export type NodeLayout = z.infer<typeof NodeLayout>;

export const nodeName = "vaultsync-node";

/** Directory of containerd's settings for registries, relative to the node's. */
export const registriesDirectory = "registries";

/** Returns the layout of the node in a slot, from 0. */
export function nodeLayout(slot: number): NodeLayout {
  const subnet = (offset: number): string => `10.213.${slot * 16 + offset}`;
  return {
    directory: join(tmpdir(), `vaultsync-node-${slot}`),
    link: `vaultsync${slot}`,
    cgroup: `vaultsync-node-${slot}`,
    host: `${subnet(0)}.1`,
    address: `${subnet(0)}.2`,
    network: `${subnet(0)}.0/20`,
    pods: `${subnet(4)}.0/22`,
    services: `${subnet(8)}.0/24`,
    dns: `${subnet(8)}.10`,
  };
}
