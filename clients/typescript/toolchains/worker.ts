import { createClient } from "agent-service-client";

type Env = { SERVICE: string; KEY: string; AGENT: string; MESSAGE: string };

export default {
  fetch(_request, { SERVICE, KEY, AGENT, MESSAGE }) {
    const service = createClient({ url: SERVICE, apiKey: KEY });
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      async start(controller) {
        for await (const part of service.chat({ agentId: AGENT, message: MESSAGE })) {
          if (part.type === "reply.delta") controller.enqueue(encoder.encode(part.text));
        }
        controller.close();
      },
    });
    return new Response(body, { headers: { "Content-Encoding": "identity" } }); // compression would hold it back
  },
} satisfies ExportedHandler<Env>;
