import { report } from "./report.js";

interface TabsEvents<Message> {
  /** This tab has become the leader, or another tab has taken its place. */
  lead(isLeader: boolean): void;
  receive(message: Message): void;
}

/** The tabs of a browser that use the same name. */
export interface Tabs<Message> {
  /** Leads as soon as no other tab does, or at once with `steal`. */
  elect(steal?: boolean): void;
  /** Sends a message to all tabs, including this one. */
  post(message: Message): void;
  close(): void;
}

/** What is reported where Web Locks or BroadcastChannel fail. */
const ALONE = "Tabs share no connection";

/**
 * Passes messages between tabs, and elects a leader. Where Web Locks or BroadcastChannel are missing
 * or fail, each tab is on its own and leads itself.
 */
export const joinTabs = <Message>(name: string, { lead, receive }: TabsEvents<Message>): Tabs<Message> => {
  let locks: LockManager | undefined;
  let channel: BroadcastChannel | undefined;
  let election = new AbortController();
  try {
    locks = globalThis.navigator?.locks;
    channel = locks && globalThis.BroadcastChannel && new BroadcastChannel(name);
    if (channel) channel.onmessage = ({ data }) => receive(data as Message);
  } catch (error) {
    report(ALONE, error);
  }

  const close = (): void => {
    election.abort();
    channel?.close();
    channel = undefined;
  };

  const beAlone = (error: unknown): void => {
    report(ALONE, error);
    close();
    lead(true);
  };

  const elect = async (steal = false): Promise<void> => {
    if (!channel) return lead(true);
    election.abort();
    const { signal } = (election = new AbortController());
    let isHeld = false;
    // The lock is held until its promise is resolved. The browser releases that of a tab that crashes.
    const hold = () =>
      new Promise<void>((release) => {
        // Also if the election ends while this tab begins to lead.
        signal.addEventListener("abort", () => release());
        if (signal.aborted) return release();
        lead(true);
        isHeld = true;
      });
    try {
      // biome-ignore lint/style/noNonNullAssertion: the channel is made only beside locks.
      await locks!.request(name, steal ? { steal } : { signal }, hold);
    } catch (error) {
      if (signal.aborted) return;
      // Any other error would come again: a sandboxed page, for example, may not use locks.
      const isStolen = isHeld && (error as Error | undefined)?.name === "AbortError";
      if (!isStolen) return beAlone(error);
      lead(false);
      void elect();
    }
  };

  return {
    elect,
    post(message) {
      try {
        channel?.postMessage(message);
      } catch (error) {
        beAlone(error);
      }
      // A channel does not return messages to their sender.
      receive(message);
    },
    close,
  };
};
