// Reads an AsyncAPI document from its input and prints the errors that the official AsyncAPI parser
// finds.
import { text } from "node:stream/consumers";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(await text(process.stdin));
const found = diagnostics.map(({ severity, code, message, path }) => ({
  severity,
  code: String(code),
  message,
  path: path.join("/"),
}));
const names = (things) => things.all().map((thing) => thing.id()).sort();
console.log(
  JSON.stringify({
    diagnostics: found,
    channels: document ? names(document.channels()) : [],
    operations: document ? names(document.operations()) : [],
    messages: document ? names(document.components().messages()) : [],
  }),
);
