// Tabs of one browser in one process: each has a page of its own, which sleeps and wakes, and sockets that are counted.
import { expect, vi } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import { createFeed } from "../src/feed.js";
import { createTransport } from "../src/transport.js";
import type { Service } from "./service.js";

const newestSeq = async (service: Service): Promise<number> => (await service.call("GET", "/api/events?limit=1", undefined)).body.headSeq;

export class Tab {
  readonly page = Object.assign(new EventTarget(), { hidden: false });
  /** The positions of the events that it has received. */
  readonly received: number[] = [];
  readonly #opened: NodeWebSocket[] = [];
  /** The page has no token yet. */
  isUnknown = false;
  stop = () => {};
  #know = (_: string) => {};
  readonly #feed;

  private constructor(
    readonly service: Service,
    readonly start: number,
    webSocket?: typeof WebSocket | null,
  ) {
    const tab = this;
    class Socket extends NodeWebSocket {
      constructor(url: string, protocol: string) {
        super(url, protocol);
        tab.#opened.push(this);
      }
    }
    const getToken = () => (tab.isUnknown ? new Promise<string>((resolve) => (tab.#know = resolve)) : service.admin);
    this.#feed = createFeed(createTransport({ url: service.url, getToken }), webSocket ?? (Socket as unknown as typeof WebSocket));
  }

  static async open(service: Service, webSocket?: typeof WebSocket): Promise<Tab> {
    return new Tab(service, await newestSeq(service), webSocket);
  }

  /** The number of all sockets so far. */
  get opened(): number {
    return this.#opened.length;
  }

  /** The number of sockets that are open. */
  get sockets(): number {
    return this.#opened.filter(({ readyState }) => readyState === NodeWebSocket.OPEN).length;
  }

  /** Follows all events since the last one that it has received. */
  follow(): void {
    vi.stubGlobal("document", this.page);
    this.stop = this.#feed.follow("tenant", this.received.at(-1) ?? this.start, (frame) => {
      if (frame.type === "event") this.received.push(frame.event.seq);
    });
  }

  know(): void {
    this.isUnknown = false;
    this.#know(this.service.admin);
  }

  sleep(): void {
    this.page.dispatchEvent(new Event("freeze"));
  }

  wake(): void {
    this.page.dispatchEvent(new Event("resume"));
  }

  look(): void {
    this.page.dispatchEvent(new Event("visibilitychange"));
  }

  /** It receives all events since it was opened, each once. */
  async expectAll(): Promise<void> {
    await this.service.newAgent();
    const count = (await newestSeq(this.service)) - this.start;
    await expect.poll(() => this.received).toEqual(Array.from({ length: count }, (_, index) => this.start + 1 + index));
  }

  /** It follows nothing, and holds no socket. */
  async expectNothing(): Promise<void> {
    await expect.poll(() => this.sockets).toBe(0);
    const count = this.received.length;
    await this.service.newAgent();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([this.sockets, this.received.length]).toEqual([0, count]);
  }

  async expectToLead(): Promise<void> {
    await expect.poll(() => this.sockets).toBe(1);
    await this.expectAll();
  }

  async expectToFollow(leader: Tab): Promise<void> {
    for (const tab of [this, leader]) await tab.expectAll();
    expect([this.sockets, leader.sockets]).toEqual([0, 1]);
  }
}
