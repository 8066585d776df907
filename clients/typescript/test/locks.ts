/** A request for a lock that is held, or that waits. */
interface LockRequest {
  run(): void;
  reject(error: unknown): void;
}

/** Web Locks of one process, for versions of Node.js that have none. */
export const createLocks = (): LockManager => {
  const held = new Map<string, LockRequest>();
  const waiting = new Map<string, LockRequest[]>();
  const request = (name: string, { signal, steal }: LockOptions, use: (lock: null) => unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const queue = waiting.get(name) ?? [];
      waiting.set(name, queue);
      const release = () => {
        if (held.get(name) !== own) return;
        held.delete(name);
        queue.shift()?.run();
      };
      const own: LockRequest = {
        reject,
        run() {
          held.set(name, own);
          Promise.resolve(null).then(use).then(resolve, reject).finally(release);
        },
      };
      signal?.addEventListener("abort", () => {
        if (!queue.includes(own)) return;
        queue.splice(queue.indexOf(own), 1);
        reject(signal.reason);
      });
      if (steal) held.get(name)?.reject(new DOMException("The lock was stolen.", "AbortError"));
      if (steal || !held.has(name)) own.run();
      else queue.push(own);
    });
  return { request } as unknown as LockManager;
};
