// Starts the service with SQLite, or with STORE=postgres on a database of its own on the server of
// TEST_DATABASE_URL.
import postgres from "postgres";
import { startService as start } from "../../../crates/api/tests/clients/service.mjs";

const server = process.env.TEST_DATABASE_URL;

export type Service = Awaited<ReturnType<typeof start>>;

export const startService = async (settings: Record<string, string> = {}): Promise<Service> => {
  if (process.env.STORE !== "postgres" || server === undefined) return start(settings);
  const name = `client_${crypto.randomUUID().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  await sql`CREATE DATABASE ${sql(name)}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  const service = await start({ ...settings, DATABASE_URL: url.href });
  return {
    ...service,
    async stop() {
      await service.stop();
      await sql`DROP DATABASE ${sql(name)} WITH (FORCE)`;
      await sql.end();
    },
  };
};
