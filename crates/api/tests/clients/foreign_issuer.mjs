// An external identity provider: `node foreign_issuer.mjs keycloak|auth0|entra`.
//
// Prints its description in one line of JSON once it listens, and then answers each input line with
// one line: {"command": "mint", …}, {"command": "rotate", "keep": true}, {"command": "fall"},
// {"command": "rise"}, {"command": "requests"}; issuer_server.mjs describes them. Ends when its
// input ends.

import { createInterface } from 'node:readline';

import { imitations } from './issuer_imitations.mjs';
import { IssuerServer } from './issuer_server.mjs';

// The provider's log lines would mix with the responses.
console.info = console.warn = () => {};

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const imitation = imitations[process.argv[2]];
if (imitation === undefined) {
  throw new Error(`which one? ${Object.keys(imitations).join(', ')}`);
}
const server = await IssuerServer.start(imitation);
const commands = {
  mint: (order) => server.mint(order),
  rotate: (order) => server.rotate(order),
  fall: () => server.fall(),
  rise: () => server.rise(),
  requests: () => server.requests(),
};
say(server.description());

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { command, ...order } = JSON.parse(line);
    say(await commands[command](order));
  } catch (error) {
    say({ error: String(error?.stack ?? error) });
  }
}
process.exit();
