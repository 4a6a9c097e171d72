import type { World } from "../../lab/real/world.ts";

/**
 * Stores the secret `db` and the file `web.conf` in the vault. Returns their contents: both are
 * canaries.
 */
export async function storeSecretAndFile(world: World): Promise<{ value: string; file: string }> {
  const [value, file] = [world.canaries.text("value"), world.canaries.text("file")];
  await world.protect("db", value);
  await world.upload("web.conf", Buffer.from(file));
  return { value, file };
}
