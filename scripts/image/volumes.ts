/** Mount points of the vault's volumes: directories of the image that its user owns. */
export const volumes = ["/data", "/audit"] as const;
