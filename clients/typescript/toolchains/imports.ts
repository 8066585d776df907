// Every entry whose types need no other library than React.
export * as client from "agent-service-client";
export * as hooks from "agent-service-client/react";
export * as regions from "agent-service-client/regions";
export * as stores from "agent-service-client/stores";
export * as tanstack from "agent-service-client/tanstack";
