// Generated from asyncapi.json by `npm run generate`.
import type { components as Shared } from "./schema.js";
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: Shared["schemas"] & {
        /**
         * @description `act`: answer tool calls of a turn that waits for them. The turn goes on with the last answer; its
         *     events and live data follow as for `chat`.
         */
        ActFrame: {
            /** @description The answers: all of them are stored, or none. */
            actions: components["schemas"]["ActionItem"][];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @description The turn. */
            turnId: string;
            /** @constant */
            type: "act";
        };
        /** @description `cancel`: cancel a queued or running turn. */
        CancelFrame: {
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @description The turn. */
            turnId: string;
            /** @constant */
            type: "cancel";
        };
        /** @description The replay of a channel has reached the present. */
        CaughtUpFrame: {
            /** @description The channel. */
            channel: components["schemas"]["Channel"];
            /** @description The position up to which the channel has received all events. */
            seq: components["schemas"]["Seq"];
            /** @constant */
            type: "caughtUp";
        };
        /** @description A channel: `tenant`, `agent:<id>` or `conversation:<id>`. */
        Channel: string;
        /** @description The state of one channel of `connect`. */
        ChannelState: {
            /** @description The channel as requested. */
            channel: string;
            /** @description The reason why the channel is not subscribed. */
            error?: components["schemas"]["ProblemBody"];
            /** @description True if the channel is subscribed. */
            ok: boolean;
            /** @description True if all events after `since` follow. False without `since`, and when a `resync` follows. */
            recovered: boolean;
        };
        /** @description `chat`: send a message to an agent. Events and live data of the conversation follow until the turn has ended. */
        ChatFrame: {
            /** @description The agent that is to reply. Required, except with `conversationId`. */
            agentId?: string;
            /**
             * @description Your own id of the message: visible ASCII characters. It is returned with the message, its
             *     turn and their events.
             */
            clientMessageId?: string | null;
            /**
             * @description Tools that you add for this turn, and run yourself: the turn waits for their output. At most 32 KiB
             *     of JSON. Users may add them only if the agent has `config.allowClientTools`.
             */
            clientTools?: components["schemas"]["ClientTool"][];
            /**
             * @description What models are told about the conversation, if this message creates it; ignored otherwise. It
             *     requires `conversations:write`, and of users `conversations:all`.
             */
            context?: string | null;
            /**
             * @description The conversation to continue. A new one is created when this and `conversationKey` are absent
             *     or null.
             */
            conversationId?: string | null;
            /**
             * @description Your own name for the conversation, unique for the agent and the user. The first chat with it
             *     creates the conversation, and later ones continue it. Neither `.` nor `..`.
             */
            conversationKey?: string | null;
            /** @description The ids of the files of the message, each once. A file that another conversation uses cannot be used. */
            files?: string[];
            /**
             * @description With `store: false`: the messages before this one, oldest first. The agent's
             *     `config.history` limits them. Those of users all have the role `user`.
             */
            history?: components["schemas"]["HistoryItem"][];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @description The same as the header `Idempotency-Key`: a repeated chat with the same key starts no second turn. */
            idempotencyKey?: string;
            /**
             * @description An instruction of the operator in place of a message of the user: the agent writes first. Only of keys,
             *     clients, and users with `conversations:all`. The agent needs a model.
             */
            instruction?: string | null;
            /** @description The text of the message. Required, except with `files`, and if `supersedes` is an agent's message. */
            message?: string;
            /** @description Pairs of strings for the client's own use, stored with the turn. */
            metadata?: components["schemas"]["Metadata"];
            /** @description The behaviour while another turn of the conversation is in progress. Default: `queue`. */
            onBusy?: components["schemas"]["WhenBusy"];
            /**
             * @description The JSON Schema (2020-12) that the reply must satisfy, in place of the `config.responseSchema` of the agent:
             *     an object, at most 16 KiB, nested at most 16 deep, without references to other documents. The reply then
             *     has an `output`. Default, if `supersedes` is given: the schema that came with the superseded message.
             */
            responseSchema?: Record<string, never>;
            /**
             * @description Stores nothing when false: there is no conversation, no turn to read later and no event, and
             *     the turn is cancelled when the connection is closed. With an `Idempotency-Key` only the answer is
             *     stored, for repetitions, and the turn is not cancelled. Only tools that change nothing and need no
             *     approval are called. Users may send false only if the agent has `config.allowUnrecorded`.
             *     Default: true. Only on `POST /api/chat`.
             */
            store?: boolean;
            /**
             * @description A message of the conversation that this turn replaces, together with all later ones: a user
             *     message, which `message` replaces, or an agent's message, which is generated again.
             */
            supersedes?: string | null;
            /** @description The title of the conversation, if this message creates it; ignored otherwise. */
            title?: string | null;
            /** @constant */
            type: "chat";
            /**
             * @description The user who sends the message. A new conversation belongs to this user; an existing one
             *     must belong to this user.
             */
            userId?: string | null;
        };
        /** @description `connect`: the first command on a socket. */
        ConnectFrame: {
            /** @description The channels to subscribe to. */
            channels: components["schemas"]["Channel"][];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /**
             * Format: int64
             * @description A cursor: replay the events after this position in each channel.
             */
            since?: number;
            /** @description An API key or access token, if the upgrade carried no credential. */
            token?: string;
            /** @constant */
            type: "connect";
        };
        /** @description The reply to `connect`: the caller's tenant, the head of the log, the limits, and the state of each channel. */
        ConnectReplyFrame: {
            /**
             * Format: int64
             * @description The command's `id`; null if it could not be read.
             */
            id: number | null;
            /** @constant */
            ok: true;
            result: components["schemas"]["ConnectResult"];
            /** @constant */
            type: "reply";
        };
        /** @description The result of `connect`. */
        ConnectResult: {
            /** @description The state of each requested channel, in the order of the request. */
            channels: components["schemas"]["ChannelState"][];
            /** @description The id of the connection, and the prefix of each `requestId` on it. */
            connectionId: string;
            /** @description The position of the newest event in the log. */
            headSeq: components["schemas"]["Seq"];
            /** @description The limits of the connection. */
            limits: components["schemas"]["SocketLimits"];
            /**
             * Format: int64
             * @description The interval between pings of the server, in milliseconds.
             */
            pingIntervalMs: number;
            /** @description The region that holds the connection; absent if it has no name. */
            region?: string;
            /** @description The tenant of the caller. */
            tenantId: components["schemas"]["TenantId"];
        };
        /** @description The reply to every other command: it was executed. */
        EmptyReplyFrame: {
            /**
             * Format: int64
             * @description The command's `id`; null if it could not be read.
             */
            id: number | null;
            /** @constant */
            ok: true;
            result: components["schemas"]["EmptyResult"];
            /** @constant */
            type: "reply";
        };
        /** @description An empty result. */
        EmptyResult: Record<string, never>;
        /** @description The reply to a command that was not executed: the problem. `id` is null if it could not be read. */
        ErrorReplyFrame: {
            error: components["schemas"]["ProblemBody"];
            /**
             * Format: int64
             * @description The command's `id`; null if it could not be read.
             */
            id: number | null;
            /** @constant */
            ok: false;
            /** @constant */
            type: "reply";
        };
        /** @description An event. Each channel receives its events in order and once. */
        EventFrame: {
            /** @description The subscribed channels that the event belongs to. */
            channels: components["schemas"]["Channel"][];
            /** @description The event. */
            event: components["schemas"]["Event"];
            /** @constant */
            type: "event";
        };
        /** @description The server is about to close the socket. */
        GoodbyeFrame: {
            /**
             * Format: int32
             * @description The close code.
             */
            code: number;
            /** @description The close code as a word. */
            reason: string;
            /**
             * Format: int64
             * @description Milliseconds to wait before connecting again; null: do not connect again.
             */
            reconnectAfterMs?: number | null;
            /** @constant */
            type: "goodbye";
        };
        /** @description The reply so far, which replaces the text that you have. */
        LiveReplySnapshot: {
            /**
             * Format: int32
             * @description The number of the attempt to run the turn, if it is not the first.
             */
            attempt?: number;
            /** @description Its conversation. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The text. */
            text: string;
            /** @description The length of the text, in bytes of UTF-8. */
            to: number;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "reply.snapshot";
        };
        /** @description A user has started or stopped typing. */
        LiveTypingUpdated: {
            /** @description The principal that is typing. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The conversation. */
            conversationId: components["schemas"]["ConversationId"];
            /** @constant */
            type: "typing.updated";
            /** @description True if the user is typing. */
            typing: boolean;
        };
        /** @description `ping`: check that the server responds. */
        PingFrame: {
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @constant */
            type: "ping";
        };
        /** @description A problem, with the members that only some codes have. */
        ProblemBody: components["schemas"]["Problem"] & {
            /** @description For `action_decided`: the status of the tool call. */
            callStatus?: string;
            /** @description For a chat whose turn was stored: its conversation, also if the chat created it. */
            conversationId?: components["schemas"]["ConversationId"];
            /**
             * Format: int64
             * @description For `cursor_expired`: the `seq` of the oldest event in the log.
             */
            firstSeq?: number;
            /**
             * Format: int64
             * @description For `cursor_expired`: the `seq` of the newest event in the log.
             */
            headSeq?: number;
            /** @description For a chat whose turn was stored: the turn. */
            turnId?: components["schemas"]["TurnId"];
            /** @description The exceeded rate limits, by their names in `RateLimit-Policy`. */
            violatedPolicies?: string[];
        };
        /** @description The next part of the model's reasoning. Apply it if `from` is the length that you have; from 0, it begins anew. */
        ReasoningDeltaFrame: {
            event: components["schemas"]["ChatReasoningDelta"];
            /** @constant */
            type: "live";
        };
        /** @description `refresh`: continue with another credential of the same principal. */
        RefreshFrame: {
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @description An API key or access token. */
            token: string;
            /** @constant */
            type: "refresh";
        };
        /**
         * @description The next part of a reply. Apply it only if `from` is the length of the text that you have,
         *     in bytes of UTF-8.
         */
        ReplyDeltaFrame: {
            event: components["schemas"]["ChatReplyDelta"];
            /** @constant */
            type: "live";
        };
        /** @description The reply so far, which replaces the text that you have. */
        ReplySnapshotFrame: {
            event: components["schemas"]["LiveReplySnapshot"];
            /** @constant */
            type: "live";
        };
        /**
         * @description The channel cannot replay the events after the cursor and continues from the present: reload
         *     the state with plain requests.
         */
        ResyncFrame: {
            /** @description The channel. */
            channel: components["schemas"]["Channel"];
            /** @description The position of the oldest event in the log. */
            firstSeq: components["schemas"]["Seq"];
            /** @description The position from which the channel continues. */
            headSeq: components["schemas"]["Seq"];
            /** @description The reason. */
            reason: components["schemas"]["ResyncReason"];
            /** @constant */
            type: "resync";
        };
        /**
         * @description The reason why a channel continues from the present.
         * @enum {string}
         */
        ResyncReason: "retention" | "limit";
        /** @description A check that the client responds, sent with each protocol ping. Any frame is a valid answer. */
        ServerPingFrame: {
            /** @constant */
            type: "ping";
        };
        /** @description `subscribe`: subscribe to one more channel, or restart one from a cursor. */
        SubscribeFrame: {
            /** @description The channel to subscribe to. */
            channel: components["schemas"]["Channel"];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /**
             * Format: int64
             * @description A cursor: replay the events after this position.
             */
            since?: number;
            /** @constant */
            type: "subscribe";
        };
        /** @description The reply to `subscribe`: the head of the log, and whether all events after `since` follow. */
        SubscribeReplyFrame: {
            /**
             * Format: int64
             * @description The command's `id`; null if it could not be read.
             */
            id: number | null;
            /** @constant */
            ok: true;
            result: components["schemas"]["SubscribeResult"];
            /** @constant */
            type: "reply";
        };
        /** @description The result of `subscribe`. */
        SubscribeResult: {
            /** @description The channel. */
            channel: components["schemas"]["Channel"];
            /** @description The position of the newest event in the log. */
            headSeq: components["schemas"]["Seq"];
            /** @description True if all events after `since` follow. False without `since`, and when a `resync` follows. */
            recovered: boolean;
        };
        /** @description The engine calls a tool. */
        ToolCalledFrame: {
            event: components["schemas"]["ChatToolCalled"];
            /** @constant */
            type: "live";
        };
        /** @description A tool call has ended. Calls end in the order in which they started. */
        ToolReturnedFrame: {
            event: components["schemas"]["ChatToolReturned"];
            /** @constant */
            type: "live";
        };
        /** @description The reply to `chat`, `cancel` and `act`: the turn. */
        TurnReplyFrame: {
            /**
             * Format: int64
             * @description The command's `id`; null if it could not be read.
             */
            id: number | null;
            /** @constant */
            ok: true;
            result: components["schemas"]["TurnResult"];
            /** @constant */
            type: "reply";
        };
        /** @description The result of `chat`, `cancel` and `act`. */
        TurnResult: {
            /** @description True if an earlier chat with the same idempotency key started the turn. */
            replayed?: boolean;
            /** @description The current state of the turn. */
            turn: components["schemas"]["Turn"];
        };
        /** @description `typing`: the user starts or stops typing in a conversation. */
        TypingFrame: {
            /** @description The conversation. */
            conversationId: string;
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @constant */
            type: "typing";
            /** @description True if the user is typing. */
            typing: boolean;
        };
        /** @description A user has started or stopped typing. */
        TypingUpdatedFrame: {
            event: components["schemas"]["LiveTypingUpdated"];
            /** @constant */
            type: "live";
        };
        /** @description The subscription of a channel has ended. */
        UnsubscribedFrame: {
            /** @description The channel. */
            channel: components["schemas"]["Channel"];
            /** @description The reason. */
            reason: components["schemas"]["UnsubscribeReason"];
            /** @constant */
            type: "unsubscribed";
        };
        /** @description `unsubscribe`: end the subscription of a channel. */
        UnsubscribeFrame: {
            /** @description The channel to unsubscribe from. */
            channel: components["schemas"]["Channel"];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @constant */
            type: "unsubscribe";
        };
        /**
         * @description The reason why a subscription has ended.
         * @enum {string}
         */
        UnsubscribeReason: "deleted";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
export type Command =
  | components["schemas"]["ActFrame"]
  | components["schemas"]["CancelFrame"]
  | components["schemas"]["ChatFrame"]
  | components["schemas"]["ConnectFrame"]
  | components["schemas"]["PingFrame"]
  | components["schemas"]["RefreshFrame"]
  | components["schemas"]["SubscribeFrame"]
  | components["schemas"]["TypingFrame"]
  | components["schemas"]["UnsubscribeFrame"];
export type ServerFrame =
  | components["schemas"]["CaughtUpFrame"]
  | components["schemas"]["ConnectReplyFrame"]
  | components["schemas"]["EmptyReplyFrame"]
  | components["schemas"]["ErrorReplyFrame"]
  | components["schemas"]["EventFrame"]
  | components["schemas"]["GoodbyeFrame"]
  | components["schemas"]["ReasoningDeltaFrame"]
  | components["schemas"]["ReplyDeltaFrame"]
  | components["schemas"]["ReplySnapshotFrame"]
  | components["schemas"]["ResyncFrame"]
  | components["schemas"]["ServerPingFrame"]
  | components["schemas"]["SubscribeReplyFrame"]
  | components["schemas"]["ToolCalledFrame"]
  | components["schemas"]["ToolReturnedFrame"]
  | components["schemas"]["TurnReplyFrame"]
  | components["schemas"]["TypingUpdatedFrame"]
  | components["schemas"]["UnsubscribedFrame"];
