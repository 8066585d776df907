// Generates src/generated from the published OpenAPI and AsyncAPI documents. With `--check`, fails if
// the files differ from them.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const root = new URL("../../../", import.meta.url);
const folder = new URL("../src/generated/", import.meta.url);
// The constant `type` of each variant says the same as a discriminator, which would be another type.
const withoutDiscriminator = (_key, value) => (value?.discriminator?.mapping ? { ...value, discriminator: undefined } : value);
const read = (name) => JSON.parse(readFileSync(new URL(name, root), "utf8"), withoutDiscriminator);
const document = read("openapi.json");
const asyncApi = read("asyncapi.json");
const methods = ["get", "post", "put", "patch", "delete"];
// Responses of the first three are streams and sockets, which have functions of their own. What is stored about
// users is for backends, and pages would load its code; the console erases users. Files have functions of their own.
const OMITTED = new Set([
  ...["chat", "follow_conversation", "open_socket", "list_users", "put_user", "patch_user"],
  ...["create_file", "get_file", "delete_file", "get_file_content", "create_file_link"],
]);

const camelCase = (words) => words.map((word, index) => (index === 0 ? word : word[0].toUpperCase() + word.slice(1))).join("");
const singular = (word) => word.replace(/ies$/, "y").replace(/s$/, "");

// `list_messages` of `/api/conversations/…` is `conversations.listMessages`, and `get_agent` of
// `/api/agents/{id}` is `agents.get`.
const nameOf = (path, operationId) => {
  const segment = path.split("/")[2];
  const [verb, ...noun] = operationId.split("_");
  const group = [segment, singular(segment)].map((word) => word.split("-"));
  const own = group.find((words) => words.every((word, index) => noun[index] === word));
  return [camelCase(group[0]), camelCase([verb, ...noun.slice(own?.length ?? 0)])];
};

const groups = {};
for (const [path, item] of Object.entries(document.paths)) {
  for (const method of methods) {
    const operation = item[method];
    if (operation === undefined || !path.startsWith("/api/") || OMITTED.has(operation.operationId)) continue;
    const [group, name] = nameOf(path, operation.operationId);
    (groups[group] ??= {})[name] = `${method} ${path}`;
  }
}

// The types of the frames on a socket: those that the client sends, and those that the service sends.
const socketOperations = Object.values(asyncApi.operations).filter(({ channel }) => channel.$ref === "#/channels/socket");
const sentBy = (action) => socketOperations.filter((operation) => operation.action === action).flatMap(({ messages }) => messages);
const replies = socketOperations.flatMap(({ reply }) => reply?.messages ?? []);
const unionOf = (name, messages) => {
  const schemas = messages.map(({ $ref }) => asyncApi.components.messages[$ref.split("/").at(-1)].payload.$ref.split("/").at(-1));
  return `export type ${name} =\n${[...new Set(schemas)]
    .sort()
    .map((schema) => `  | components["schemas"]["${schema}"]`)
    .join("\n")};\n`;
};
const { info, components } = asyncApi;
const generate = (document) => openapiTS(document, { alphabetize: true });
const frames = await generate({ openapi: "3.1.0", info, paths: {}, components: { schemas: components.schemas } });
// Schemas of both documents are in schema.ts alone: in frames.ts the own ones are added to them.
const shared = ({ name }) => JSON.stringify(document.components.schemas[name.text]) === JSON.stringify(components.schemas[name.text]);
const schemas = frames.find((node) => node.name.text === "components").members.find(({ name }) => name.text === "schemas");
const own = ts.factory.createTypeLiteralNode(schemas.type.members.filter((member) => !shared(member)));
schemas.type = ts.factory.createIntersectionTypeNode([ts.factory.createTypeReferenceNode('Shared["schemas"]'), own]);
const unions = [unionOf("Command", sentBy("receive")), unionOf("ServerFrame", [...sentBy("send"), ...replies])];

// Adjacent members that are absent for certain share a line.
const compact = (text) => text.replace(/\?: never;(?:\s+\w+\?: never;)+/g, (lines) => lines.replace(/\s+/g, " "));
const headerOf = (name) => `// Generated from ${name} by \`npm run generate\`.\n`;
const header = headerOf("openapi.json");
const objectOf = (value) => JSON.stringify(value, null, 2).replace(/^(\s*)"(\w+)":/gm, "$1$2:");
// Of each operation its name, its method, and what follows the path of its group, with `*` for an id: pages load this.
const shortOf = ([name, operation]) => [name, operation.replace(/\/api\/[\w-]+/, "").replace(/{\w+}/g, "*")].join(" ").trim();
const short = Object.entries(groups).map(([group, operations]) => [group, Object.entries(operations).map(shortOf).join()]);
const files = {
  "schema.ts": header + compact(astToString(await generate(document))),
  "frames.ts": `${headerOf("asyncapi.json")}import type { components as Shared } from "./schema.js";\n${compact(astToString(frames))}${unions.join("")}`,
  "operations.ts": `${header}/** The method and the path of each operation, by group and name. */\nexport interface Operations ${objectOf(groups)}
/** The same, abbreviated, with a star for each id. */\nexport const operations = ${objectOf(Object.fromEntries(short))};\n`,
};
for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, folder);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`src/generated/${name} is out of date: run \`npm run generate\``);
    process.exitCode = 1;
  }
}
