/** An event of a stream (WHATWG server-sent events). */
export interface ServerSentEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Returns the events of a response, each once its blank line has arrived. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let id: string | undefined;
  let event = "message";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line end.
      const end = text.endsWith("\r") ? text.length - 1 : text.length;
      const lines = text.slice(0, end).split(/\r\n|\n|\r/);
      text = (lines.pop() ?? "") + text.slice(end);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { id, event, data: data.join("\n") };
          event = "message";
          data = [];
          continue;
        }
        const [, field = "", content = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === "data") data.push(content);
        else if (field === "event") event = content;
        else if (field === "id") id = content;
      }
    }
  } finally {
    // Closes the connection if the caller has stopped reading.
    await reader.cancel().catch(() => {});
  }
}
