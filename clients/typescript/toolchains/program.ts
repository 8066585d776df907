// A program for Node.js, Deno and Bun, as an ES module or compiled to CommonJS.
import { createClient, randomId } from "agent-service-client";

const main = async () => {
  const service = createClient({ url: process.env.SERVICE!, apiKey: process.env.KEY! });
  const chat = service.conversation({ agentId: process.env.AGENT!, key: randomId() });
  chat.subscribe(() => console.log(chat.getSnapshot().messages.at(-1)?.text));
  await chat.load();
  await chat.send(process.env.MESSAGE!);
  chat.close();
};
void main();
