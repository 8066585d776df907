// Programs pass `undefined` for what is optional, such as `apiKey: process.env.KEY`. With
// `exactOptionalPropertyTypes`, only types that name `undefined` accept it.
import type {
  ChatMessage,
  ClientOptions,
  ConversationMessage,
  ConversationOptions,
  ConversationState,
  EventsOptions,
  FileOptions,
  MessageFile,
  RequestOptions,
  Rest,
  SendOptions,
  ServiceError,
  ToolCall,
  UploadOptions,
} from "agent-service-client";
import type {
  AgentState,
  ConversationFilter,
  ConversationsState,
  EventFilter,
  EventsHookOptions,
  EventsState,
} from "agent-service-client/react";

/** The optional members that refuse `undefined`. */
type Refusing<Type> = Type extends unknown
  ? { [Name in keyof Type]-?: {} extends Pick<Type, Name> ? (undefined extends Required<Type>[Name] ? never : Name) : never }[keyof Type]
  : never;
type Options =
  | ClientOptions
  | ConversationFilter
  | ConversationOptions
  | EventFilter
  | EventsHookOptions
  | EventsOptions
  | FileOptions
  | RequestOptions
  | SendOptions
  | UploadOptions;
type States = AgentState | ConversationMessage | ConversationState | ConversationsState | EventsState | MessageFile | ToolCall;
type Bodies =
  | Parameters<Rest["agents"]["create"]>[0]
  | Parameters<Rest["conversations"]["list"]>[0]
  | Parameters<Rest["conversations"]["patch"]>[1];

/** The members of all of them accept it. */
export const refusing: [Refusing<Options | States | ChatMessage | Bodies>] extends [never] ? true : false = true;
/** A type whose member does not. */
export const isFound: Refusing<{ missing?: string }> = "missing";

/** Whatever a hook has failed with, pages show its title, and programs read its code. */
export const shown = ({ error }: ConversationState | ConversationsState | AgentState | EventsState): string => error?.title ?? "";
export const logged = ({ code, title, detail, message, retryable, retryAfter }: ServiceError): string =>
  [code, title, detail, message, retryable, retryAfter].join();
