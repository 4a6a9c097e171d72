/** The store cannot be reached or is too busy: nothing is wrong with what was asked, and trying again later helps. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
