import { vaultPushKind } from "../../../src/operator/api/kinds.ts";
import type { Command } from "../commands.ts";
import type { World } from "../world.ts";
import { GROWING } from "./beside-scenes.ts";
import { difference } from "./push-expectations.ts";
import { PushRules } from "./push-rules.ts";
import { PushWorld } from "./push-world.ts";

/** The rules for VaultPushes in a world that has resources which read their entries. */
export class PushesBeside {
  readonly #scene: PushWorld;
  readonly #rules: PushRules;

  constructor(world: World) {
    this.#scene = new PushWorld(world);
    this.#rules = new PushRules(this.#scene);
  }

  /** Returns the rules for an episode; `undefined` if it has no VaultPush. */
  static of(world: World, commands: readonly Command[]): PushesBeside | undefined {
    return commands.some(({ type }) => type === "push") ? new PushesBeside(world) : undefined;
  }

  /** Number of versions that were written, and entries that were deleted. */
  get writes(): number {
    return this.#rules.writes;
  }

  /** Takes in a command that is carried out. */
  before({ type }: Command): void {
    if (type === "list-namespaces") this.#scene.listChanged();
  }

  /** Removes the VaultPushes that never come to rest: each turn makes longer bytes. */
  calm(): void {
    const { server } = this.#scene.world;
    for (const { metadata } of server.all(vaultPushKind))
      if (metadata.name === GROWING) server.delete(vaultPushKind, metadata);
  }

  /** Returns what is not as expected although everything is calm; `undefined` if everything is. */
  difference(): string | undefined {
    return difference(this.#scene);
  }
}
