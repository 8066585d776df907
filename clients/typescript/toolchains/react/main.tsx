import { randomId } from "agent-service-client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat";

location.hash ||= randomId();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat name={location.hash.slice(1)} />
  </StrictMode>,
);
