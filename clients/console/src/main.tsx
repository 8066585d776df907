import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/overlays.css";
import "./styles/lists.css";
import "./styles/pages.css";
import "./styles/chat.css";
import "./styles/markdown.css";
import "./styles/files.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { ConnectionError } from "agent-service-client";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { SessionProvider } from "./session/session.js";
import { applyTheme } from "./theme.js";
import { Toasts } from "./ui/toast.js";

/** The pause in milliseconds before the service is asked again after it could not be reached. */
const PAUSE = 3_000;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client repeats requests itself. Then the page shows the error, and goes on trying.
      retry: (_, error) => error instanceof ConnectionError,
      retryDelay: PAUSE,
      staleTime: 5_000,
    },
  },
});

applyTheme();
createRoot(document.getElementById("root") as HTMLElement).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queries}>
      <SessionProvider>
        <App />
      </SessionProvider>
      <Toasts />
    </QueryClientProvider>
  </CSPProvider>,
);
