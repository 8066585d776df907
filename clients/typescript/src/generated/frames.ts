// Generated from asyncapi.json by `npm run generate`.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An agent as clients receive it and as the event log stores it. */
        Agent: {
            /**
             * @description The agent's capabilities. A capability with the name of a tool gives the agent that tool;
             *     any other only describes the agent.
             */
            capabilities: string[];
            /** @description The agent's configuration. */
            config: components["schemas"]["AgentConfig"];
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The agent's id, in paths and in chat. */
            id: components["schemas"]["AgentId"];
            /** @description Display name. */
            name: string;
            /** @description The agent's personality, as free text. */
            personality: string;
            /** @description The time of the last change. */
            updatedAt: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description 1, 2, 3 …: increases by one with every change that has an effect.
             */
            version: number;
        };
        /** @description The configuration of an agent. Absent members stay absent and have their default effect. */
        AgentConfig: {
            /**
             * @description Name of the reply engine (`GET /api/engines` lists them). Default: the server's default
             *     engine, which is the one that the operator chose, otherwise `llm` if a model is configured,
             *     otherwise `rules`. This also applies to an agent that has `rules`: set `rules` here to make
             *     sure that they reply. A name that the server does not know is rejected, unless the agent had
             *     it before.
             */
            engine?: string;
            /** @description Reply of the rule engine if no rule matches. Default: built from name and capabilities. */
            fallbackReply?: string;
            /**
             * @description Engines to try in order, each once, after the engine before has failed. An engine that was
             *     tried already or that the server does not have (any more) is skipped. Default: none.
             */
            fallbacks?: components["schemas"]["EngineName"][];
            /** @description First message of a conversation that is created without one. Default: none. */
            greeting?: string;
            /** @description Limits of the conversation history that the engine receives. */
            history?: components["schemas"]["HistoryLimits"];
            /** @description Additional system prompt. Default: none. */
            instructions?: string;
            /** @description Settings of the language model. Default: the operator's settings. */
            llm?: components["schemas"]["LlmSettings"];
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["Metadata"];
            /** @description Rules of the rule engine. Default: none. */
            rules?: components["schemas"]["Rule"][];
            /**
             * Format: int32
             * @description Timeout of one request to a model in milliseconds, without tools. Default 60000.
             */
            timeoutMs?: number;
        };
        /** @description The event `agent.created`. */
        AgentCreatedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["AgentEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "agent.created";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /** @description The event `agent.deleted`. */
        AgentDeletedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            data: components["schemas"]["AgentDeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "agent.deleted";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * AgentDeletedEventData
         * @description The content of `agent.deleted`.
         */
        AgentDeletedEventData: {
            /** @description The id and last version of the agent. */
            agent: components["schemas"]["Tombstone_AgentId"];
        };
        /**
         * AgentEventData
         * @description The content of `agent.created` and `agent.updated`.
         */
        AgentEventData: {
            /** @description The agent after the change. */
            agent: components["schemas"]["Agent"];
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        AgentId: string;
        /** @description The event `agent.updated`. */
        AgentUpdatedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["AgentEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "agent.updated";
            /** @description The user that the conversation belongs to. */
            userId?: string;
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
             * @description The conversation to continue. A new one is created when this and `conversationKey` are absent
             *     or null.
             */
            conversationId?: string | null;
            /**
             * @description Your own name for the conversation, unique for the agent and the user. The first chat with it
             *     creates the conversation, and later ones continue it. Neither `.` nor `..`.
             */
            conversationKey?: string | null;
            /**
             * @description With `store: false`: the messages before this one, oldest first. The agent's
             *     `config.history` limits them.
             */
            history?: components["schemas"]["HistoryItem"][];
            /**
             * Format: int64
             * @description The id of the command, which the reply repeats.
             */
            id: number;
            /** @description The same as the header `Idempotency-Key`: a repeated chat with the same key starts no second turn. */
            idempotencyKey?: string;
            /** @description The text of the message. Required, except if `supersedes` is an agent's message. */
            message?: string;
            /** @description Pairs of strings for the client's own use, stored with the turn. */
            metadata?: components["schemas"]["Metadata"];
            /** @description The behaviour while another turn of the conversation is in progress. Default: `queue`. */
            onBusy?: components["schemas"]["WhenBusy"];
            /**
             * @description Stores nothing when false: there is no conversation, no turn to read later and no event, and
             *     the turn is cancelled when the connection is closed. Default: true. Only on `POST /api/chat`.
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
        /**
         * @description The next piece of the reply. Apply it only if `from` is the length of the text received so
         *     far. Offsets are in bytes of UTF-8.
         */
        ChatReplyDelta: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The position in the reply at which the text starts. */
            from: number;
            /** @description The text. */
            text: string;
            /** @description The position at which it ends. */
            to: number;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "reply.delta";
        };
        /** @description A message to an agent. */
        ChatRequest: {
            /** @description The agent that is to reply. Required, except with `conversationId`. */
            agentId?: string;
            /**
             * @description Your own id of the message: visible ASCII characters. It is returned with the message, its
             *     turn and their events.
             */
            clientMessageId?: string | null;
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
            /**
             * @description With `store: false`: the messages before this one, oldest first. The agent's
             *     `config.history` limits them.
             */
            history?: components["schemas"]["HistoryItem"][];
            /** @description The text of the message. Required, except if `supersedes` is an agent's message. */
            message?: string;
            /** @description Pairs of strings for the client's own use, stored with the turn. */
            metadata?: components["schemas"]["Metadata"];
            /** @description The behaviour while another turn of the conversation is in progress. Default: `queue`. */
            onBusy?: components["schemas"]["WhenBusy"];
            /**
             * @description Stores nothing when false: there is no conversation, no turn to read later and no event, and
             *     the turn is cancelled when the connection is closed. Default: true. Only on `POST /api/chat`.
             */
            store?: boolean;
            /** @description Returns the reply as a stream of server-sent events when true. Default: decided by `Accept`. */
            stream?: boolean;
            /**
             * @description A message of the conversation that this turn replaces, together with all later ones: a user
             *     message, which `message` replaces, or an agent's message, which is generated again.
             */
            supersedes?: string | null;
            /** @description The title of the conversation, if this message creates it; ignored otherwise. */
            title?: string | null;
            /**
             * @description The user who sends the message. A new conversation belongs to this user; an existing one
             *     must belong to this user.
             */
            userId?: string | null;
        };
        /** @description The engine calls a tool. */
        ChatToolCalled: {
            /**
             * @description The arguments of the call. An empty object replaces arguments that are nested more than 32
             *     levels deep, or with which those of the turn would exceed 1 MiB of JSON.
             */
            arguments: Record<string, never>;
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The id of the call, unique among all turns. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "tool.called";
        };
        /** @description A tool call has ended. Calls end in the order in which they were made. */
        ChatToolReturned: {
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * Format: int64
             * @description The duration in milliseconds.
             */
            durationMs: number;
            /** @description The id of the call. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /**
             * @description The result, or the reason of the failure, as the model receives it. Null if it exceeds
             *     64 KiB, or 1 MiB together with the other results of the turn.
             */
            result?: string | null;
            /**
             * @description The status: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
             *     or `too_many`; engines can add others.
             */
            status: string;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "tool.returned";
        };
        /** @description The turn was cancelled. */
        ChatTurnCancelled: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * @description A position of the event log at which the turn has ended; absent before its end, and if nothing
             *     is stored.
             */
            seq?: components["schemas"]["Seq"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.cancelled";
        };
        /** @description The turn is completed; contains the whole reply. */
        ChatTurnCompleted: {
            /** @description The agent that replied. */
            agentId: components["schemas"]["AgentId"];
            /**
             * Format: int64
             * @description The version of the agent that replied.
             */
            agentVersion: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The time at which the reply was stored. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description True if a fallback replied in place of the agent's engine. */
            degraded: boolean;
            /** @description The engine that produced the reply. */
            engine: string;
            /** @description The reason why the reply ended. */
            finishReason: components["schemas"]["FinishReason"];
            /** @description The text of the reply. */
            message: string;
            /** @description The id of the agent's message. */
            messageId: components["schemas"]["MessageId"];
            /**
             * @description A position of the event log at which the turn has ended. Only in the last event of a stream;
             *     absent if nothing is stored.
             */
            seq?: components["schemas"]["Seq"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.completed";
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The turn ended without a reply. */
        ChatTurnFailed: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The reason. */
            error: components["schemas"]["Problem"];
            /** @description A position of the event log at which the turn has ended; absent if nothing is stored. */
            seq?: components["schemas"]["Seq"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.failed";
        };
        /** @description The turn waits for the turns before it. */
        ChatTurnQueued: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * @description A position of the event log at which the turn has ended; absent before its end, and if nothing
             *     is stored.
             */
            seq?: components["schemas"]["Seq"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.queued";
        };
        /** @description The turn has started, and the engine is about to be called. */
        ChatTurnStarted: {
            /** @description The agent that replies. */
            agentId: components["schemas"]["AgentId"];
            /**
             * Format: int64
             * @description The version of the agent that replies.
             */
            agentVersion: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The id of the user's message. */
            messageId: components["schemas"]["MessageId"];
            /** @description The id that the agent's message is going to have. */
            replyId: components["schemas"]["MessageId"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.started";
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
        /** @description A conversation as clients receive it. */
        Conversation: {
            /** @description The agent of the conversation. */
            agentId: components["schemas"]["AgentId"];
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The first 120 characters of the newest message; null without messages. */
            excerpt?: string | null;
            forkedFrom?: components["schemas"]["ForkOrigin"] | null;
            /** @description The conversation's id. */
            id: components["schemas"]["ConversationId"];
            key?: components["schemas"]["ConversationKey"] | null;
            lastMessageAt?: components["schemas"]["Timestamp"] | null;
            /**
             * Format: int64
             * @description The number of messages that are not superseded.
             */
            messageCount: number;
            /** @description The client's own string pairs. */
            metadata: components["schemas"]["Metadata"];
            /** @description The queued turns and the turn in progress, in their order. */
            openTurns?: components["schemas"]["OpenTurn"][];
            /** @description The title, for people. */
            title?: string | null;
            /** @description The time of the last change, including new messages. */
            updatedAt: components["schemas"]["Timestamp"];
            /** @description The user that the conversation belongs to. */
            userId?: string | null;
            /**
             * Format: int64
             * @description 1, 2, 3 …: increases by one with every change of title or metadata.
             */
            version: number;
        };
        /** @description The event `conversation.created`. */
        ConversationCreatedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["ConversationEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "conversation.created";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /** @description The event `conversation.deleted`. */
        ConversationDeletedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["ConversationDeletedEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "conversation.deleted";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * ConversationDeletedEventData
         * @description The content of `conversation.deleted`.
         */
        ConversationDeletedEventData: {
            /** @description The id and last version of the conversation. */
            conversation: components["schemas"]["Tombstone_ConversationId"];
        };
        /**
         * ConversationEventData
         * @description The content of `conversation.created` and `conversation.updated`.
         */
        ConversationEventData: {
            /** @description The conversation in its state when the log is read. */
            conversation: components["schemas"]["Conversation"];
            greeting?: components["schemas"]["Message"] | null;
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        ConversationId: string;
        /**
         * @description A client's own name for a conversation: 1 to 128 letters, digits and `._~:@-`, except `.` and
         *     `..`, which URLs would not preserve.
         */
        ConversationKey: string;
        /** @description The event `conversation.updated`. */
        ConversationUpdatedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["ConversationEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "conversation.updated";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * DeletedEventData
         * @description The subject of the event has been deleted since.
         */
        DeletedEventData: {
            /** @description Always true. */
            deleted: boolean;
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
        /** @description The name of one of `fallbacks`. */
        EngineName: string;
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
        /** @description The record of one change, as clients receive it. */
        Event: components["schemas"]["AgentCreatedEvent"] | components["schemas"]["AgentDeletedEvent"] | components["schemas"]["AgentUpdatedEvent"] | components["schemas"]["ConversationCreatedEvent"] | components["schemas"]["ConversationDeletedEvent"] | components["schemas"]["ConversationUpdatedEvent"] | components["schemas"]["MessagesSupersededEvent"] | components["schemas"]["TurnCancelledEvent"] | components["schemas"]["TurnCompletedEvent"] | components["schemas"]["TurnFailedEvent"] | components["schemas"]["TurnQueuedEvent"] | components["schemas"]["TurnStartedEvent"];
        /** @description An event. Each channel receives its events in order and once. */
        EventFrame: {
            /** @description The subscribed channels that the event belongs to. */
            channels: components["schemas"]["Channel"][];
            /** @description The event. */
            event: components["schemas"]["Event"];
            /** @constant */
            type: "event";
        };
        /** @description A message in an event. A message above 32 KiB is omitted and can be read from its turn. */
        EventMessage: components["schemas"]["Message"] | {
            /** @description The conversation of the message. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The message's id. */
            id: components["schemas"]["MessageId"];
            /** @description Always true. */
            omitted: boolean;
            /** @description The author of the message. */
            role: components["schemas"]["Role"];
            /**
             * Format: int64
             * @description The message's position in the conversation.
             */
            seq: number;
            turnId?: components["schemas"]["TurnId"] | null;
        };
        /**
         * @description The kind of a fault, for programs.
         * @enum {string}
         */
        FaultCode: "required" | "unknown_member" | "duplicate_member" | "wrong_type" | "too_short" | "too_long" | "too_small" | "too_large" | "too_many" | "bad_character" | "bad_format" | "duplicate_item" | "unknown_value" | "not_combinable";
        /**
         * @description The reason why a reply ended.
         * @enum {string}
         */
        FinishReason: "stop" | "length" | "content_filter" | "cancelled";
        /** @description The origin of a fork. */
        ForkOrigin: {
            /** @description The conversation whose messages were copied. */
            conversationId: components["schemas"]["ConversationId"];
            messageId?: components["schemas"]["MessageId"] | null;
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
        /** @description A message that is not stored. */
        HistoryItem: {
            /** @description The text of the message. */
            content: string;
            /** @description The author of the message. */
            role: components["schemas"]["Role"];
        };
        /** @description Limits of the conversation history that the engine receives; both apply. */
        HistoryLimits: {
            /**
             * Format: int32
             * @description Maximum number of characters in all messages. Default 48000.
             */
            maxCharacters?: number;
            /**
             * Format: int32
             * @description Maximum number of messages. Default 40.
             */
            maxMessages?: number;
        };
        /** @description One word of `keywords`. */
        Keyword: string;
        /**
         * @description The next part of a reply. Apply it only if `from` is the length of the text that you have,
         *     in bytes of UTF-8.
         */
        LiveReplyDelta: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The position in the reply at which the text starts. */
            from: number;
            /** @description The text. */
            text: string;
            /** @description The position at which it ends. */
            to: number;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "reply.delta";
        };
        /** @description The reply so far, which replaces the text that you have. */
        LiveReplySnapshot: {
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
        /** @description The engine calls a tool. */
        LiveToolCalled: {
            /**
             * @description The arguments of the call. An empty object replaces arguments that are nested more than 32
             *     levels deep, or with which those of the turn would exceed 1 MiB of JSON.
             */
            arguments: Record<string, never>;
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The id of the call, unique among all turns. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "tool.called";
        };
        /** @description A tool call has ended. Calls end in the order in which they started. */
        LiveToolReturned: {
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * Format: int64
             * @description The duration in milliseconds.
             */
            durationMs: number;
            /** @description The id of the call. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /**
             * @description The result, or the reason of the failure, as the model receives it. Null if it exceeds
             *     64 KiB, or 1 MiB together with the other results of the turn.
             */
            result?: string | null;
            /**
             * @description The status: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
             *     or `too_many`; engines can add others.
             */
            status: string;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "tool.returned";
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
        /** @description Settings of the language model. */
        LlmSettings: {
            /**
             * Format: int32
             * @description Maximum number of tokens of one reply.
             */
            maxOutputTokens?: number;
            /** @description The model's name at the provider. */
            model?: string;
            /**
             * Format: int64
             * @description Seed for repeatable sampling, if the provider supports it.
             */
            seed?: number;
            /** @description Texts at which the reply ends. */
            stop?: components["schemas"]["StopText"][];
            /**
             * @description Whether the model accepts a system message. If `false`, its text begins the first message of
             *     the user. Default: true.
             */
            systemRole?: boolean;
            /**
             * Format: double
             * @description Sampling temperature.
             */
            temperature?: number;
            /**
             * Format: double
             * @description Nucleus sampling.
             */
            topP?: number;
        };
        /** @description One message of a conversation. */
        Message: {
            /**
             * Format: int64
             * @description On agent messages: the version of the agent that replied.
             */
            agentVersion?: number;
            /** @description On user messages: the client's own id of the message. */
            clientMessageId?: string;
            /** @description The text of the message. */
            content: string;
            /** @description The conversation of the message. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The time at which it was stored. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description On agent messages: the engine that produced the reply. */
            engine?: string;
            /** @description On user messages of a listing whose turn has failed or was cancelled: the reason. */
            error?: components["schemas"]["MessageError"];
            /** @description On agent messages: the reason why the reply ended. */
            finishReason?: components["schemas"]["FinishReason"];
            /** @description The message's id. */
            id: components["schemas"]["MessageId"];
            /** @description The author of the message. */
            role: components["schemas"]["Role"];
            /**
             * Format: int64
             * @description The position in the conversation: 1, 2, 3 …
             */
            seq: number;
            /**
             * @description The time at which a later turn replaced the message; absent on messages of the current
             *     conversation.
             */
            supersededAt?: components["schemas"]["Timestamp"];
            /** @description On agent messages of a listing: the tool calls of the turn, in order. */
            toolCalls?: components["schemas"]["ToolCall"][];
            turnId?: components["schemas"]["TurnId"] | null;
            /** @description On user messages of a listing: the state of the turn. */
            turnStatus?: components["schemas"]["TurnStatus"];
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The reason why a user message has no reply. */
        MessageError: {
            /** @description The kind of the problem, for programs. */
            code: components["schemas"]["ProblemCode"];
            /** @description True if the same message can succeed later. */
            retryable: boolean;
            /** @description The meaning of the code, for people. */
            title: string;
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        MessageId: string;
        /** @description The event `messages.superseded`. */
        MessagesSupersededEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["MessagesSupersededEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "messages.superseded";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * MessagesSupersededEventData
         * @description The content of `messages.superseded`: these messages are no longer part of the conversation.
         */
        MessagesSupersededEventData: {
            /**
             * Format: int64
             * @description The `seq` of the first superseded message.
             */
            fromSeq: number;
            /**
             * Format: int64
             * @description The `seq` of the last superseded message.
             */
            toSeq: number;
            /** @description The turn that replaces them. */
            turnId: components["schemas"]["TurnId"];
        };
        /** @description String pairs that the service stores and returns, and never interprets. */
        Metadata: {
            [key: string]: string;
        };
        /** @description A turn that has not ended. */
        OpenTurn: {
            /** @description The time at which the message was received. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The turn's id. */
            id: components["schemas"]["TurnId"];
            /** @description `queued` or `in_progress`. */
            status: components["schemas"]["TurnStatus"];
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
        PrincipalId: string;
        /** @description A problem body (RFC 9457). On a turn, it contains the reason of the failure. */
        Problem: {
            /** @description The kind of the problem, for programs. */
            code: components["schemas"]["ProblemCode"];
            /** @description The explanation for this request. */
            detail: string;
            /** @description All faults of the request, if there can be several. */
            errors?: components["schemas"]["ProblemFault"][];
            /** @description The path of the request. */
            instance?: string;
            /** @description The `X-Request-Id` of the request that failed. */
            requestId?: string;
            /** @description True if the same request can succeed later. */
            retryable: boolean;
            /**
             * Format: int32
             * @description For 429 and 503: the number of whole seconds after which to try again, counted from this
             *     response or, on a turn, from its `finishedAt`. Where there are headers, `Retry-After` has
             *     the same value.
             */
            retryAfter?: number;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description The meaning of the code, for people. */
            title: string;
            /** @description `/problems/<code>`: a page that explains the code and its remedy. */
            type: string;
        };
        /** @description A problem, with the members that only some codes have. */
        ProblemBody: components["schemas"]["Problem"] & {
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
        /**
         * @description The kind of a problem, for programs.
         * @enum {string}
         */
        ProblemCode: "malformed_json" | "invalid_cursor" | "invalid_header" | "invalid_subprotocol" | "ambiguous_credentials" | "unauthenticated" | "invalid_credentials" | "token_expired" | "invalid_ticket" | "insufficient_scope" | "origin_not_allowed" | "route_not_found" | "agent_not_found" | "conversation_not_found" | "turn_not_found" | "key_not_found" | "client_not_found" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "conversation_busy" | "message_superseded" | "turn_cancelled" | "idempotency_key_in_use" | "idempotency_key_used" | "cursor_expired" | "version_mismatch" | "body_too_large" | "uri_too_long" | "unsupported_media_type" | "validation_failed" | "idempotency_key_reused" | "invalid_rule" | "unknown_engine" | "unknown_command" | "upgrade_required" | "rate_limited" | "too_many_streams" | "internal" | "engine_failed" | "engine_unavailable" | "store_unavailable" | "home_unavailable" | "issuer_unavailable" | "overloaded" | "draining" | "interrupted" | "engine_timeout";
        /** @description One fault of a request, in its body, its query or its headers. */
        ProblemFault: {
            /** @description The kind of the fault, for programs. */
            code: components["schemas"]["FaultCode"];
            /** @description The explanation for people. */
            detail: string;
            /** @description Name of a header. */
            header?: string;
            /** @description Name of a query or path parameter. */
            parameter?: string;
            /** @description RFC 6901 pointer into the body. */
            pointer?: string;
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
            event: components["schemas"]["LiveReplyDelta"];
            /** @constant */
            type: "live";
        };
        /** @description The reply so far, which replaces the text that you have. */
        ReplySnapshotFrame: {
            event: components["schemas"]["LiveReplySnapshot"];
            /** @constant */
            type: "live";
        };
        /** @description One of a rule's `replies`. */
        ReplyText: string;
        /**
         * @description The data of `resync`: events after the client's position are no longer in the log, so the client
         *     has missed some. Read again what you show; the stream continues from `headSeq`.
         */
        Resync: {
            /** @description The `seq` of the oldest event in the log. */
            firstSeq: components["schemas"]["Seq"];
            /** @description The `seq` of the newest event, after which the stream continues. */
            headSeq: components["schemas"]["Seq"];
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
        /**
         * @description The author of a message.
         * @enum {string}
         */
        Role: "user" | "agent";
        /** @description One rule: it matches by `pattern` or by `keywords`, and replies with `reply` or `replies`. */
        Rule: {
            /** @description The rule applies only if the agent has this capability. */
            capability?: string;
            /** @description Words that must all occur, in any order, ignoring case. Exclusive with `pattern`. */
            keywords?: components["schemas"]["Keyword"][];
            /** @description The name, for people. */
            name?: string;
            /**
             * @description Regular expression (syntax of the Rust crate `regex`, linear time), matched anywhere in the
             *     message, ignoring case. Exclusive with `keywords`.
             */
            pattern?: string;
            /**
             * Format: int32
             * @description Rules with a higher priority are tried first; equal ones in their order. Default 0.
             */
            priority?: number;
            /**
             * @description Replies used in rotation, by the number of the turn in its conversation. Exclusive with
             *     `reply`.
             */
            replies?: components["schemas"]["ReplyText"][];
            /**
             * @description The reply. Exclusive with `replies`. Placeholders: `{{agent.name}}`,
             *     `{{agent.personality}}`, `{{message}}`, `{{user.id}}`, `{{capture.1}}`, `{{capture.name}}`.
             */
            reply?: string;
        } & ((unknown | unknown) & (unknown | unknown));
        /**
         * Format: int64
         * @description A position in a tenant's log: 1, 2, 3 …, in the order of commits. 0 is before all events.
         */
        Seq: number;
        /** @description A check that the client responds, sent with each protocol ping. Any frame is a valid answer. */
        ServerPingFrame: {
            /** @constant */
            type: "ping";
        };
        /** @description The limits of one socket. `/api/limits` returns the rate limits of the principal. */
        SocketLimits: {
            /** @description The maximum number of channels. */
            channels: number;
            /**
             * Format: int32
             * @description The maximum number of commands in one burst.
             */
            commandsBurst: number;
            /**
             * Format: int32
             * @description The sustained rate of commands per second.
             */
            commandsPerSecond: number;
            /**
             * Format: int64
             * @description The maximum size of one frame, in bytes.
             */
            frameBytes: number;
            /**
             * Format: int64
             * @description The maximum size of one message with all its fragments, in bytes.
             */
            messageBytes: number;
            /** @description The maximum number of past events that one channel replays; more result in a `resync`. */
            replayedEvents: number;
        };
        /** @description A text at which the reply ends. */
        StopText: string;
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
        TenantId: string;
        /**
         * Format: date-time
         * @example 2026-11-20T09:30:00.000Z
         */
        Timestamp: string;
        /** @description The id and version of a deleted resource. */
        Tombstone_AgentId: {
            /**
             * @description An opaque id.
             * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
             */
            id: string;
            /**
             * Format: int64
             * @description The resource's last version.
             */
            version: number;
        };
        /** @description The id and version of a deleted resource. */
        Tombstone_ConversationId: {
            /**
             * @description An opaque id.
             * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
             */
            id: string;
            /**
             * Format: int64
             * @description The resource's last version.
             */
            version: number;
        };
        /** @description One call of a tool during a turn. */
        ToolCall: {
            /**
             * @description The arguments of the call. An empty object replaces arguments that are nested more than 32
             *     levels deep, or with which those of the turn would exceed 1 MiB of JSON.
             */
            arguments: unknown;
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at?: number;
            /**
             * Format: int64
             * @description The duration in milliseconds.
             */
            durationMs: number;
            /** @description The id of the call, unique among all turns; empty in turns of earlier versions. */
            id?: string;
            /** @description The tool's name. */
            name: string;
            /**
             * @description The result, or the reason of the failure, as the model receives it. Null if it exceeds
             *     64 KiB, or 1 MiB together with the other results of the turn.
             */
            result?: string | null;
            /**
             * @description The status: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
             *     or `too_many`; `running` until the call ends, and `cancelled` if its turn ended first.
             *     Engines can add others.
             */
            status: string;
        };
        /** @description The engine calls a tool. */
        ToolCalledFrame: {
            event: components["schemas"]["LiveToolCalled"];
            /** @constant */
            type: "live";
        };
        /** @description A tool call has ended. Calls end in the order in which they started. */
        ToolReturnedFrame: {
            event: components["schemas"]["LiveToolReturned"];
            /** @constant */
            type: "live";
        };
        /** @description One user message and the work of replying to it. */
        Turn: {
            /** @description The agent that replies. */
            agentId: components["schemas"]["AgentId"];
            /**
             * Format: int64
             * @description The version of the agent that replies; null while queued.
             */
            agentVersion?: number | null;
            /** @description The client's own id of the message. */
            clientMessageId?: string | null;
            /** @description The conversation of the turn. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The time at which the message was received. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description True if a fallback replied in place of the agent's engine. */
            degraded: boolean;
            /** @description The engine that produced the reply. */
            engine?: string | null;
            error?: components["schemas"]["Problem"] | null;
            finishedAt?: components["schemas"]["Timestamp"] | null;
            finishReason?: components["schemas"]["FinishReason"] | null;
            /** @description The turn's id. */
            id: components["schemas"]["TurnId"];
            /** @description The user's message. */
            input: string;
            /** @description The client's own string pairs. */
            metadata: components["schemas"]["Metadata"];
            reply?: components["schemas"]["Message"] | null;
            retryOf?: components["schemas"]["TurnId"] | null;
            startedAt?: components["schemas"]["Timestamp"] | null;
            /** @description The state of the turn. */
            status: components["schemas"]["TurnStatus"];
            /**
             * @description The tool calls in order, however the turn ended. While the turn runs, the calls up to now,
             *     if it runs in the process that responds.
             */
            toolCalls: components["schemas"]["ToolCall"][];
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The event `turn.cancelled`. */
        TurnCancelledEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.cancelled";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /** @description The event `turn.completed`. */
        TurnCompletedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.completed";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * TurnEventData
         * @description The content of `turn.*`.
         */
        TurnEventData: {
            message?: components["schemas"]["EventMessage"] | null;
            /**
             * @description True if parts larger than 32 KiB are omitted from `turn`: its `input` is then empty, its
             *     `reply` null, or, which count together, the `arguments` of its `toolCalls` are `{}` and
             *     their `result` is null. Read the turn to get them.
             */
            omitted?: boolean;
            /** @description The turn, as the event's type describes it. */
            turn: components["schemas"]["Turn"];
        };
        /** @description The event `turn.failed`. */
        TurnFailedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.failed";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        TurnId: string;
        /** @description The event `turn.queued`. */
        TurnQueuedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.queued";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /** @description The reply to `chat` and `cancel`: the turn. */
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
        /** @description The result of `chat` and `cancel`. */
        TurnResult: {
            /** @description True if an earlier chat with the same idempotency key started the turn. */
            replayed?: boolean;
            /** @description The current state of the turn. */
            turn: components["schemas"]["Turn"];
        };
        /** @description The event `turn.started`. */
        TurnStartedEvent: {
            /** @description The principal that made the change. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The state after the change, unless its subject has been deleted since. */
            data: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
            /** @description The event's id; the same in every copy of it. */
            id: string;
            /** @description The event's position in the tenant's log. */
            seq: components["schemas"]["Seq"];
            /** @description The tenant of the change. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The time of the change. */
            time: components["schemas"]["Timestamp"];
            /** @description The turn that the event concerns. */
            turnId?: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.started";
            /** @description The user that the conversation belongs to. */
            userId?: string;
        };
        /**
         * @description The state of a turn. The last three are final, and every turn reaches exactly one of them.
         * @enum {string}
         */
        TurnStatus: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
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
        /** @description The token counts of an engine. */
        Usage: {
            /**
             * Format: int64
             * @description Tokens of the prompt.
             */
            inputTokens: number;
            /**
             * Format: int64
             * @description Tokens of the reply.
             */
            outputTokens: number;
        };
        /**
         * @description The behaviour while another turn of the conversation is in progress.
         * @enum {string}
         */
        WhenBusy: "queue" | "reject";
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
