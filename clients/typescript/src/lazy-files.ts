import { lost } from "./errors.js";
import type { Files } from "./files.js";
import { randomId } from "./random-id.js";
import type { Transport } from "./transport.js";

/** Loads the code of files, which fails like a request. */
export const loadFiles = (): Promise<typeof import("./files.js")> =>
  import("./files.js").catch((error: unknown) => {
    throw lost(error);
  });

/** Returns the operations of files, whose code is loaded with the first call. */
export const lazyFiles = (transport: Transport): Files => ({
  upload: async (file, options) => (await loadFiles()).upload(transport, file, { idempotencyKey: randomId(), ...options }),
  link: async (id) => (await loadFiles()).link(transport, id),
  delete: async (id, options) => (await loadFiles()).remove(transport, id, options),
});
