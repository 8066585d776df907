/** States that follow the service, for user interfaces of any framework. */

export type { LiveState } from "../state.js";
export { type AgentState, liveAgent, type Profile } from "./agent.js";
export {
  type ConversationFilter,
  type ConversationInfo,
  type ConversationsState,
  type LiveConversations,
  liveConversations,
} from "./conversations.js";
export { type EventFilter, type EventsState, liveEvents } from "./events.js";
