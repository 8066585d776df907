import { ConnectionError } from "./errors.js";

/** The service sends at least a comment every 15 seconds. */
const SILENCE = 45_000;

/** An event of a stream (WHATWG server-sent events). */
export interface ServerSentEvent {
  id: string | undefined;
  /** The name of the event; empty without one. */
  event: string;
  data: string;
}

/** Reads the next piece; throws if the connection is silent for too long. */
const readPiece = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError("the connection is silent")), SILENCE);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Returns the events of a response, each once its blank line has arrived. `onId` receives each id,
 * also those between events.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onId: (id: string) => void = () => {},
): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await readPiece(reader);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line end.
      const end = text.endsWith("\r") ? text.length - 1 : text.length;
      const lines = text.slice(0, end).split(/\r\n|\n|\r/);
      text = (lines.pop() ?? "") + text.slice(end);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) {
            if (id !== undefined) onId(id);
            yield { id, event, data: data.join("\n") };
          }
          event = "";
          data = [];
          continue;
        }
        const [, field = "", content = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === "data") data.push(content);
        else if (field === "event") event = content;
        else if (field === "id") {
          id = content;
          // The id of an event counts once the whole event has arrived.
          if (event === "" && data.length === 0) onId(id);
        }
      }
    }
  } finally {
    // Closes the connection if the caller has stopped reading.
    await reader.cancel().catch(() => {});
  }
}
