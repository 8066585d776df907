// Runs the JavaScript of the documentation, unchanged, behind a relay that can cut every connection.
// Orders come in lines of JSON, and every answer is one line of JSON.
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket;

const open = new Set();
let cuts = 0;

const relay = (port) =>
  new Promise((resolve) => {
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [one, other] of [[near, far], [far, near]]) {
        open.add(one);
        one.pipe(other);
        one.on("error", () => {});
        one.on("close", () => {
          open.delete(one);
          other.destroy();
        });
      }
    });
    server.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });

// Lets nothing more through on the connections that are open, and closes none.
const freeze = () => {
  cuts += 1;
  for (const socket of open) {
    socket.unpipe();
    socket.pause();
  }
};

// Lets the snippets' watchdogs bark so many times sooner.
const hurry = (times) => {
  const real = globalThis.setTimeout;
  const sooner = (after) => (after === 40_000 ? after / times : after);
  globalThis.setTimeout = (act, after, ...rest) => real(act, sooner(after), ...rest);
};

const cut = () => {
  cuts += 1;
  for (const socket of open) socket.destroy();
};

// The entries that the snippets have reported, and the waiters for more.
const entries = [];
let look = () => {};
const report = (entry) => {
  entries.push({ cuts, ...entry });
  look();
};
const until = (holds) =>
  new Promise((resolve) => {
    look = () => holds() && resolve();
    look();
  });
const outcome = (promise) =>
  promise.then(
    (reply) => ({ reply }),
    (error) => ({ refused: error.problem?.code ?? error.message }),
  );
const snippet = (source) => import(`data:text/javascript,${encodeURIComponent(source)}`);

let service;
let chatted;

const orders = {
  async hurry({ times }) {
    hurry(times);
  },
  async relay({ port }) {
    service = `http://127.0.0.1:${await relay(port)}`;
  },
  // Begins a chat; answers once the turn, or with `awaitText` some text, was shown.
  async chat({ source, token, question, awaitText }) {
    const { chat } = await snippet(source);
    chatted = chat(service, async () => token, question, ({ turnId, text }) => report({ turnId, text }));
    chatted.catch((error) => report({ error: String(error) }));
    await until(() => (awaitText ? entries.some(({ text }) => text) : entries.length > 0));
  },
  async chatted() {
    return { entries, reply: await chatted };
  },
  // A whole chat: its outcome, and the texts that the page showed.
  async ask({ source, token, question }) {
    const { chat } = await snippet(source);
    const shown = [];
    const show = ({ text }) => shown.push(text);
    return { ...(await outcome(chat(service, async () => token, question, show))), shown };
  },
  // A chat with a service that cannot be reached, or whose streams end too early, until the page
  // gives up at the last of so many calls.
  async askInVain({ source, calls }) {
    const { chat } = await snippet(source);
    const real = globalThis.fetch;
    const page = new AbortController();
    let made = 0;
    globalThis.fetch = async () => {
      made += 1;
      if (made === calls) page.abort();
      if (made % 2) throw new TypeError("fetch failed");
      return new Response(new Blob([]));
    };
    const ended = await outcome(chat(service, async () => "", {}, () => {}, page.signal));
    globalThis.fetch = real;
    return { ...ended, calls: made };
  },
  async talk({ source, token, agent, message }) {
    // A script, not a module, because it is also for a browser's console.
    const { talk } = await snippet(`${source}\nexport { talk };`);
    talk(service, token, agent, message, (frame) => {
      const { type } = frame.event ?? frame;
      report({ frame: type === "reply" ? `reply ${frame.id}` : type });
    });
  },
  async follow({ source, token, channels, since }) {
    const { follow, ticket } = await snippet(source);
    follow(service, () => ticket(service, async () => token), channels, since, {
      event: (event) => report({ seq: event.seq, type: event.type }),
      reply: (turnId, text) => report({ text }),
      reload: () => report({ reload: true }),
      drop: (channel, reason) => report({ drop: channel, reason }),
      end: (reason) => report({ end: reason }),
    });
  },
  // Cuts every connection, and waits until an entry arrives over a new one.
  async cut() {
    cut();
    await until(() => entries.at(-1)?.cuts === cuts);
  },
  // Cuts the connections without closing them, and waits until an event arrives over a new one.
  async freeze() {
    freeze();
    await until(() => entries.at(-1)?.cuts === cuts);
  },
  async until({ member, value }) {
    await until(() => entries.some((entry) => entry[member] === value));
    return { entries };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  try {
    console.log(JSON.stringify((await orders[order.do](order)) ?? {}));
  } catch (error) {
    console.log(JSON.stringify({ error: error.stack }));
  }
}
process.exit();
