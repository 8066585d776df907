// A relay of connections to a port, which can cut them.
import { connect, createServer } from "node:net";

export const startRelay = async (port) => {
  const open = new Set();
  let isClosed = false;
  let left = Infinity;
  let next = Infinity;
  // The position after the event at which to cut, if it is in the data.
  const cutIn = (data) => {
    for (let at = data.indexOf("\n\n"); at >= 0; at = data.indexOf("\n\n", at + 2)) {
      left -= 1;
      if (left === 0) return at + 2;
    }
    return undefined;
  };
  const relay = {
    url: "",
    cuts: 0,
    // Cuts all connections.
    cut() {
      relay.cuts += 1;
      for (const socket of open) socket.destroy();
    },
    // Cuts all connections, and new ones until `accept`.
    refuse() {
      isClosed = true;
      relay.cut();
    },
    accept() {
      isClosed = false;
    },
    // Cuts the connection that receives the last of so many events from now on, and with `again`
    // every connection that receives so many events after a cut.
    cutAfter(events, { again = false } = {}) {
      left = events;
      next = again ? events : Infinity;
    },
  };
  const server = createServer((near) => {
    if (isClosed) return near.destroy();
    const far = connect(port, "127.0.0.1");
    near.pipe(far);
    far.on("data", (data) => {
      const at = cutIn(data);
      if (at === undefined) return near.write(data);
      left = next;
      relay.cuts += 1;
      near.write(data.subarray(0, at), () => near.destroy());
      return far.destroy();
    });
    far.on("end", () => near.end());
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  relay.url = `http://127.0.0.1:${server.address().port}`;
  relay.stop = () => {
    relay.refuse();
    server.close();
  };
  return relay;
};
