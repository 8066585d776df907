import { type Operations, operations } from "./generated/operations.js";
import type { paths } from "./generated/schema.js";
import { randomId } from "./random-id.js";
import { type RequestOptions, segment, type Transport } from "./transport.js";

type Operation<Key extends string> = Key extends `${infer Method} ${infer Path}`
  ? Path extends keyof paths
    ? Method extends keyof paths[Path]
      ? paths[Path][Method]
      : never
    : never
  : never;

type Content<Part> = Part extends { content: { "application/json": infer Body } } ? Body : never;
type BodyOf<Of> = Of extends { requestBody: infer Part } ? Content<Part> : never;
type OptionalBodyOf<Of> = Of extends { requestBody?: infer Part } ? Content<NonNullable<Part>> : never;
/** The same members, of which the optional ones can be undefined: requests omit those. */
export type WithUndefined<Input> = { [Name in keyof Input]: {} extends Pick<Input, Name> ? Input[Name] | undefined : Input[Name] };
type QueryOf<Of> = Of extends { parameters: { query?: infer Query } } ? WithUndefined<NonNullable<Query>> : never;
type ResultOf<Of> = Of extends { responses: infer Responses }
  ? Responses extends { 200: infer Part }
    ? Content<Part>
    : Responses extends { 201: infer Part } | { 202: infer Part }
      ? Content<Part>
      : // biome-ignore lint/suspicious/noConfusingVoidType: it is what a call returns.
        void
  : never;

type IdsOf<Key extends string> = Key extends `${string}{${string}}${infer Rest}` ? [id: string, ...IdsOf<Rest>] : [];
type InputOf<Key extends string> = Key extends `get ${string}` | `delete ${string}`
  ? Operation<Key> extends { parameters: { query: object } }
    ? [query: QueryOf<Operation<Key>>]
    : [query?: QueryOf<Operation<Key>>]
  : [BodyOf<Operation<Key>>] extends [never]
    ? [body?: WithUndefined<OptionalBodyOf<Operation<Key>>>]
    : [body: WithUndefined<BodyOf<Operation<Key>>>];

type Call<Key extends string> = (...input: [...IdsOf<Key>, ...InputOf<Key>, options?: RequestOptions]) => Promise<ResultOf<Operation<Key>>>;

/** The operations of the REST API, by group and name. */
export type Rest = {
  readonly [Group in keyof Operations]: {
    readonly [Name in keyof Operations[Group]]: Operations[Group][Name] extends string ? Call<Operations[Group][Name]> : never;
  };
};

const callOf = (transport: Transport, method: string, path: string) => {
  const inputName = /get|delete/.test(method) ? "query" : "body";
  return async (...given: unknown[]): Promise<unknown> => {
    const target = path.replace(/\*/g, () => segment(String(given.shift())));
    const [input, options] = given as [object | undefined, RequestOptions | undefined];
    const request = {
      ...(method === "post" && { idempotencyKey: randomId() }),
      ...options,
      method: method.toUpperCase(),
      path: target,
      [inputName]: input,
    };
    // A body of another server, such as the page of a network that asks to sign in, is no response.
    return transport.send(request, async (response) => (response.status === 204 ? undefined : response.json()));
  };
};

export const createRest = (transport: Transport): Rest => {
  const groups = Object.entries(operations).map(([group, calls]) => {
    const path = `/api/${group.replace(/[A-Z]/g, "-$&").toLowerCase()}`;
    const named = calls.split(",").map((call) => {
      const [name, method, rest = ""] = call.split(" ") as [string, string, string?];
      return [name, callOf(transport, method, path + rest)];
    });
    return [group, Object.fromEntries(named)];
  });
  return Object.fromEntries(groups) as Rest;
};
