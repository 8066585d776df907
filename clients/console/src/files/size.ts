const UNITS = ["B", "KiB", "MiB"];

/** Returns a size for people to read. */
export const sizeText = (bytes: number): string => {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${(bytes / 2 ** (10 * power)).toLocaleString("en", { maximumFractionDigits: power === 0 ? 0 : 1 })} ${UNITS[power]}`;
};

/** Returns whether browsers show a file of this type as an image. */
export const isImage = (mediaType: string): boolean => /^image\/(png|jpeg|gif|webp)$/.test(mediaType);
