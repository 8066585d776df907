/** The service sends at least a comment every 15 seconds. */
const SILENCE = 45_000;

/** An event of a stream of the service, whose data is one line (WHATWG server-sent events). */
export interface ServerSentEvent {
  id?: string;
  /** The name of the event; empty without one. */
  event: string;
  data: string;
}

/**
 * Returns the events of a response, each once its blank line has arrived. `onId` receives each id,
 * also those between events.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array> | null | undefined,
  onId: (id: string) => void = () => {},
): AsyncGenerator<ServerSentEvent, void> {
  if (body === null) return;
  if (!body?.getReader) throw new ReferenceError("this `fetch` has no streams, unlike `expo/fetch`.");
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let silence: ReturnType<typeof setTimeout> | undefined;
  let text = "";
  let event: ServerSentEvent = { event: "", data: "" };
  try {
    for (;;) {
      // A silent connection is dead: it is read no further.
      silence = setTimeout(() => void reader.cancel(), SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(silence);
      if (done) return;
      // A carriage return at the end may be the first half of a line end.
      const lines = (text + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      text = lines.pop() ?? "";
      for (const line of lines) {
        // Unlike `.`, this matches the line separators of Unicode, which JSON can contain.
        const [, field, content = ""] = /^(\w+): ?([^]*)/.exec(line) ?? [];
        if (field === "data") event.data += content;
        // Nobody reads a further field, such as `retry`.
        else if (field) event[field as "event" | "id"] = content;
        const isEnd = line === "";
        // The id of an event counts once the whole event has arrived.
        if (event.id !== undefined && (isEnd || !event.event)) onId(event.id);
        if (isEnd && event.data) yield event;
        if (isEnd) event = { event: "", data: "" };
      }
    }
  } finally {
    clearTimeout(silence);
    // Closes the connection if the caller has stopped reading.
    await reader.cancel().catch(() => {});
  }
}
