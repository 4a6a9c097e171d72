/** Facts about the data as a whole, such as the id of its master key. */
export interface SettingTable {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}
