// A relay of connections to a service that delays them, so that they overtake each other, splits
// what they carry, and cuts them at random points. A seed repeats a run.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns a source of random numbers below a limit (mulberry32). */
export const randomSource =
  (seed: number) =>
  (limit: number): number => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };

/** Milliseconds by which a connection is delayed, at most. */
const LONGEST_DELAY = 8;

/** Starts a relay. `longestRun` is the number of bytes of the service before a cut, at most. */
export const startChaos = async (serviceUrl: string, seed: number, longestRun = 20_000) => {
  const random = randomSource(seed);
  const { port } = new URL(serviceUrl);
  const open = new Set<Socket>();
  const relay = { url: "", cuts: 0, cutsLeft: 0, stop: () => {} };
  const nextRun = () => 1 + random(longestRun);
  let left = nextRun();

  /** Passes on a piece, or its part before the cut. Returns false after a cut. */
  const pass = (near: Socket, far: Socket, data: Buffer): boolean => {
    if (relay.cutsLeft === 0 || data.length < left) {
      left -= data.length;
      near.write(data);
      return true;
    }
    near.write(data.subarray(0, left), () => near.destroy());
    far.destroy();
    left = nextRun();
    relay.cuts += 1;
    relay.cutsLeft -= 1;
    return false;
  };

  const forward = async (near: Socket, far: Socket): Promise<void> => {
    for await (const data of far as AsyncIterable<Buffer>) {
      const split = random(data.length);
      if (!pass(near, far, data.subarray(0, split))) return;
      if (random(4) === 0) await sleep(random(LONGEST_DELAY));
      if (!pass(near, far, data.subarray(split))) return;
    }
    near.end();
  };

  const server = createServer(async (near) => {
    near.on("error", () => {});
    await sleep(random(LONGEST_DELAY));
    const far = connect(Number(port), "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
    near.pipe(far);
    // One of the two has closed.
    forward(near, far).catch(() => {});
  });
  server.on("error", () => {});
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  relay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  relay.stop = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return relay;
};
