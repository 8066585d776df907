/** Returns a random id of 128 bits. Unlike `crypto.randomUUID`, it is available on pages without TLS too. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
