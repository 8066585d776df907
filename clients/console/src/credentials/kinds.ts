import type { Client, components, RequestOptions } from "agent-service-client";

type Key = components["schemas"]["Key"];
type OAuthClient = components["schemas"]["Client"];
export type Credential = Omit<Key, "allowedOrigins" | "last4"> &
  Partial<Pick<Key, "allowedOrigins"> & Pick<OAuthClient, "last4" | "jwksUri" | "jwks">>;
export type WithSecret = Credential & { secret?: string };
export type Draft = components["schemas"]["KeyDraft"] & components["schemas"]["ClientDraft"];

/** API keys and OAuth clients, which are managed in the same way. */
export interface Kind {
  id: "keys" | "clients";
  one: string;
  many: string;
  empty: string;
  list: (page: { cursor?: string; limit: number }) => Promise<{ data: Credential[]; hasMore: boolean; nextCursor?: string | null }>;
  create: (draft: Draft, options: RequestOptions) => Promise<WithSecret>;
  rotate: (id: string, overlapSeconds: number, options: RequestOptions) => Promise<WithSecret>;
  revoke: (id: string) => Promise<unknown>;
}

export const kindsOf = ({ keys, oauthClients }: Client): { keys: Kind; clients: Kind } => ({
  keys: {
    id: "keys",
    one: "API key",
    many: "API keys",
    empty: "A key lets a backend call the service.",
    list: (page) => keys.list(page),
    create: (draft, options) => keys.create(draft, options),
    rotate: (id, overlapSeconds, options) => keys.rotate(id, { overlapSeconds }, options),
    revoke: (id) => keys.revoke(id),
  },
  clients: {
    id: "clients",
    one: "OAuth client",
    many: "OAuth clients",
    empty: "A client fetches tokens that are valid for ten minutes.",
    list: (page) => oauthClients.list(page),
    create: (draft, options) => oauthClients.create(draft, options),
    rotate: (id, overlapSeconds, options) => oauthClients.rotate(id, { overlapSeconds }, options),
    revoke: (id) => oauthClients.revoke(id),
  },
});
