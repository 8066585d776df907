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

/**
 * Passes messages between tabs, and elects a leader. Without Web Locks and BroadcastChannel, each
 * tab is on its own and leads itself.
 */
export const joinTabs = <Message>(name: string, { lead, receive }: TabsEvents<Message>): Tabs<Message> => {
  const locks = globalThis.BroadcastChannel && globalThis.navigator?.locks;
  const channel = locks && new BroadcastChannel(name);
  let election = new AbortController();
  if (channel) channel.onmessage = ({ data }) => receive(data as Message);

  const elect = (steal = false): void => {
    if (!locks) return lead(true);
    election.abort();
    const { signal } = (election = new AbortController());
    const hold = () => {
      if (signal.aborted) return undefined;
      lead(true);
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    void locks
      .request(name, steal ? { steal } : { signal }, hold)
      .catch((error: unknown) => error)
      .then((error) => {
        if (signal.aborted) return;
        // A sandboxed page may not use locks.
        if ((error as Error | undefined)?.name === "SecurityError") return lead(true);
        // Another tab has stolen the lock.
        lead(false);
        elect();
      });
  };

  return {
    elect,
    post(message) {
      channel?.postMessage(message);
      receive(message);
    },
    close() {
      election.abort();
      channel?.close();
    },
  };
};
