import { once } from "node:events";
import { createServer } from "node:net";

/** Returns a port on which nothing listens. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
};
