import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/overlays.css";
import "./styles/lists.css";
import "./styles/pages.css";
import "./styles/chat.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { SessionProvider } from "./session/session.js";
import { applyTheme } from "./theme.js";
import { Toasts } from "./ui/toast.js";

// The client repeats requests itself.
const queries = new QueryClient({
  queryCache: new QueryCache(),
  defaultOptions: { queries: { retry: false, staleTime: 5_000 } },
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
