/** The time in milliseconds after which an address of a file is asked for again. */
export const RENEWED = 51 * 60_000;
