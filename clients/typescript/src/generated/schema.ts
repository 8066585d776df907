// Generated from openapi.json by `npm run generate`.
export interface paths {
    "/": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** The start page, with links to the documents. */
        get: operations["get_console"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the public keys that verify the access tokens of this service. */
        get: operations["get_jwks"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the metadata of the authorization server (RFC 8414). */
        get: operations["get_authorization_server"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Read the metadata of the protected resource: which access tokens this service accepts (RFC
         *     9728).
         */
        get: operations["get_protected_resource"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/agents": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List agents: newest first, or by name if `name` is given. */
        get: operations["list_agents"];
        put?: never;
        /** Create an agent. */
        post: operations["create_agent"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/agents/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read an agent. */
        get: operations["get_agent"];
        put?: never; post?: never;
        /** Delete an agent, its conversations and their messages. */
        delete: operations["delete_agent"];
        options?: never; head?: never;
        /**
         * Change an agent with a JSON merge patch (RFC 7396): absent members keep their values, `null`
         *     removes a member.
         */
        patch: operations["patch_agent"];
        trace?: never;
    };
    "/api/agents/{id}/config": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read an agent's configuration. */
        get: operations["get_agent_config"];
        /**
         * Replace the whole configuration of an agent. The body may also contain the agent's `name`,
         *     `personality` and `capabilities`; they keep their values when absent.
         */
        put: operations["put_agent_config"];
        post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/capabilities": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List the capabilities with an effect. Any other name only describes an agent.
         * @description A tool is a capability with the name of the tool. A tool server is a capability with all its
         *     tools, and each of them is also a capability of its own: `<server>/<tool>`. Capabilities that
         *     are not available at the moment are listed too; agents reply without them.
         */
        get: operations["list_capabilities"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/chat": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Chat with an agent: send a message, receive its reply.
         * @description With `stream: true`, or `Accept: text/event-stream`, the response is a stream of server-sent
         *     events: `turn.queued` if the turn must wait, `turn.started`, `reasoning.delta` for each piece of the model's
         *     reasoning where `showReasoning` shows it, `reply.delta` for each piece of the reply, then exactly one of `turn.completed`, `turn.failed` and `turn.cancelled`. If the
         *     credential expires or is revoked meanwhile, the stream ends without such an event. Closing the
         *     stream does not end the turn. An engine that replies at once, such as `rules`, sends the reply
         *     in one `reply.delta`, or in none if the reply is empty. With `Prefer: respond-async` the
         *     response is the turn, without waiting for the reply.
         *
         *     If a message was accepted and no reply can be returned, because its turn failed, was cancelled
         *     or cannot be followed any longer, the problem contains the turn in `turnId` and its conversation
         *     in `conversationId`. The message stays in that conversation.
         *
         *     `stream` in the body takes precedence over `Accept`, and both over `Prefer`: a client that
         *     requests a stream receives a stream, whatever it prefers.
         */
        post: operations["chat"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List conversations, the one with the latest activity first. */
        get: operations["list_conversations"];
        put?: never;
        /**
         * Create a conversation. The agent's greeting, if it has one, becomes its first message, unless the
         *     conversation is a fork of another one or is imported with its own messages.
         */
        post: operations["create_conversation"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read a conversation. */
        get: operations["get_conversation"];
        put?: never; post?: never;
        /** Delete a conversation and its messages. */
        delete: operations["delete_conversation"];
        options?: never; head?: never;
        /**
         * Change a conversation, who answers in it, or whose it is, with a JSON merge patch (RFC 7396): absent members
         *     keep their values, `null` removes a member. With another `userId` the conversation moves to that user, with all
         *     its messages, turns and events: to the user before, it is deleted.
         */
        patch: operations["patch_conversation"];
        trace?: never;
    };
    "/api/conversations/{id}/messages": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List the messages of a conversation. */
        get: operations["list_messages"];
        put?: never;
        /**
         * Write a message in place of the agent. It is part of the conversation at once, and starts no turn. Users
         *     cannot: it needs a key or a client, or `conversations:all`.
         */
        post: operations["write_message"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}/messages/{messageId}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never; post?: never;
        /** Delete a message of staff. */
        delete: operations["delete_message"];
        options?: never; head?: never;
        /** Change the text of a message of staff with a JSON merge patch (RFC 7396). */
        patch: operations["patch_message"];
        trace?: never;
    };
    "/api/conversations/{id}/messages/{messageId}/feedback": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never;
        /**
         * Rate a message of the agent or of staff.
         * @description The user of a conversation has one rating of each message, and so has every other principal. It replaces the
         *     one before. A key or a client rates for the user with `userId`.
         */
        put: operations["rate_message"];
        post?: never;
        /** Delete the rating of a message. Without one, nothing happens. */
        delete: operations["delete_feedback"];
        options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}/notes": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List the notes of a conversation, the newest first. Users cannot, unless with `conversations:all`. */
        get: operations["list_notes"];
        put?: never;
        /** Write a note about a conversation, which neither its user nor a model sees. */
        post: operations["write_note"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}/notes/{noteId}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never; post?: never;
        /** Delete a note. */
        delete: operations["delete_note"];
        options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}/stream": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Follow the turn of a conversation: the running turn, or else the first queued one, or else the
         *     newest, if it has ended in the last ten minutes.
         * @description The stream is that of `POST /api/chat` from the beginning of the turn: the reasoning so far, if it is shown,
         *     is one `reasoning.delta`, and the text so far the first `reply.delta`. A client that has lost its stream, or reloads in the middle of a reply,
         *     receives the rest of the reply and its end.
         */
        get: operations["follow_conversation"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/conversations/{id}/turns": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List the turns of a conversation, in the order in which they began. */
        get: operations["list_conversation_turns"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/engines": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List the reply engines of this server.
         * @description `rules` always exists; the operator configures the others. The lists of models come from the
         *     servers of the engines and are cached; the first request for a list can take two seconds.
         */
        get: operations["list_engines"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Read the event log: every change, numbered without gaps, in the order of commits.
         * @description With `Accept: text/event-stream` the response is a stream of server-sent events: first the log
         *     after `since` (or after `Last-Event-ID`, which takes precedence), then every change when it
         *     happens. `id` is the `seq`, `event` is the type, and `data` is the event. A client that
         *     reconnects continues after the last event that it received. If the log no longer contains the
         *     events after that position, the stream sends an event `resync` and continues from the head of
         *     the log. After 15 seconds without an event the stream sends a comment. The stream ends when the
         *     credential expires or is revoked. Pages must read the stream with `fetch`, because `EventSource`
         *     sends no credentials. The log does not contain the text of running turns; the stream of the chat
         *     and sockets send it.
         */
        get: operations["list_events"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/export": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Export the conversations of the tenant with their messages.
         * @description With the format `ndjson` each line is a JSON object, a resource with its `type`: `conversation`, and after each
         *     its `message` lines. The last line is `{"type": "end", "counts": {…}}` with the number of lines of each type;
         *     without it the export is not complete. With the format `openai` each line is one conversation as
         *     `{"messages": [{"role", "content"}, …]}`, the form of examples for fine-tuning; the roles are `user` and
         *     `assistant`, and there is no last line.
         */
        get: operations["export_conversations"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/feedback": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List ratings of messages, the one that has changed last first. Users see their own.
         * @description A page looks at no more than 10,000 ratings, so it can be short, or empty, and have a `nextCursor`.
         */
        get: operations["list_feedback"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/files": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Upload a file for a message.
         * @description The body is the content; `Content-Disposition` can name the file. The content decides about the type; the
         *     declared type distinguishes kinds of text. A file that nothing uses is deleted after 24 hours.
         */
        post: operations["create_file"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/files/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Read what is known about a file.
         * @description A file that nothing uses can be read by its creator. Later it can be read by those who can reach one of the
         *     conversations that use it.
         */
        get: operations["get_file"];
        put?: never; post?: never;
        /** Delete a file that nothing uses. */
        delete: operations["delete_file"];
        options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/files/{id}/content": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the content of a file, or a range of it. */
        get: operations["get_file_content"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/files/{id}/link": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Make a link to the content of a file.
         * @description The address needs no credential, so that a page can show the file as an image. It is valid for an hour, and
         *     ends with the file.
         */
        post: operations["create_file_link"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/keys": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List API keys, newest first, including revoked and expired ones. */
        get: operations["list_keys"];
        put?: never;
        /** Create an API key. Its secret is shown only once. */
        post: operations["create_key"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/keys/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read an API key. */
        get: operations["get_key"];
        put?: never; post?: never;
        /** Revoke an API key. It is rejected from now on. */
        delete: operations["revoke_key"];
        options?: never; head?: never;
        /**
         * Change an API key with a JSON merge patch (RFC 7396): absent members keep their values, `null`
         *     restores the default of a member. Its secret and its scopes stay.
         */
        patch: operations["patch_key"];
        trace?: never;
    };
    "/api/keys/{id}/rotate": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Rotate an API key: it receives a new secret, shown only once. The previous secret stays valid
         *     for the overlap.
         */
        post: operations["rotate_key"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/limits": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read all limits for the caller. */
        get: operations["get_limits"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/nodes": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List the live nodes: the processes that share the store, and those of far regions.
         * @description A node is listed while its lease is valid, so up to ten seconds after its process was killed.
         */
        get: operations["list_nodes"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/oauth-clients": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List OAuth clients, newest first, including revoked and expired ones. */
        get: operations["list_oauth_clients"];
        put?: never;
        /**
         * Create an OAuth client, which requests access tokens at `/oauth2/token`. Its secret is shown
         *     only once.
         */
        post: operations["create_oauth_client"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/oauth-clients/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read an OAuth client. */
        get: operations["get_oauth_client"];
        put?: never; post?: never;
        /** Revoke an OAuth client. It receives no more tokens, and its tokens are rejected from now on. */
        delete: operations["revoke_oauth_client"];
        options?: never; head?: never;
        /**
         * Change an OAuth client with a JSON merge patch (RFC 7396): absent members keep their values,
         *     `null` restores the default of a member. Its secret or public keys and its scopes stay.
         */
        patch: operations["patch_oauth_client"];
        trace?: never;
    };
    "/api/oauth-clients/{id}/rotate": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Rotate an OAuth client: it receives a new secret, shown only once, or its public keys are
         *     replaced. Keys published at a `jwksUri` are rotated there.
         */
        post: operations["rotate_oauth_client"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/ping": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Measure the time to a region: the cheapest response to a valid credential.
         * @description Neither a database nor another region is involved, unless the credential is new to the node.
         */
        get: operations["get_ping"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/principal": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read who the caller is: its tenant and its scopes. */
        get: operations["get_principal"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/profiles": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List the profiles of agents, newest first. */
        get: operations["list_profiles"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/profiles/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the profile of an agent: its public part, which needs no permission to read the agent itself. */
        get: operations["get_profile"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/regions": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List the regions of the service.
         * @description A client measures the time of `GET /api/ping` at each `url`, and uses the nearest region. A far
         *     region that has not reached its home region since its start lists these two only. A service of one
         *     region lists that one.
         */
        get: operations["list_regions"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/rules/test": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Test rules: read the reply of the rule engine to a message, and the result of each rule.
         * @description The members `rules`, `fallbackReply`, `capabilities` and `tools` replace those of the agent, to
         *     test changes before they are saved. Nothing is stored, and no tool and no other engine is called:
         *     `call` shows the call that the matching rule makes. Rules are tried in the order of their
         *     priority; `later` marks those that were not tried because another one matched.
         */
        post: operations["test_rules"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/turns": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * List the turns of all conversations, the newest first. Users see those of their own conversations.
         * @description One request looks at no more than 10,000 turns, so a page can be short, or empty, and have a `nextCursor`.
         */
        get: operations["list_turns"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/turns/{id}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read a turn. */
        get: operations["get_turn"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/turns/{id}/actions": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Answer tool calls of a turn that waits for them (`status: "requires_action"`).
         * @description A call with `needs: "approval"` takes a `decision`, one with `needs: "output"` an `output` or an
         *     `error`. The first answer to a call wins; the same answer again changes nothing. With the last answer
         *     the turn goes on. The response is the turn when it has ended or waits again, or, as for a chat, its
         *     events, which continue the reply after `turn.resumed`, or with `Prefer: respond-async` the turn at once.
         *
         *     A decision about a call with `approver: "staff"` requires `tools:approve`, and stands alone in its request.
         *     It begins another turn (`continues`), which makes the call and reports its outcome: the response is that
         *     turn, or its events. Nobody decides for staff in their own conversation.
         */
        post: operations["answer_turn"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/turns/{id}/cancel": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /** Cancel a queued or running turn. A turn that has already ended is returned unchanged. */
        post: operations["cancel_turn"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/user-tokens": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Issue a token to a user, for frontends without an identity provider.
         * @description The user reads and writes only its own conversations, has its own rate limits, and appears in
         *     events as `user:<userId>`. The token ends when it expires, when the tokens of the user are
         *     withdrawn, and when the key or client that issued it is revoked or expires. A rotation does not
         *     end it. The response is not stored, so there is no `Idempotency-Key`: a token that was not
         *     received expires.
         */
        post: operations["create_user_token"];
        /**
         * Withdraw all tokens of a user that were issued so far.
         * @description Every process rejects them within one second, and closes the sockets and streams that were opened
         *     with them. Tokens that are issued later are valid.
         */
        delete: operations["withdraw_user_tokens"];
        options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/users": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List the users of whom something is stored, the one that was stored last first. */
        get: operations["list_users"];
        /** Store a user, or replace what is stored. */
        put: operations["put_user"];
        post?: never;
        /**
         * Erase everything about a user.
         * @description The tokens of the user are withdrawn and what is stored about it is deleted before the response. Its
         *     conversations are deleted within seconds, with an event `conversation.deleted` each; the event `user.erased` is
         *     the last one. No text of them is left in the store after `ERASURE__WITHIN`.
         */
        delete: operations["erase_user"];
        options?: never; head?: never;
        /**
         * Change what is stored about a user with a JSON merge patch (RFC 7396): absent members keep their
         *     values, `null` removes a member.
         */
        patch: operations["patch_user"];
        trace?: never;
    };
    "/api/users/export": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Export everything that is stored about a user.
         * @description Each line is a JSON object, a resource with its `type`: `user`, `conversation`, and after each conversation its
         *     `message`, `turn` and `note` lines. Messages that others have replaced are included. The last line is
         *     `{"type": "end", "counts": {…}}` with the number of lines of each type; without it the export is not complete.
         */
        get: operations["export_user"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/ws": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Open a WebSocket: send commands, receive events and live data.
         * @description Every frame is one JSON object, as `/asyncapi.json` describes. The client authenticates with a
         *     header, with `ticket`, or with `token` in the first frame (`connect`), which is then due within
         *     10 seconds. The `Origin` of a page must be one that the server allows.
         */
        get: operations["open_socket"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/api/ws/tickets": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Make a ticket for one socket. A ticket authenticates the caller where no header can be sent: a
         *     page sends it as `?ticket=` when it opens a socket. It can be used once, within 30 seconds, on
         *     pages of the origin that fetched it; if the request has no `Origin`, on all pages that may open
         *     sockets. The socket lives as long as the credential that the ticket was fetched with. The
         *     response is not stored, so there is no `Idempotency-Key`: an unused ticket expires. A page whose
         *     origin may not open sockets gets no ticket.
         */
        post: operations["create_ticket"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/asyncapi.json": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the description of sockets and streams: AsyncAPI 3, generated from the code. */
        get: operations["get_asyncapi"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Check that the process is running. Uses neither the store nor anything else. */
        get: operations["get_livez"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the service's metrics, in the Prometheus text format. */
        get: operations["get_metrics"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/oauth2/introspect": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /**
         * Check an access token (RFC 7662). Tokens of other tenants and issuers are only reported as not
         *     active.
         */
        post: operations["introspect_token"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/oauth2/revoke": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /** Revoke an access token of the client (RFC 7009). An invalid token counts as revoked. */
        post: operations["revoke_token"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/oauth2/token": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        get?: never; put?: never;
        /** Request an access token (RFC 6749, client credentials). */
        post: operations["issue_token"];
        delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read this document: OpenAPI 3.1, generated from the code. */
        get: operations["get_openapi"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/problems": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** List all problems that this server returns. */
        get: operations["list_problems"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /** Read the meaning of a problem code, and the action to take. */
        get: operations["get_problem"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never; header?: never; path?: never; cookie?: never;
        };
        /**
         * Check that the process can serve requests: the store responds, the process is not shutting down,
         *     and, in a far region, credentials are accepted. There the home region can replace the store.
         */
        get: operations["get_readyz"];
        put?: never; post?: never; delete?: never; options?: never; head?: never; patch?: never; trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A request about a token. The client may also authenticate with `Authorization: Basic`. */
        AboutToken: components["schemas"]["ClientAuthentication"] & {
            /** @description The token. */
            token: string;
            /** @description The type of the token; only one type exists. */
            token_type_hint?: string;
        };
        /**
         * @description The decision about a call.
         * @enum {string}
         */
        ActionDecision: "approve" | "deny";
        /** @description The answer to a tool call: exactly one of `decision`, `output` and `error`. */
        ActionItem: {
            /**
             * @description With an approval: the arguments with which the call is made instead of its own, at most 64 KiB, nested
             *     at most 32 levels deep. Only from those who may decide for staff (`tools:approve`, of users also `conversations:all`).
             */
            arguments?: Record<string, never>;
            /** @description The id of the call. */
            callId: string;
            /** @description For a call that needs approval. */
            decision?: components["schemas"]["ActionDecision"];
            /** @description Why a tool of the client has failed: text or any JSON, at most 64 KiB. */
            error?: unknown;
            /** @description What a tool of the client has returned: text or any JSON, at most 64 KiB. */
            output?: unknown;
            /** @description The reason of a denial, for the model. */
            reason?: string;
        };
        /**
         * @description The kind of answer that a tool call waits for.
         * @enum {string}
         */
        ActionNeeded: "approval" | "output";
        /** @description The answers to tool calls of a turn: all of them are stored, or none. */
        ActionsRequest: {
            /** @description The answers. */
            actions: components["schemas"]["ActionItem"][];
            /** @description Returns the turn's events as a stream when true. Default: decided by `Accept`. */
            stream?: boolean;
        };
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
             * Format: int32
             * @description Time in seconds for which a turn waits until its user, or the page, answers a tool call. Default
             *     604800.
             */
            actionTimeoutSeconds?: number;
            /**
             * @description Whether users may add tools of the client to a chat (`clientTools`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowClientTools?: boolean;
            /**
             * @description True if users may hand their conversation over to staff: `PATCH /api/conversations/{id}` with
             *     `{"handledBy": "staff"}`. Default: false.
             */
            allowHandOver?: boolean;
            /**
             * @description Whether users may send chats that are not stored (`store: false`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowUnrecorded?: boolean;
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
             * @description Engines to try in order, each once, after the engine before has failed: a name stands for the operator's
             *     model, an object names another one. An engine that was tried already or that the server does not have
             *     (any more) is skipped; an object only if its engine was tried with its model. Default: none.
             */
            fallbacks?: components["schemas"]["Fallback"][];
            /** @description First message of a conversation that is created without one. Default: none. */
            greeting?: string;
            /** @description Limits of the conversation history that the engine receives. */
            history?: components["schemas"]["HistoryLimits"];
            /** @description Additional system prompt. Default: none. */
            instructions?: string;
            /** @description Settings of the language model. Default: the operator's settings. */
            llm?: components["schemas"]["LlmSettings"];
            /**
             * Format: int32
             * @description Maximum number of tool calls in a turn. Default 16.
             */
            maxToolCalls?: number;
            /**
             * Format: int32
             * @description Maximum number of responses with tool calls in a turn. Then the model must reply without
             *     tools. Default 8.
             */
            maxToolRounds?: number;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["Metadata"];
            /** @description The profile of the agent for pages (`GET /api/profiles/{id}`), in addition to its name and greeting. */
            profile?: components["schemas"]["ProfileConfig"];
            /**
             * @description The JSON Schema (2020-12) that every reply must satisfy: an object, at most 16 KiB, nested at most 16 deep,
             *     without references to other documents. A `responseSchema` of a chat holds in its place. A change replaces
             *     it as a whole. Default: none, replies are texts.
             */
            responseSchema?: Record<string, never>;
            /**
             * @description The time after its last message for which a conversation is kept: a whole number followed by `s`, `m`, `h`
             *     or `d`, from `1m` to `3650d`. The operator's holds if it is shorter. Default: that of the operator.
             * @example 30d
             */
            retention?: string;
            /** @description Rules of the rule engine. Default: none. */
            rules?: components["schemas"]["Rule"][];
            /**
             * Format: int32
             * @description Timeout of one request to a model in milliseconds, without tools. Default 60000.
             */
            timeoutMs?: number;
            /**
             * @description Titles of conversations that have none: a model writes them after the first reply. `{}` turns this
             *     on. Default: off.
             */
            titles?: components["schemas"]["TitlesConfig"];
            /**
             * @description The tools of the agent, beside those that its capabilities name. A name that is neither a
             *     built-in tool nor one of a configured server is rejected, unless the agent had it before.
             *     Default: none.
             */
            tools?: components["schemas"]["ToolEntry"][];
        };
        /** @description JSON merge patch (RFC 7396) of `AgentConfig`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        AgentConfigPatch: {
            /**
             * Format: int32
             * @description Time in seconds for which a turn waits until its user, or the page, answers a tool call. Default
             *     604800.
             */
            actionTimeoutSeconds?: number | null;
            /**
             * @description Whether users may add tools of the client to a chat (`clientTools`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowClientTools?: boolean | null;
            /**
             * @description True if users may hand their conversation over to staff: `PATCH /api/conversations/{id}` with
             *     `{"handledBy": "staff"}`. Default: false.
             */
            allowHandOver?: boolean | null;
            /**
             * @description Whether users may send chats that are not stored (`store: false`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowUnrecorded?: boolean | null;
            /**
             * @description Name of the reply engine (`GET /api/engines` lists them). Default: the server's default
             *     engine, which is the one that the operator chose, otherwise `llm` if a model is configured,
             *     otherwise `rules`. This also applies to an agent that has `rules`: set `rules` here to make
             *     sure that they reply. A name that the server does not know is rejected, unless the agent had
             *     it before.
             */
            engine?: string | null;
            /** @description Reply of the rule engine if no rule matches. Default: built from name and capabilities. */
            fallbackReply?: string | null;
            /**
             * @description Engines to try in order, each once, after the engine before has failed: a name stands for the operator's
             *     model, an object names another one. An engine that was tried already or that the server does not have
             *     (any more) is skipped; an object only if its engine was tried with its model. Default: none.
             */
            fallbacks?: components["schemas"]["Fallback"][] | null;
            /** @description First message of a conversation that is created without one. Default: none. */
            greeting?: string | null;
            /** @description Limits of the conversation history that the engine receives. */
            history?: components["schemas"]["HistoryLimitsPatch"] | null;
            /** @description Additional system prompt. Default: none. */
            instructions?: string | null;
            /** @description Settings of the language model. Default: the operator's settings. */
            llm?: components["schemas"]["LlmSettingsPatch"] | null;
            /**
             * Format: int32
             * @description Maximum number of tool calls in a turn. Default 16.
             */
            maxToolCalls?: number | null;
            /**
             * Format: int32
             * @description Maximum number of responses with tool calls in a turn. Then the model must reply without
             *     tools. Default 8.
             */
            maxToolRounds?: number | null;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["MetadataPatch"] | null;
            /** @description The profile of the agent for pages (`GET /api/profiles/{id}`), in addition to its name and greeting. */
            profile?: components["schemas"]["ProfileConfigPatch"] | null;
            /**
             * @description The JSON Schema (2020-12) that every reply must satisfy: an object, at most 16 KiB, nested at most 16 deep,
             *     without references to other documents. A `responseSchema` of a chat holds in its place. A change replaces
             *     it as a whole. Default: none, replies are texts.
             */
            responseSchema?: Record<string, never> | null;
            /**
             * @description The time after its last message for which a conversation is kept: a whole number followed by `s`, `m`, `h`
             *     or `d`, from `1m` to `3650d`. The operator's holds if it is shorter. Default: that of the operator.
             * @example 30d
             */
            retention?: string | null;
            /** @description Rules of the rule engine. Default: none. */
            rules?: components["schemas"]["Rule"][] | null;
            /**
             * Format: int32
             * @description Timeout of one request to a model in milliseconds, without tools. Default 60000.
             */
            timeoutMs?: number | null;
            /**
             * @description Titles of conversations that have none: a model writes them after the first reply. `{}` turns this
             *     on. Default: off.
             */
            titles?: components["schemas"]["TitlesConfigPatch"] | null;
            /**
             * @description The tools of the agent, beside those that its capabilities name. A name that is neither a
             *     built-in tool nor one of a configured server is rejected, unless the agent had it before.
             *     Default: none.
             */
            tools?: components["schemas"]["ToolEntry"][] | null;
        };
        /** @description The event `agent.created`. */
        AgentCreatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["AgentEventDataOrDeleted"];
            /** @constant */
            type: "agent.created";
        };
        /** @description The event `agent.deleted`. */
        AgentDeletedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["AgentDeletedEventData"];
            /** @constant */
            type: "agent.deleted";
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
         * @description The part of an agent that a client sets: the body of a creation, and the document that a merge
         *     patch changes.
         */
        AgentDraft: {
            /**
             * @description The agent's capabilities, each 1–64 characters after trimming. Default: none.
             * @example [
             *       "orders",
             *       "returns"
             *     ]
             */
            capabilities?: components["schemas"]["Capability"][];
            /** @description The agent's configuration. Default: empty. */
            config?: components["schemas"]["AgentConfig"];
            /**
             * @description Display name.
             * @example Ada
             */
            name: string;
            /**
             * @description The agent's personality, as free text. Default: empty.
             * @example Cheerful and brief.
             */
            personality?: string;
        };
        /** @description JSON merge patch (RFC 7396) of `AgentDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        AgentDraftPatch: {
            /**
             * @description The agent's capabilities, each 1–64 characters after trimming. Default: none.
             * @example [
             *       "orders",
             *       "returns"
             *     ]
             */
            capabilities?: components["schemas"]["Capability"][] | null;
            /** @description The agent's configuration. Default: empty. */
            config?: components["schemas"]["AgentConfigPatch"] | null;
            /**
             * @description Display name.
             * @example Ada
             */
            name?: string;
            /**
             * @description The agent's personality, as free text. Default: empty.
             * @example Cheerful and brief.
             */
            personality?: string | null;
        };
        /**
         * AgentEventData
         * @description The content of `agent.created` and `agent.updated`.
         */
        AgentEventData: {
            /** @description The agent after the change. */
            agent: components["schemas"]["Agent"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        AgentEventDataOrDeleted: components["schemas"]["AgentEventData"] | components["schemas"]["ProfileEventData"] | components["schemas"]["DeletedEventData"];
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        AgentId: string;
        /** @description The event `agent.updated`. */
        AgentUpdatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["AgentEventDataOrDeleted"];
            /** @constant */
            type: "agent.updated";
        };
        /**
         * @description Whether a person must approve a call.
         * @enum {string}
         */
        Approval: "never" | "always" | "destructive";
        /**
         * @description The person or group that may approve a call.
         * @enum {string}
         */
        Approver: "user" | "staff";
        /** @description The author of a message that was written in place of the agent. */
        Author: {
            /** @description The address of a picture; null without one. */
            avatarUrl?: string | null;
            /** @description `staff`: a person who works for the operator. */
            kind: components["schemas"]["AuthorKind"];
            /** @description The name that users see. */
            name: string;
        };
        /** @description The author of a message or note that is to be written. */
        AuthorDraft: {
            /** @description The https address of a picture. Default: none. */
            avatarUrl?: string | null;
            /** @description The name that users see. */
            name: string;
        };
        /** @description The metadata of the authorization server. */
        AuthorizationServerMetadata: {
            grant_types_supported: string[];
            introspection_endpoint: string;
            introspection_endpoint_auth_methods_supported: string[];
            introspection_endpoint_auth_signing_alg_values_supported: string[];
            /** @description Its name: the public URL, unless another one is configured. */
            issuer: string;
            jwks_uri: string;
            /** @description Empty: no endpoint is meant for browsers. */
            response_types_supported: string[];
            revocation_endpoint: string;
            revocation_endpoint_auth_methods_supported: string[];
            revocation_endpoint_auth_signing_alg_values_supported: string[];
            scopes_supported: components["schemas"]["Scope"][];
            service_documentation: string;
            token_endpoint: string;
            token_endpoint_auth_methods_supported: string[];
            token_endpoint_auth_signing_alg_values_supported: string[];
        };
        /**
         * @description The kind of author who writes in place of an agent.
         * @enum {string}
         */
        AuthorKind: "staff";
        /** @description An erasure that has begun. */
        BegunErasure: {
            /** @description The id that the event `user.erased` contains once the erasure has ended. */
            erasureId: components["schemas"]["ErasureId"];
        };
        /** @description The name of one capability, with at least one character that is not white space. */
        Capability: string;
        /** @description A capability with an effect. */
        CapabilityEntry: {
            /**
             * @description True if it works at the moment: the server of the tool can be reached, and no engine has found
             *     that it cannot offer the tool to models.
             */
            available: boolean;
            /** @description A description of its effect. */
            description: string;
            /** @description The kind of the capability. */
            kind: components["schemas"]["CapabilityKind"];
            /** @description The name, for an agent's `capabilities`. */
            name: string;
        };
        /**
         * @description The kind of a capability.
         * @enum {string}
         */
        CapabilityKind: "tool" | "server";
        /** @description The data of an event in the stream of a chat. `type` is the name of the event. */
        ChatEvent: components["schemas"]["ChatReasoningDelta"] | components["schemas"]["ChatReplyDelta"] | components["schemas"]["ChatToolCalled"] | components["schemas"]["ChatToolReturned"] | components["schemas"]["ChatTurnCancelled"] | components["schemas"]["ChatTurnCompleted"] | components["schemas"]["ChatTurnFailed"] | components["schemas"]["ChatTurnQueued"] | components["schemas"]["ChatTurnRequires_action"] | components["schemas"]["ChatTurnResumed"] | components["schemas"]["ChatTurnStarted"];
        ChatProblem: components["schemas"]["Problem"] & {
            /** @description The conversation of the turn, also if this request created it. */
            conversationId?: components["schemas"]["ConversationId"];
            /** @description The turn that has no reply, or whose reply cannot be returned. */
            turnId?: components["schemas"]["TurnId"];
        };
        /** @description The next piece of the model's reasoning. Apply it if `from` is the length received so far; from 0, it begins anew. */
        ChatReasoningDelta: {
            /**
             * Format: int32
             * @description The number of the attempt to run the turn, as in `reply.delta`.
             */
            attempt?: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The position in the reasoning at which the text starts. */
            from: number;
            /** @description The text. */
            text: string;
            /** @description The position at which it ends. */
            to: number;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "reasoning.delta";
        };
        /** @description The agent's reply, with the ids of its turn and conversation. */
        ChatReply: {
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
            /** @description The engine that produced the reply; null without one. */
            engine?: string | null;
            /** @description The reason why the reply ended. */
            finishReason: components["schemas"]["FinishReason"];
            /** @description The text of the reply; empty while staff handles the conversation. */
            message: string;
            messageId?: components["schemas"]["MessageId"] | null;
            /**
             * @description The model that produced the reply, as its provider names it, or else as it was asked for. Null without one,
             *     if several replied to the requests of the turn, and if nothing names it.
             */
            model?: string | null;
            /**
             * @description The JSON value of a reply that satisfies `responseSchema`; null is a value. Absent without a schema, and
             *     without a complete reply.
             */
            output?: unknown;
            /** @description True if the model has had to correct the output; otherwise absent. */
            repaired?: boolean;
            /**
             * @description A position of the event log at which the turn has ended. Only in the last event of a stream;
             *     absent if nothing is stored.
             */
            seq?: components["schemas"]["Seq"];
            /**
             * @description The tool calls of the turn, if one of them waits for an answer: the turn waits for that of a user, or of
             *     the page, and is completed before that of staff.
             */
            toolCalls?: components["schemas"]["ToolCall"][];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            usage?: components["schemas"]["Usage"] | null;
        };
        /**
         * @description The next piece of the reply. Apply it only if `from` is the length of the text received so
         *     far. Offsets are in bytes of UTF-8.
         */
        ChatReplyDelta: {
            /**
             * Format: int32
             * @description The number of the attempt to run the turn, if it is not the first: a process was lost, and another
             *     one goes on. The text of a higher attempt replaces all text of a lower one.
             */
            attempt?: number;
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
             *     levels deep, or with which those of the turn would exceed 1 MiB of JSON. Null if they are not
             *     shown to users.
             */
            arguments?: Record<string, never> | null;
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The id of the call, unique among all turns. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description What the call waits for, unless it runs. */
            needs?: components["schemas"]["ActionNeeded"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "tool.called";
        };
        /** @description A tool call has ended. Calls end in the order in which they were made. */
        ChatToolReturned: {
            /** @description While it waits: who may approve it. */
            approver?: components["schemas"]["Approver"];
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at: number;
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * Format: int64
             * @description The duration in milliseconds.
             */
            durationMs: number;
            /** @description While it waits: the time from which it can no longer be answered. */
            expiresAt?: components["schemas"]["Timestamp"];
            /** @description The id of the call. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description While it waits: what it needs. */
            needs?: components["schemas"]["ActionNeeded"];
            /**
             * @description The result, or the reason of the failure, as the model receives it. Null if it exceeds
             *     64 KiB, or 1 MiB together with the other results of the turn, and if it is not shown to users.
             */
            result?: string | null;
            /** @description The status, as in the turn: `waiting` if the call waits for staff, which does not hold the turn. */
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
            /** @description The engine that produced the reply; null without one. */
            engine?: string | null;
            /** @description The reason why the reply ended. */
            finishReason: components["schemas"]["FinishReason"];
            /** @description The text of the reply; empty while staff handles the conversation. */
            message: string;
            messageId?: components["schemas"]["MessageId"] | null;
            /**
             * @description The model that produced the reply, as its provider names it, or else as it was asked for. Null without one,
             *     if several replied to the requests of the turn, and if nothing names it.
             */
            model?: string | null;
            /**
             * @description The JSON value of a reply that satisfies `responseSchema`; null is a value. Absent without a schema, and
             *     without a complete reply.
             */
            output?: unknown;
            /** @description True if the model has had to correct the output; otherwise absent. */
            repaired?: boolean;
            /**
             * @description A position of the event log at which the turn has ended. Only in the last event of a stream;
             *     absent if nothing is stored.
             */
            seq?: components["schemas"]["Seq"];
            /**
             * @description The tool calls of the turn, if one of them waits for an answer: the turn waits for that of a user, or of
             *     the page, and is completed before that of staff.
             */
            toolCalls?: components["schemas"]["ToolCall"][];
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
        /** @description The turn waits for answers to tool calls. The stream ends; that of the answers continues the reply. */
        ChatTurnRequires_action: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description A position of the event log at which the turn waits. */
            seq?: components["schemas"]["Seq"];
            /** @description The tool calls of the turn. Those with `needs` wait for an answer. */
            toolCalls: components["schemas"]["ToolCall"][];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.requires_action";
        };
        /** @description The turn goes on, and the reply continues. */
        ChatTurnResumed: {
            conversationId?: components["schemas"]["ConversationId"] | null;
            /**
             * @description A position of the event log at which the turn has ended; absent before its end, and if nothing
             *     is stored.
             */
            seq?: components["schemas"]["Seq"];
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.resumed";
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
            /**
             * @description The call of an earlier turn that staff has decided, and whose outcome the turn reports. To users
             *     it does not name the call.
             */
            continues?: components["schemas"]["ContinuedCall"];
            conversationId?: components["schemas"]["ConversationId"] | null;
            /** @description The id of the user's message. */
            messageId: components["schemas"]["MessageId"];
            replyId?: components["schemas"]["MessageId"] | null;
            /** @description The turn. */
            turnId: components["schemas"]["TurnId"];
            /** @constant */
            type: "turn.started";
        };
        /** @description An OAuth client, without its secret. */
        Client: {
            /** @description The only agents that it can reach; absent for all. */
            agentIds?: components["schemas"]["AgentId"][];
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /**
             * @description The id of the client: its `client_id`.
             * @example 5nQwT0cLZb2y
             */
            id: string;
            /**
             * @description The client's public keys, if it has sent some; members that this service does not use are
             *     removed.
             */
            jwks?: components["schemas"]["PublicKeySet"];
            /** @description The address at which the client publishes its public keys, if it does. */
            jwksUri?: string;
            /** @description The last four characters of its secret, if it has one. */
            last4?: string;
            lastUsedAt?: components["schemas"]["Timestamp"] | null;
            /** @description Rate limits of this client. An absent limit is that of the server. */
            limits: components["schemas"]["LimitOverrides"];
            /** @description A name for people. */
            name: string;
            revokedAt?: components["schemas"]["Timestamp"] | null;
            /** @description The scopes that its tokens can have. */
            scopes: components["schemas"]["Scope"][];
        };
        /**
         * @description The authentication of a client: exactly one of `Authorization: Basic`, a secret in the form, or
         *     a signed assertion.
         */
        ClientAuthentication: {
            /**
             * @description A token that the client has signed (RFC 7523): `iss` and `sub` are its id, `aud` is exactly
             *     the public URL of this service, `exp` is within an hour, and `jti` is used once.
             */
            client_assertion?: string;
            /** @description Required with `client_assertion`. */
            client_assertion_type?: string;
            /** @description The client's id. */
            client_id?: string;
            /** @description Its secret. */
            client_secret?: string;
        };
        /**
         * @description An OAuth client to create. With `jwks` or `jwksUri` it authenticates with its own keys
         *     (`private_key_jwt`); otherwise it receives a secret.
         */
        ClientDraft: {
            /**
             * @description The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
             *     the caller, usually all.
             */
            agentIds?: components["schemas"]["AgentId"][];
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /** @description The client's public keys. Cannot be combined with `jwksUri`. */
            jwks?: components["schemas"]["PublicKeySet"];
            /**
             * @description The address at which the client publishes its public keys. Cannot be combined with `jwks`.
             * @example https://client.example/jwks.json
             */
            jwksUri?: string;
            limits?: components["schemas"]["LimitOverrides"] | null;
            /** @description A name for people. */
            name: string;
            /** @description The scopes that its tokens can have: only scopes that the caller has. */
            scopes: components["schemas"]["Scope"][];
        };
        /** @description JSON merge patch (RFC 7396) of `ClientDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        ClientDraftPatch: {
            /**
             * @description The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
             *     the caller, usually all.
             */
            agentIds?: components["schemas"]["AgentId"][] | null;
            /** @description The time at which it expires; must be in the future. Default: never. */
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /** @description Rate limits of this client. Default: those of the server. */
            limits?: components["schemas"]["LimitOverridesPatch"] | null;
            /** @description A name for people. */
            name?: string;
        };
        /**
         * @description The rotation of a client. A client with a secret receives a new one; a client with its own keys
         *     (`jwks`) sends the new keys.
         */
        ClientRotation: {
            /** @description The new public keys. They replace the previous ones at once. */
            jwks?: components["schemas"]["PublicKeySet"];
            /**
             * Format: int32
             * @description The time in seconds for which the previous secret stays valid beside the new one. Default:
             *     0.
             */
            overlapSeconds?: number;
        };
        /** @description A tool that the client runs. The turn waits for its output. */
        ClientTool: {
            /** @description The description, for the model. */
            description?: string;
            /**
             * @description The name.
             * @example open_cart
             */
            name: string;
            /**
             * @description The JSON Schema of the arguments: an object, at most 16 KiB, nested at most 16 deep, without
             *     references to other documents.
             */
            parameters?: Record<string, never>;
        };
        /** @description A client that was just created or rotated, with its secret if it has one. */
        ClientWithSecret: components["schemas"]["Client"] & {
            /**
             * @description The whole `client_secret`. It is shown only once. Absent for a client with its own keys.
             * @example ags_5nQwT0cLZb2y_…
             */
            secret?: string;
        };
        /** @description An agent's whole configuration. `name`, `personality` and `capabilities` may be beside it; they keep their values when absent. */
        ConfigBody: {
            /**
             * Format: int32
             * @description Time in seconds for which a turn waits until its user, or the page, answers a tool call. Default
             *     604800.
             */
            actionTimeoutSeconds?: number;
            /**
             * @description Whether users may add tools of the client to a chat (`clientTools`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowClientTools?: boolean;
            /**
             * @description True if users may hand their conversation over to staff: `PATCH /api/conversations/{id}` with
             *     `{"handledBy": "staff"}`. Default: false.
             */
            allowHandOver?: boolean;
            /**
             * @description Whether users may send chats that are not stored (`store: false`); keys and OAuth clients always
             *     may. Default: false.
             */
            allowUnrecorded?: boolean;
            /**
             * @description The agent's capabilities, each 1–64 characters after trimming. Default: none.
             * @example [
             *       "orders",
             *       "returns"
             *     ]
             */
            capabilities?: components["schemas"]["Capability"][];
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
             * @description Engines to try in order, each once, after the engine before has failed: a name stands for the operator's
             *     model, an object names another one. An engine that was tried already or that the server does not have
             *     (any more) is skipped; an object only if its engine was tried with its model. Default: none.
             */
            fallbacks?: components["schemas"]["Fallback"][];
            /** @description First message of a conversation that is created without one. Default: none. */
            greeting?: string;
            /** @description Limits of the conversation history that the engine receives. */
            history?: components["schemas"]["HistoryLimits"];
            /** @description Additional system prompt. Default: none. */
            instructions?: string;
            /** @description Settings of the language model. Default: the operator's settings. */
            llm?: components["schemas"]["LlmSettings"];
            /**
             * Format: int32
             * @description Maximum number of tool calls in a turn. Default 16.
             */
            maxToolCalls?: number;
            /**
             * Format: int32
             * @description Maximum number of responses with tool calls in a turn. Then the model must reply without
             *     tools. Default 8.
             */
            maxToolRounds?: number;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["Metadata"];
            /**
             * @description Display name.
             * @example Ada
             */
            name?: string;
            /**
             * @description The agent's personality, as free text. Default: empty.
             * @example Cheerful and brief.
             */
            personality?: string;
            /** @description The profile of the agent for pages (`GET /api/profiles/{id}`), in addition to its name and greeting. */
            profile?: components["schemas"]["ProfileConfig"];
            /**
             * @description The JSON Schema (2020-12) that every reply must satisfy: an object, at most 16 KiB, nested at most 16 deep,
             *     without references to other documents. A `responseSchema` of a chat holds in its place. A change replaces
             *     it as a whole. Default: none, replies are texts.
             */
            responseSchema?: Record<string, never>;
            /**
             * @description The time after its last message for which a conversation is kept: a whole number followed by `s`, `m`, `h`
             *     or `d`, from `1m` to `3650d`. The operator's holds if it is shorter. Default: that of the operator.
             * @example 30d
             */
            retention?: string;
            /** @description Rules of the rule engine. Default: none. */
            rules?: components["schemas"]["Rule"][];
            /**
             * Format: int32
             * @description Timeout of one request to a model in milliseconds, without tools. Default 60000.
             */
            timeoutMs?: number;
            /**
             * @description Titles of conversations that have none: a model writes them after the first reply. `{}` turns this
             *     on. Default: off.
             */
            titles?: components["schemas"]["TitlesConfig"];
            /**
             * @description The tools of the agent, beside those that its capabilities name. A name that is neither a
             *     built-in tool nor one of a configured server is rejected, unless the agent had it before.
             *     Default: none.
             */
            tools?: components["schemas"]["ToolEntry"][];
        };
        ContentDigest: string;
        /** @description A call of an earlier turn that waited for staff. */
        ContinuedCall: {
            /** @description The id of the call. For users it is absent unless `toolCalls` shows them the call. */
            callId?: string;
            /** @description The turn that called the tool. */
            turnId: components["schemas"]["TurnId"];
        };
        /** @description A conversation as clients receive it. */
        Conversation: {
            /** @description The agent of the conversation. */
            agentId: components["schemas"]["AgentId"];
            /** @description The member of staff who has taken the conversation over. Absent without one, and for users. */
            assignee?: string;
            /** @description What the model is told about the conversation. Absent without one, and for users. */
            context?: string;
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The first 120 characters of the newest message; null without messages. */
            excerpt?: string | null;
            forkedFrom?: components["schemas"]["ForkOrigin"] | null;
            /** @description Who answers the user: `agent`, or `staff` while people do and the agent does not reply. */
            handledBy?: components["schemas"]["Handler"];
            /**
             * @description The hand-over to staff, if the agent has made it. Absent otherwise, once the agent has the conversation
             *     back, and for users.
             */
            handover?: components["schemas"]["Handover"];
            /** @description The conversation's id. */
            id: components["schemas"]["ConversationId"];
            key?: components["schemas"]["ConversationKey"] | null;
            lastMessageAt?: components["schemas"]["Timestamp"] | null;
            /** @description In results of a search: the text that was found. */
            match?: components["schemas"]["TextMatch"];
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
            /** @description The author of the title: `person`, also if a person has removed it, or `model`. Absent without one. */
            titleSource?: components["schemas"]["TitleSource"];
            /** @description The time of the last change, including new messages. */
            updatedAt: components["schemas"]["Timestamp"];
            /** @description The user that the conversation belongs to. */
            userId?: string | null;
            /**
             * Format: int64
             * @description 1, 2, 3 …: increases by one with every change of title, metadata, context, user, `handledBy` or
             *     `assignee`.
             */
            version: number;
            /** @description The time since which the user waits for staff. Absent otherwise, and for users. */
            waitingSince?: components["schemas"]["Timestamp"];
        };
        /** @description The event `conversation.created`. */
        ConversationCreatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["ConversationEventDataOrDeleted"];
            /** @constant */
            type: "conversation.created";
        };
        /** @description The event `conversation.deleted`. */
        ConversationDeletedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["ConversationDeletedEventDataOrDeleted"];
            /** @constant */
            type: "conversation.deleted";
        };
        /**
         * ConversationDeletedEventData
         * @description The content of `conversation.deleted`.
         */
        ConversationDeletedEventData: {
            /** @description The id and last version of the conversation. */
            conversation: components["schemas"]["Tombstone_ConversationId"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        ConversationDeletedEventDataOrDeleted: components["schemas"]["ConversationDeletedEventData"] | components["schemas"]["DeletedEventData"];
        /** @description JSON merge patch (RFC 7396) of `ConversationDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        ConversationDraftPatch: {
            /**
             * @description The member of staff who has taken the conversation over, while `handledBy` is `staff`. Users neither
             *     see nor change it. Default: none.
             */
            assignee?: string | null;
            /**
             * @description What the model is told about the conversation. Users see and change it only with
             *     `conversations:all`. Default: none.
             */
            context?: string | null;
            /**
             * @description Who answers the user. While it is `staff`, messages are stored and the agent does not reply. Users
             *     set only `staff`, and only if the agent's `config.allowHandOver` is true. Default: `agent`.
             */
            handledBy?: components["schemas"]["Handler"] | null;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["MetadataPatch"] | null;
            /** @description The title, for people. Default: none. */
            title?: string | null;
            /**
             * @description The user that the conversation belongs to. Users change it only with `conversations:all`.
             *     Default: none.
             */
            userId?: string | null;
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
        /** @description The state after the change, unless its subject has been deleted since. */
        ConversationEventDataOrDeleted: components["schemas"]["ConversationEventData"] | components["schemas"]["DeletedEventData"];
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
        /** @description A page of conversations. */
        ConversationPage: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Conversation"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
            /**
             * Format: int64
             * @description On pages of a search: the `seq` of the last event whose texts were searched; null while older
             *     conversations are still being indexed.
             */
            searchedTo?: number | null;
        };
        /** @description A conversation to create. */
        ConversationRequest: {
            /** @description The agent that replies in the conversation. Required, except with `forkOf`. */
            agentId?: string;
            /**
             * @description What models are told about the conversation; that of the original if it is a fork. Users set
             *     and read it only with `conversations:all`.
             */
            context?: string | null;
            /**
             * @description Your own name for the conversation, unique for the agent and the user. If it is used, the
             *     conversation with this name is returned unchanged. Neither `.` nor `..`.
             */
            conversationKey?: string | null;
            /**
             * @description The time at which such a conversation began: not after its first message, and not in the future. Only
             *     keys and clients set it. Default: the time of the first message.
             */
            createdAt?: components["schemas"]["Timestamp"];
            /**
             * @description The conversation whose messages the new one begins with: at most 1,000 messages that are not
             *     superseded. The new conversation has the same agent and user.
             */
            forkOf?: components["schemas"]["ForkRequest"];
            /**
             * @description The messages of a conversation that was led elsewhere, oldest first, in place of a greeting. Only keys
             *     and clients set them, and not with `forkOf`. The body may then have 8 MiB.
             */
            messages?: components["schemas"]["ImportedMessage"][];
            /** @description Pairs of strings for the client's own use. */
            metadata?: components["schemas"]["Metadata"];
            /** @description A title for people. */
            title?: string | null;
            /** @description The user that the conversation belongs to. */
            userId?: string | null;
        };
        /** @description The event `conversation.updated`. */
        ConversationUpdatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["ConversationEventDataOrDeleted"];
            /** @constant */
            type: "conversation.updated";
        };
        /**
         * DeletedEventData
         * @description The subject of the event has been deleted since.
         */
        DeletedEventData: {
            /** @description Always true. */
            deleted: boolean;
        };
        /** @description A reply engine of this server. */
        EngineEntry: {
            /**
             * @description False while the circuit breaker of the engine is open: it failed too often, and the
             *     fallbacks of agents reply until a turn has tried it again. Also false if the last request to
             *     its server, a chat or one for its models, got no connection. This is not a health check: a
             *     server that accepts connections and rejects every chat is available at first.
             */
            available: boolean;
            /** @description True for the engine of agents that name none. */
            default: boolean;
            /** @description The kinds of files that it takes besides texts; those of its own model, if it has several. */
            inputs: components["schemas"]["EngineInput"][];
            /** @description The models for `config.llm.model`, if the engine knows them. */
            models?: string[];
            /** @description The name, for `config.engine` and `config.fallbacks`. */
            name: string;
        };
        /**
         * @description A kind of file that an engine takes.
         * @enum {string}
         */
        EngineInput: "image" | "pdf" | "audio";
        /** @description The name of one of `fallbacks`. */
        EngineName: string;
        /** @description The numbers of what an erasure has removed. */
        ErasureCounts: {
            /**
             * Format: int64
             * @description The number of conversations.
             */
            conversations: number;
            /**
             * Format: int64
             * @description The number of messages in them, without superseded ones.
             */
            messages: number;
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        ErasureId: string;
        /** @description The record of one change, as clients receive it. */
        Event: components["schemas"]["AgentCreatedEvent"] | components["schemas"]["AgentDeletedEvent"] | components["schemas"]["AgentUpdatedEvent"] | components["schemas"]["ConversationCreatedEvent"] | components["schemas"]["ConversationDeletedEvent"] | components["schemas"]["ConversationUpdatedEvent"] | components["schemas"]["MessageCreatedEvent"] | components["schemas"]["MessageDeletedEvent"] | components["schemas"]["MessageRatedEvent"] | components["schemas"]["MessageUpdatedEvent"] | components["schemas"]["MessagesSupersededEvent"] | components["schemas"]["NoteCreatedEvent"] | components["schemas"]["NoteDeletedEvent"] | components["schemas"]["TurnCancelledEvent"] | components["schemas"]["TurnCompletedEvent"] | components["schemas"]["TurnFailedEvent"] | components["schemas"]["TurnQueuedEvent"] | components["schemas"]["TurnRequires_actionEvent"] | components["schemas"]["TurnResumedEvent"] | components["schemas"]["TurnStartedEvent"] | components["schemas"]["UserErasedEvent"] | components["schemas"]["UserUpdatedEvent"];
        /** @description The members of every event. */
        EventHead: {
            /** @description The principal that made the change. To users, all but themselves, `system` and `service` are `staff`. */
            actor: components["schemas"]["PrincipalId"];
            /** @description The agent that the event concerns. */
            agentId?: components["schemas"]["AgentId"];
            /** @description The conversation that the event concerns. */
            conversationId?: components["schemas"]["ConversationId"];
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
            /** @description The user that the conversation belongs to. */
            userId?: string;
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
        /** @description One page of the event log. */
        EventPageBody: {
            /** @description The events, in order of `seq`. */
            data: components["schemas"]["Event"][];
            /** @description The `seq` of the oldest event in the log. */
            firstSeq: components["schemas"]["Seq"];
            /** @description True if the log has events after `nextSince`. */
            hasMore: boolean;
            /** @description The `seq` of the newest event in the log. */
            headSeq: components["schemas"]["Seq"];
            /** @description The value of `since` for the next page. */
            nextSince: components["schemas"]["Seq"];
        };
        /** @description A profile in events, without the greeting, which can be another for each user. */
        EventProfile: {
            /** @description A short description of the agent for visitors; empty if it has none. */
            description: string;
            /** @description The agent's id, in paths and in chat. */
            id: components["schemas"]["AgentId"];
            /** @description String pairs for pages. */
            metadata: components["schemas"]["Metadata"];
            /** @description Display name. */
            name: string;
            /** @description Messages that a page can offer to send. */
            suggestions: string[];
        };
        /** @description An engine that answers if those before have failed. */
        Fallback: components["schemas"]["EngineName"] | components["schemas"]["FallbackModel"];
        /** @description An engine, and the model that answers there. */
        FallbackModel: {
            /** @description Name of the engine. It may be that of the agent. */
            engine: components["schemas"]["EngineName"];
            /** @description The model's name at the provider. */
            model: string;
        };
        /**
         * @description The kind of a fault, for programs.
         * @enum {string}
         */
        FaultCode: "required" | "unknown_member" | "duplicate_member" | "wrong_type" | "too_short" | "too_long" | "too_small" | "too_large" | "too_many" | "bad_character" | "bad_format" | "duplicate_item" | "unknown_value" | "not_combinable" | "schema";
        /** @description A rating of a message. */
        Feedback: {
            /** @description The reason; null without one. */
            comment?: string | null;
            /** @description The principal that has rated. Absent if that is the user of the conversation. */
            principal?: components["schemas"]["PrincipalId"];
            /** @description `up` or `down`. */
            rating: components["schemas"]["Rating"];
            /** @description The time of the last change. */
            updatedAt: components["schemas"]["Timestamp"];
            /** @description The user of the conversation, if it has rated; null if another principal has. */
            userId?: string | null;
        };
        /** @description A rating that is to be stored. */
        FeedbackDraft: {
            /** @description The reason. Default: none. */
            comment?: string | null;
            /** @description `up` or `down`. */
            rating: components["schemas"]["Rating"];
            /** @description The user of the conversation, if a key or a client rates for it. */
            userId?: string | null;
        };
        /** @description An uploaded file. */
        File: components["schemas"]["FileReference"] & {
            /** @description The time of the upload. */
            createdAt: components["schemas"]["Timestamp"];
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /** @description The SHA-256 digest of the content. */
            sha256: components["schemas"]["ContentDigest"];
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        FileId: string;
        /** @description A link to the content of a file. */
        FileLink: {
            /** @description The time until which it is valid. It ends with the file. */
            expiresAt: components["schemas"]["Timestamp"];
            /**
             * @description The address of the content, which needs no credential.
             * @example https://agents.example.org/api/files/01a1f84a-95c1-7000-8000-000000000001/content?link=…
             */
            url: string;
        };
        /** @description A file of a message. */
        FileReference: {
            /**
             * Format: int64
             * @description The size in bytes.
             */
            bytes: number;
            /** @description The file's id. */
            id: components["schemas"]["FileId"];
            /**
             * @description The media type, as its content shows it.
             * @example image/png
             */
            mediaType: string;
            /** @description The name, at most 255 characters. */
            name: string;
        };
        /**
         * @description The reason why a reply ended.
         * @enum {string}
         */
        FinishReason: "stop" | "length" | "content_filter" | "cancelled" | "requires_action" | "dismissed" | "handed_over";
        /** @description The origin of a fork. */
        ForkOrigin: {
            /** @description The conversation whose messages were copied. */
            conversationId: components["schemas"]["ConversationId"];
            messageId?: components["schemas"]["MessageId"] | null;
        };
        /** @description The messages that a fork begins with. */
        ForkRequest: {
            /** @description The conversation. */
            conversationId: string;
            /** @description The last message to copy. Default: all messages. */
            messageId?: string | null;
        };
        /** @description An active token. */
        GoodToken: {
            /** @description Always true. */
            active: boolean;
            /** @description The only agents that it can reach; absent for all. */
            agent_ids?: components["schemas"]["AgentId"][];
            /** @description The audience: this service. */
            aud: string;
            /** @description The client that it was issued to, or the key or client that issued it to a user. */
            client_id: string;
            /**
             * Format: int64
             * @description The time at which it expires, in seconds since 1970.
             */
            exp: number;
            /**
             * Format: int64
             * @description The time at which it was issued, in seconds since 1970.
             */
            iat: number;
            /** @description The issuer: this service. */
            iss: string;
            /** @description Its id. */
            jti: string;
            /** @description Its scopes, separated by spaces. */
            scope: string;
            /** @description The same as `client_id`, or `user:<userId>`. */
            sub: string;
            /** @description The type of the token. */
            token_type: string;
        };
        /**
         * @description Who answers the user.
         * @enum {string}
         */
        Handler: "agent" | "staff";
        /** @description The hand-over of a conversation to staff by its agent. */
        Handover: {
            /** @description The time of the hand-over. */
            at: components["schemas"]["Timestamp"];
            /** @description The reason that the agent has given; null without one. */
            reason?: string | null;
        };
        /** @description The result of a health check. */
        Health: {
            /**
             * @description The connections of the process, with `verbose`: each is `ok` or `unavailable`. Required is
             *     `store`; in a far region `access`, and `store` or `home`. The service works without the others.
             */
            checks?: {
                [key: string]: string;
            } | null;
            /** @description Always `ok`. */
            status: string;
        };
        /** @description A message that is not stored. */
        HistoryItem: {
            /** @description The text of the message. */
            content: string;
            /** @description The author of the message. */
            role: components["schemas"]["Role"];
        };
        /** @description Limits of the conversation history that the engine receives; all apply. */
        HistoryLimits: {
            /**
             * Format: int32
             * @description Maximum number of characters in all messages, tool calls and results. Default 48000.
             */
            maxCharacters?: number;
            /**
             * Format: int32
             * @description Maximum number of messages. Default 40.
             */
            maxMessages?: number;
            /**
             * @description Whether the engine receives the tool calls of earlier turns with the first 4 KiB of each result.
             *     Default true.
             */
            toolResults?: boolean;
        };
        /** @description JSON merge patch (RFC 7396) of `HistoryLimits`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        HistoryLimitsPatch: {
            /**
             * Format: int32
             * @description Maximum number of characters in all messages, tool calls and results. Default 48000.
             */
            maxCharacters?: number | null;
            /**
             * Format: int32
             * @description Maximum number of messages. Default 40.
             */
            maxMessages?: number | null;
            /**
             * @description Whether the engine receives the tool calls of earlier turns with the first 4 KiB of each result.
             *     Default true.
             */
            toolResults?: boolean | null;
        };
        /** @description A message of an imported conversation. */
        ImportedMessage: {
            author?: components["schemas"]["AuthorDraft"] | null;
            /** @description The client's own id of the message. */
            clientMessageId?: string | null;
            /** @description The text. */
            content: string;
            /** @description The time of the message: not before that of the message before it, and not in the future. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description `user` or `agent`. */
            role: components["schemas"]["Role"];
        };
        /** @description The result of an introspection. */
        IntrospectionBody: components["schemas"]["GoodToken"] | components["schemas"]["NoToken"];
        /** @description An API key, without its secret. */
        Key: {
            /** @description The only agents that it can reach; absent for all. */
            agentIds?: components["schemas"]["AgentId"][];
            /** @description The only browser origins that may use it; empty for any. */
            allowedOrigins: string[];
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /**
             * @description The id of the key: the part of its value between `agk_` and the next underscore.
             * @example 74RKAhxVi44o
             */
            id: string;
            /** @description The last four characters of its value. */
            last4: string;
            lastUsedAt?: components["schemas"]["Timestamp"] | null;
            /** @description Rate limits of this key. An absent limit is that of the server. */
            limits: components["schemas"]["LimitOverrides"];
            /** @description A name for people. */
            name: string;
            revokedAt?: components["schemas"]["Timestamp"] | null;
            /** @description Its scopes. */
            scopes: components["schemas"]["Scope"][];
        };
        /**
         * @description A signature algorithm.
         * @enum {string}
         */
        KeyAlgorithm: "ES256" | "ES384" | "RS256" | "PS256" | "EdDSA" | "Ed25519";
        /**
         * @description A curve.
         * @enum {string}
         */
        KeyCurve: "P-256" | "P-384" | "Ed25519";
        /** @description An API key to create. */
        KeyDraft: {
            /**
             * @description The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
             *     the caller, usually all.
             */
            agentIds?: components["schemas"]["AgentId"][];
            /** @description The only browser origins that may use it. Default: any. */
            allowedOrigins?: components["schemas"]["Origin"][];
            expiresAt?: components["schemas"]["Timestamp"] | null;
            limits?: components["schemas"]["LimitOverrides"] | null;
            /** @description A name for people. */
            name: string;
            /** @description Its scopes: only scopes that the caller has. */
            scopes: components["schemas"]["Scope"][];
        };
        /** @description JSON merge patch (RFC 7396) of `KeyDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        KeyDraftPatch: {
            /**
             * @description The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
             *     the caller, usually all.
             */
            agentIds?: components["schemas"]["AgentId"][] | null;
            /** @description The only browser origins that may use it. Default: any. */
            allowedOrigins?: components["schemas"]["Origin"][] | null;
            /** @description The time at which it expires; must be in the future. Default: never. */
            expiresAt?: components["schemas"]["Timestamp"] | null;
            /** @description Rate limits of this key. Default: those of the server. */
            limits?: components["schemas"]["LimitOverridesPatch"] | null;
            /** @description A name for people. */
            name?: string;
        };
        /**
         * @description The use of a key.
         * @enum {string}
         */
        KeyPurpose: "sig";
        /** @description The rotation of a key. */
        KeyRotation: {
            /**
             * Format: int32
             * @description The time in seconds for which the previous secret stays valid beside the new one. Default:
             *     0.
             */
            overlapSeconds?: number;
        };
        /** @description A JWK set (RFC 7517). */
        KeySet: {
            /** @description The public keys with which tokens can be verified. */
            keys: Record<string, never>[];
        };
        /**
         * @description The type of a key.
         * @enum {string}
         */
        KeyType: "EC" | "OKP" | "RSA";
        /** @description A key that was just created or rotated, with its secret. */
        KeyWithSecret: components["schemas"]["Key"] & {
            /**
             * @description The whole value, to be sent as `X-API-Key`. It is shown only once.
             * @example agk_74RKAhxVi44o_…
             */
            secret: string;
        };
        /** @description One word of `keywords`. */
        Keyword: string;
        /**
         * @description Rate limits of one key or client, in place of the server's. Absent members keep the server's
         *     limit.
         */
        LimitOverrides: {
            /**
             * Format: int32
             * @description Chats at once.
             */
            chatBurst?: number;
            /**
             * Format: int32
             * @description Chats per minute.
             */
            chatPerMinute?: number;
            /**
             * Format: int64
             * @description Bytes of uploaded files on a day of UTC.
             */
            fileBytesPerDay?: number;
            /**
             * Format: int32
             * @description Uploaded files on a day of UTC.
             */
            filesPerDay?: number;
            /**
             * Format: int32
             * @description Requests at once.
             */
            requestsBurst?: number;
            /**
             * Format: int32
             * @description Requests per minute.
             */
            requestsPerMinute?: number;
            /**
             * Format: int32
             * @description Open streams and sockets at once.
             */
            streams?: number;
        };
        /** @description JSON merge patch (RFC 7396) of `LimitOverrides`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        LimitOverridesPatch: {
            /**
             * Format: int32
             * @description Chats at once.
             */
            chatBurst?: number | null;
            /**
             * Format: int32
             * @description Chats per minute.
             */
            chatPerMinute?: number | null;
            /**
             * Format: int64
             * @description Bytes of uploaded files on a day of UTC.
             */
            fileBytesPerDay?: number | null;
            /**
             * Format: int32
             * @description Uploaded files on a day of UTC.
             */
            filesPerDay?: number | null;
            /**
             * Format: int32
             * @description Requests at once.
             */
            requestsBurst?: number | null;
            /**
             * Format: int32
             * @description Requests per minute.
             */
            requestsPerMinute?: number | null;
            /**
             * Format: int32
             * @description Open streams and sockets at once.
             */
            streams?: number | null;
        };
        /** @description All limits for the caller. */
        LimitsBody: {
            /**
             * Format: int64
             * @description The time in seconds in which a body must arrive.
             */
            bodySeconds: number;
            /** @description The rate limits. */
            rates: components["schemas"]["Rates"];
            /** @description The maximum sizes. */
            sizes: components["schemas"]["Sizes"];
            /** @description The limits of each socket. */
            sockets: components["schemas"]["SocketLimits"];
        };
        /** @description All items of a kind; few enough for one response. */
        Listing_CapabilityEntry: {
            data: components["schemas"]["CapabilityEntry"][];
        };
        /** @description All items of a kind; few enough for one response. */
        Listing_EngineEntry: {
            data: components["schemas"]["EngineEntry"][];
        };
        /** @description Settings of the language model. */
        LlmSettings: {
            /**
             * @description Additional members of requests to the provider, at most 8 KiB: only those that the operator permits
             *     (`LLM__EXTRA_BODY`). Fallbacks with another provider do not receive them.
             *     Default: none.
             */
            extraBody?: Record<string, never>;
            /**
             * Format: int32
             * @description Maximum number of tokens of one reply.
             */
            maxOutputTokens?: number;
            /** @description The model's name at the provider. */
            model?: string;
            /**
             * @description How long the model reasons before it replies; `none` turns it off. In place of a value that the model refuses it
             *     receives the next longer one up to `low`, and else none. Default: that of the model.
             */
            reasoningEffort?: components["schemas"]["ReasoningEffort"];
            /**
             * Format: int64
             * @description Seed for repeatable sampling, if the provider supports it.
             */
            seed?: number;
            /**
             * @description The callers that receive the model's reasoning; for `staff` and `everyone` it is stored with the turn, too.
             *     Default: `never`.
             */
            showReasoning?: components["schemas"]["ShowReasoning"];
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
        /** @description JSON merge patch (RFC 7396) of `LlmSettings`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        LlmSettingsPatch: {
            /**
             * @description Additional members of requests to the provider, at most 8 KiB: only those that the operator permits
             *     (`LLM__EXTRA_BODY`). Fallbacks with another provider do not receive them.
             *     Default: none.
             */
            extraBody?: Record<string, never> | null;
            /**
             * Format: int32
             * @description Maximum number of tokens of one reply.
             */
            maxOutputTokens?: number | null;
            /** @description The model's name at the provider. */
            model?: string | null;
            /**
             * @description How long the model reasons before it replies; `none` turns it off. In place of a value that the model refuses it
             *     receives the next longer one up to `low`, and else none. Default: that of the model.
             */
            reasoningEffort?: components["schemas"]["ReasoningEffort"] | null;
            /**
             * Format: int64
             * @description Seed for repeatable sampling, if the provider supports it.
             */
            seed?: number | null;
            /**
             * @description The callers that receive the model's reasoning; for `staff` and `everyone` it is stored with the turn, too.
             *     Default: `never`.
             */
            showReasoning?: components["schemas"]["ShowReasoning"] | null;
            /** @description Texts at which the reply ends. */
            stop?: components["schemas"]["StopText"][] | null;
            /**
             * @description Whether the model accepts a system message. If `false`, its text begins the first message of
             *     the user. Default: true.
             */
            systemRole?: boolean | null;
            /**
             * Format: double
             * @description Sampling temperature.
             */
            temperature?: number | null;
            /**
             * Format: double
             * @description Nucleus sampling.
             */
            topP?: number | null;
        };
        /** @description The data of an event in the stream, by its type. */
        LogEvent: components["schemas"]["Event"] | components["schemas"]["Resync"];
        /** @description One message of a conversation. */
        Message: {
            /**
             * Format: int64
             * @description On agent messages: the version of the agent that replied.
             */
            agentVersion?: number;
            /** @description On agent messages that a person has written: who. */
            author?: components["schemas"]["Author"];
            /** @description On messages of users and staff: the client's own id of the message. */
            clientMessageId?: string;
            /** @description The text of the message. */
            content: string;
            /** @description The conversation of the message. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The time at which it was stored, or that with which it was imported. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description On agent messages: the engine that produced the reply. */
            engine?: string;
            /** @description On user messages of a listing whose turn has failed or was cancelled: the reason. */
            error?: components["schemas"]["MessageError"];
            /** @description On agent messages of a listing that were rated: the ratings. Users see their own. */
            feedback?: components["schemas"]["Feedback"][];
            /** @description The files of the message. */
            files?: components["schemas"]["FileReference"][];
            /** @description On agent messages: the reason why the reply ended. */
            finishReason?: components["schemas"]["FinishReason"];
            /** @description The message's id. */
            id: components["schemas"]["MessageId"];
            /**
             * @description On agent messages: the model that produced the reply, as its provider names it, or else as it was asked for.
             *     Null without one, if several replied to the requests of the turn, and if nothing names it.
             */
            model?: string | null;
            /**
             * @description On agent messages that satisfy the `responseSchema` of their turn: the JSON value of the content; null is
             *     a value.
             */
            output?: unknown;
            /** @description True if the model has had to correct the output; otherwise absent. */
            repaired?: boolean;
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
            /** @description On agent messages of a listing: the tool calls of the turn, in order, as far as they are shown. */
            toolCalls?: components["schemas"]["ToolCall"][];
            turnId?: components["schemas"]["TurnId"] | null;
            /**
             * @description The state of the turn: on user messages of a listing, and on agent messages whose turn waits for an
             *     answer to a tool call or goes on after one. The content of those is the text so far.
             */
            turnStatus?: components["schemas"]["TurnStatus"];
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The event `message.created`. */
        MessageCreatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["MessageEventDataOrDeleted"];
            /** @constant */
            type: "message.created";
        };
        /** @description The event `message.deleted`. */
        MessageDeletedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["MessageDeletedEventDataOrDeleted"];
            /** @constant */
            type: "message.deleted";
        };
        /**
         * MessageDeletedEventData
         * @description The content of `message.deleted`.
         */
        MessageDeletedEventData: {
            /** @description The message that is no longer part of the conversation. */
            message: components["schemas"]["MessagePlace"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        MessageDeletedEventDataOrDeleted: components["schemas"]["MessageDeletedEventData"] | components["schemas"]["DeletedEventData"];
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
         * MessageEventData
         * @description The content of `message.created` and `message.updated`.
         */
        MessageEventData: {
            /** @description The message in its state when the log is read. */
            message: components["schemas"]["EventMessage"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        MessageEventDataOrDeleted: components["schemas"]["MessageEventData"] | components["schemas"]["DeletedEventData"];
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        MessageId: string;
        /** @description The id of a message and its position in its conversation. */
        MessagePlace: {
            /** @description The message's id. */
            id: components["schemas"]["MessageId"];
            /**
             * Format: int64
             * @description The message's position in the conversation.
             */
            seq: number;
        };
        /** @description The event `message.rated`. */
        MessageRatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["MessageRatedEventDataOrDeleted"];
            /** @constant */
            type: "message.rated";
        };
        /**
         * MessageRatedEventData
         * @description The content of `message.rated`.
         */
        MessageRatedEventData: {
            feedback?: components["schemas"]["Feedback"] | null;
            /** @description The message. */
            message: components["schemas"]["MessagePlace"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        MessageRatedEventDataOrDeleted: components["schemas"]["MessageRatedEventData"] | components["schemas"]["DeletedEventData"];
        /** @description The event `messages.superseded`. */
        MessagesSupersededEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["MessagesSupersededEventDataOrDeleted"];
            /** @constant */
            type: "messages.superseded";
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
        /** @description The state after the change, unless its subject has been deleted since. */
        MessagesSupersededEventDataOrDeleted: components["schemas"]["MessagesSupersededEventData"] | components["schemas"]["DeletedEventData"];
        /** @description The event `message.updated`. */
        MessageUpdatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["MessageEventDataOrDeleted"];
            /** @constant */
            type: "message.updated";
        };
        /** @description String pairs that the service stores and returns, and never interprets. */
        Metadata: {
            [key: string]: string;
        };
        /** @description JSON merge patch (RFC 7396) of `Metadata`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        MetadataPatch: {
            [key: string]: string | null;
        };
        /** @description A running process of the service, in any region. Times are of the store's clock. */
        NodeEntry: {
            /**
             * @description The time at which a node of a far region opened its stream to the home region; absent for other
             *     nodes, and without a stream.
             */
            connectedAt?: components["schemas"]["Timestamp"];
            /** @description The id, which is new at each start. */
            id: components["schemas"]["NodeId"];
            /**
             * @description The time at which its lease ends unless it is renewed. Other nodes then fail its turns. A node
             *     of a far region is then no longer listed.
             */
            leaseExpiresAt: components["schemas"]["Timestamp"];
            /**
             * Format: int32
             * @description The level of its program: what it can read and continue. While nodes have several levels, some
             *     new features wait for the last one to be replaced. Absent for versions that do not report it.
             */
            level?: number;
            /** @description The name of its region; absent if it has none. */
            region?: string;
            /**
             * Format: int64
             * @description The time in milliseconds since the last renewal of its lease, or since the last report of a
             *     node of a far region. Nodes renew it every three seconds.
             */
            renewedMillisecondsAgo: number;
            /**
             * @description True for the node that responds. A request to a far region is passed on to a node of the home
             *     region, which responds.
             */
            responding: boolean;
            /**
             * Format: int32
             * @description The number of turns that it runs. Nodes of far regions run none.
             */
            runningTurns: number;
            /** @description The time at which its process started; absent for versions that do not report it. */
            startedAt?: components["schemas"]["Timestamp"];
            /** @description The version of its program; absent for versions that do not report it. */
            version?: string;
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        NodeId: string;
        /** @description The live nodes. */
        NodeListing: {
            data: components["schemas"]["NodeEntry"][];
        };
        /** @description A note of staff about a conversation. */
        Note: {
            /** @description The author. */
            author: components["schemas"]["Author"];
            /** @description The text. */
            content: string;
            /** @description The conversation of the note. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The files. Who may not read notes may not read those that no message has. */
            files: components["schemas"]["FileReference"][];
            /** @description The note's id. */
            id: components["schemas"]["NoteId"];
        };
        /** @description The event `note.created`. */
        NoteCreatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["NoteEventDataOrDeleted"];
            /** @constant */
            type: "note.created";
        };
        /** @description The event `note.deleted`. */
        NoteDeletedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["NoteEventDataOrDeleted"];
            /** @constant */
            type: "note.deleted";
        };
        /** @description A note that is to be written. */
        NoteDraft: {
            author?: components["schemas"]["AuthorDraft"] | null;
            /** @description The text. It may be absent or empty only with `files`. */
            content?: string;
            /** @description The ids of the files of the note, each once. A file that another conversation uses cannot be used. */
            files?: string[];
        };
        /**
         * NoteEventData
         * @description The content of `note.created` and `note.deleted`.
         */
        NoteEventData: {
            /** @description The note. */
            note: components["schemas"]["NoteReference"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        NoteEventDataOrDeleted: components["schemas"]["NoteEventData"] | components["schemas"]["DeletedEventData"];
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        NoteId: string;
        /** @description The id of a note. Its text is in no event, so that nothing is left of it once it is deleted. */
        NoteReference: {
            /** @description The note's id. */
            id: components["schemas"]["NoteId"];
        };
        /** @description A token that is not active. */
        NoToken: {
            /** @description Always false. */
            active: boolean;
        };
        /** @description An error as in RFC 6749 (5.2). */
        OAuthError: {
            /**
             * @description The error code of RFC 6749, RFC 7009 or RFC 8707.
             * @example invalid_client
             */
            error: string;
            /** @description A description for people. */
            error_description: string;
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
        /**
         * @description An origin exactly as browsers send it: without a path, and without the default port of its
         *     scheme.
         * @example https://shop.example:8443
         */
        Origin: string;
        /** @description One page of a list. */
        PageOf_Agent: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Agent"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Client: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Client"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Key: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Key"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Message: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Message"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Note: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Note"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Profile: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Profile"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_RatedMessage: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["RatedMessage"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_Turn: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["Turn"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description One page of a list. */
        PageOf_User: {
            /** @description The items, in the order of the list. */
            data: components["schemas"]["User"][];
            /** @description True if more items follow. */
            hasMore: boolean;
            /** @description The value of `cursor` for the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description The region that responds. */
        Pong: {
            /** @description Its name; absent if it has none. */
            region?: string;
        };
        /** @description The principal of the caller. */
        PrincipalBody: {
            /** @description The only agents that the credential can reach; absent for all. */
            agentIds?: components["schemas"]["AgentId"][];
            /** @description The id, as `actor` in events. */
            id: components["schemas"]["PrincipalId"];
            /** @description The scopes of the credential. */
            scopes: components["schemas"]["Scope"][];
            /** @description The tenant of the caller. */
            tenantId: components["schemas"]["TenantId"];
            /** @description The user id, for users. */
            userId?: string;
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
        /** @description The whole error catalogue. */
        ProblemCatalogue: {
            /** @description All codes that the server returns. */
            data: components["schemas"]["ProblemEntry"][];
        };
        /**
         * @description The kind of a problem, for programs.
         * @enum {string}
         */
        ProblemCode: "malformed_json" | "invalid_cursor" | "invalid_header" | "invalid_subprotocol" | "ambiguous_credentials" | "unauthenticated" | "invalid_credentials" | "token_expired" | "invalid_ticket" | "own_conversation" | "insufficient_scope" | "origin_not_allowed" | "route_not_found" | "agent_not_found" | "conversation_not_found" | "turn_not_found" | "action_not_found" | "key_not_found" | "client_not_found" | "note_not_found" | "file_not_found" | "message_not_found" | "user_not_found" | "method_not_allowed" | "not_acceptable" | "request_timeout" | "conversation_busy" | "conversation_key_in_use" | "file_in_use" | "message_superseded" | "turn_cancelled" | "action_required" | "action_decided" | "action_expired" | "idempotency_key_in_use" | "idempotency_key_used" | "cursor_expired" | "version_mismatch" | "body_too_large" | "uri_too_long" | "unsupported_media_type" | "range_not_satisfiable" | "validation_failed" | "file_type_not_accepted" | "file_rejected" | "idempotency_key_reused" | "invalid_rule" | "unknown_engine" | "unknown_tool" | "unknown_command" | "upgrade_required" | "rate_limited" | "too_many_streams" | "internal" | "engine_failed" | "invalid_output" | "engine_unavailable" | "store_unavailable" | "home_unavailable" | "issuer_unavailable" | "files_unavailable" | "overloaded" | "draining" | "upgrading" | "interrupted" | "engine_timeout";
        /** @description One entry of the error catalogue. */
        ProblemEntry: {
            /** @description The code. */
            code: components["schemas"]["ProblemCode"];
            /** @description The action to take. */
            remedy: string;
            /** @description True if the same request can succeed later. */
            retryable: boolean;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description The meaning of the code. */
            title: string;
        };
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
        /** @description The public part of an agent: all that callers without `agents:read` see of it. */
        Profile: components["schemas"]["EventProfile"] & {
            /** @description The first message of a conversation; null if the agent waits for the user's. */
            greeting?: string | null;
        };
        /** @description The public description of an agent, in addition to its name and greeting. */
        ProfileConfig: {
            /** @description A short description of the agent for visitors. Default: empty. */
            description?: string;
            /** @description String pairs for pages, which every visitor can read. Default: none. */
            metadata?: components["schemas"]["Metadata"];
            /** @description Messages that a page can offer to send. Default: none. */
            suggestions?: components["schemas"]["Suggestion"][];
        };
        /** @description JSON merge patch (RFC 7396) of `ProfileConfig`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        ProfileConfigPatch: {
            /** @description A short description of the agent for visitors. Default: empty. */
            description?: string | null;
            /** @description String pairs for pages, which every visitor can read. Default: none. */
            metadata?: components["schemas"]["MetadataPatch"] | null;
            /** @description Messages that a page can offer to send. Default: none. */
            suggestions?: components["schemas"]["Suggestion"][] | null;
        };
        /**
         * ProfileEventData
         * @description The same for readers without `agents:read`.
         */
        ProfileEventData: {
            /** @description The profile of the agent after the change. */
            profile: components["schemas"]["EventProfile"];
        };
        /** @description The metadata of the protected resource: the tokens that this service accepts. */
        ProtectedResourceMetadata: {
            /** @description The accepted issuers: this service, and the issuers that the operator trusts. */
            authorization_servers: string[];
            /** @description Only in `Authorization: Bearer`. */
            bearer_methods_supported: string[];
            jwks_uri: string;
            /** @description Its name: the public URL. */
            resource: string;
            resource_documentation: string;
            resource_name: string;
            scopes_supported: components["schemas"]["Scope"][];
        };
        /**
         * @description A public key (RFC 7517): on P-256, P-384 or Ed25519, or RSA of 2,048 to 8,192 bits. Members of
         *     private keys are rejected; other members that are not listed here are ignored.
         */
        PublicKey: {
            /** @description The algorithm of its signatures. When absent, any that fits the key. */
            alg?: components["schemas"]["KeyAlgorithm"];
            /** @description The curve, for `EC` and `OKP`. */
            crv?: components["schemas"]["KeyCurve"];
            /** @description The exponent in base64url, for `RSA`. */
            e?: string;
            /** @description The id of the key; unique in the set. */
            kid?: string;
            /** @description The type of the key. */
            kty: components["schemas"]["KeyType"];
            /** @description The modulus in base64url, for `RSA`. */
            n?: string;
            /** @description The use of the key. */
            use?: components["schemas"]["KeyPurpose"];
            /** @description The x coordinate in base64url, for `EC` and `OKP`. */
            x?: string;
            /** @description The y coordinate in base64url, for `EC`. */
            y?: string;
        };
        /** @description Public keys (RFC 7517). */
        PublicKeySet: {
            /** @description The keys. */
            keys: components["schemas"]["PublicKey"][];
        };
        /** @description A long-term rate per minute, and a burst. */
        Quota: {
            /**
             * Format: int32
             * @description The maximum number of units that can be saved up and used at once.
             */
            burst: number;
            /**
             * Format: int32
             * @description The number of units that are refilled each minute, evenly.
             */
            perMinute: number;
        };
        /** @description A rating in a listing, with what was rated. */
        RatedMessage: components["schemas"]["Feedback"] & {
            /** @description The agent of the conversation. */
            agentId: components["schemas"]["AgentId"];
            /**
             * Format: int64
             * @description The version of the agent that replied; null for greetings and messages of staff.
             */
            agentVersion?: number | null;
            /** @description The conversation of the message. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The message. */
            messageId: components["schemas"]["MessageId"];
        };
        RateLimitProblem: components["schemas"]["Problem"] & {
            /** @description The limits that rejected the request, by their names in `RateLimit-Policy`. `user_tokens` counts the tokens issued to users, `log_bytes` the bytes of agents' events, `files` and `file_bytes` the uploads of a day, `streams` the open streams, and `address` the requests from one network address without a recently verified credential. */
            violatedPolicies?: ("requests" | "chat" | "user_tokens" | "log_bytes" | "files" | "file_bytes" | "streams" | "commands" | "address")[];
        };
        /** @description The rate limits of the caller. */
        Rates: {
            /**
             * @description Requests from one address without a recently verified credential; absent if they are not
             *     counted.
             */
            address?: components["schemas"]["Quota"];
            /** @description Chats, which are counted as requests too. */
            chat: components["schemas"]["Quota"];
            /**
             * Format: int64
             * @description Their bytes.
             */
            fileBytesPerDay?: number;
            /**
             * Format: int32
             * @description Files that the caller uploads on a day of UTC; absent if they are not limited.
             */
            filesPerDay?: number;
            /** @description Bytes of the events of created and changed agents. Each event contains the whole agent. */
            logBytes: components["schemas"]["Quota"];
            /** @description Requests, including commands on sockets. */
            requests: components["schemas"]["Quota"];
            /**
             * Format: int32
             * @description Streams and sockets that are open at the same time.
             */
            streams: number;
            /** @description Tokens that the caller issues to users. */
            userTokens: components["schemas"]["Quota"];
        };
        /**
         * @description A judgement of a message.
         * @enum {string}
         */
        Rating: "up" | "down";
        /**
         * @description How long a model reasons before it replies.
         * @enum {string}
         */
        ReasoningEffort: "none" | "minimal" | "low" | "medium" | "high";
        /** @description A region of the service. */
        RegionEntry: {
            /** @description True for the region of the primary database, where writes are decided. */
            isHome: boolean;
            /** @description The name; absent for a home region without one. */
            name?: string;
            /**
             * @description The base URL for clients.
             * @example https://eu.agents.example.org
             */
            url: string;
        };
        /** @description The regions of the service. */
        RegionListing: {
            data: components["schemas"]["RegionEntry"][];
            /** @description The name of the region that responds; absent if it has none. */
            region?: string;
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
         * @description The author of a message.
         * @enum {string}
         */
        Role: "user" | "agent";
        /**
         * @description One rule: it matches by `pattern` or by `keywords`, and replies with `reply` or `replies`, if
         *     necessary after the `call` of a tool.
         */
        Rule: {
            /** @description The tool that is called before the reply. */
            call?: components["schemas"]["RuleCall"];
            /** @description The rule applies only if the agent has this capability. */
            capability?: string;
            /**
             * @description True if the rule hands the conversation over to staff before it replies: a `call` of the tool
             *     `hand_over`, which the agent need not name. Exclusive with `call`. Default: false.
             */
            handOver?: boolean;
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
             *     `{{agent.personality}}`, `{{message}}`, `{{user.id}}`, `{{capture.1}}`, `{{capture.name}}`, and
             *     beside a `call` `{{result}}`.
             */
            reply?: string;
        } & ((unknown | unknown) & (unknown | unknown));
        /**
         * @description A call of a tool. The turn then runs like one with a model that calls the tool: the call has the
         *     tool's time limit and visibility, and is stored. In the reply, `{{result}}` is its result, or why
         *     there is none.
         */
        RuleCall: {
            /**
             * @description The arguments, at most 64 KiB of JSON, nested at most 32 levels deep. Texts in them may contain
             *     the placeholders of replies, except `{{result}}`. Default: none.
             */
            arguments?: {
                [key: string]: unknown;
            };
            /**
             * @description A tool that the agent has by its `tools` or its capabilities: a built-in one, or
             *     `<server>/<tool>`.
             * @example calculator
             */
            tool: string;
        };
        /**
         * @description The outcome of a rule.
         * @enum {string}
         */
        RuleOutcome: "matched" | "missing_capability" | "missing_keyword" | "pattern_not_found" | "later";
        /**
         * @description The source of a reply of the rule engine.
         * @enum {string}
         */
        RuleReplySource: "rule" | "fallback_reply" | "small_talk" | "default";
        /** @description The result of one rule. */
        RuleResult: {
            /** @description With `missing_capability`: the capability that the agent lacks. */
            capability?: string;
            /** @description The index of the rule in the list of rules. */
            index: number;
            /** @description With `missing_keyword`: the first of the `keywords` that does not occur. */
            keyword?: string;
            /** @description The name of the rule, if it has one. */
            name?: string;
            /** @description The outcome: a match, or the first reason why the rule did not reply. */
            outcome: components["schemas"]["RuleOutcome"];
        };
        /** @description The reply of the rule engine to a test message, and the result of every rule. */
        RuleTest: {
            /** @description The call that the rule makes before it replies, if any. The test makes none. */
            call?: components["schemas"]["RuleCall"];
            /** @description The reason why the reply ended: `stop`, or `length` if it was cut. */
            finishReason: components["schemas"]["FinishReason"];
            /** @description The index in `rules` of the rule that replied; null if no rule matched. */
            matchedRule?: number | null;
            /** @description The reply. If the rule calls a tool, `{{result}}` stands for the result. */
            reply: string;
            /** @description One result for each rule, in their order. */
            rules: components["schemas"]["RuleResult"][];
            /** @description The source of the reply. */
            source: components["schemas"]["RuleReplySource"];
        };
        /** @description A message, and the rules to test it with. */
        RuleTestRequest: {
            /** @description The agent whose rules are tested. Required, except with `rules`. */
            agentId?: string;
            /** @description The capabilities that rules can require. Default: those of the agent. */
            capabilities?: components["schemas"]["Capability"][];
            /** @description The reply if no rule matches. Default: that of the agent. */
            fallbackReply?: string;
            /** @description The text of the message. */
            message: string;
            /** @description The rules to test. Default: those of the agent. */
            rules?: components["schemas"]["Rule"][];
            /** @description The tools that rules can call. Default: those of the agent. */
            tools?: components["schemas"]["ToolEntry"][];
            /**
             * Format: int64
             * @description The number of the turn in its conversation, from 0, which selects one of several `replies`.
             */
            turnNumber?: number;
            /** @description The user who sends the message, for `{{user.id}}`. */
            userId?: string;
        };
        /**
         * @description One permission.
         * @enum {string}
         */
        Scope: "agents:read" | "agents:write" | "chat:write" | "tools:approve" | "conversations:read" | "conversations:write" | "conversations:all" | "events:read" | "metrics:read" | "users:admin" | "keys:admin" | "user-tokens:issue";
        /**
         * Format: int64
         * @description A position in a tenant's log: 1, 2, 3 …, in the order of commits. 0 is before all events.
         */
        Seq: number;
        /**
         * @description The callers that receive the model's reasoning.
         * @enum {string}
         */
        ShowReasoning: "never" | "staff" | "everyone";
        /**
         * @description All size limits. The published schemas contain the defaults. A server that is configured
         *     otherwise publishes its own limits, also at `/api/limits`.
         */
        Sizes: {
            /**
             * Format: int32
             * @description Maximum number of bytes of a request's body.
             * @default 262144
             */
            bodyBytes: number;
            /**
             * Format: int32
             * @description Maximum number of capabilities of an agent.
             * @default 64
             */
            capabilities: number;
            /**
             * Format: int32
             * @description Maximum number of characters of one capability.
             * @default 64
             */
            capabilityCharacters: number;
            /**
             * Format: int32
             * @description Maximum number of bytes of a file.
             * @default 20971520
             */
            fileBytes: number;
            /**
             * Format: int32
             * @description Maximum number of characters of one chat message.
             * @default 32000
             */
            messageCharacters: number;
            /**
             * Format: int32
             * @description Maximum number of characters of an agent's name.
             * @default 128
             */
            nameCharacters: number;
            /**
             * Format: int32
             * @description Maximum number of characters of an agent's personality.
             * @default 8000
             */
            personalityCharacters: number;
            /**
             * Format: int32
             * @description Maximum number of rules of an agent.
             * @default 200
             */
            rules: number;
            /**
             * Format: int32
             * @description Maximum number of characters of a conversation's title.
             * @default 200
             */
            titleCharacters: number;
            /**
             * Format: int32
             * @description Maximum number of bytes of a request's target (path and query).
             * @default 8192
             */
            urlBytes: number;
            /**
             * Format: int32
             * @description Maximum number of characters of a user's id.
             * @default 320
             */
            userIdCharacters: number;
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
        /** @description A message of staff that is to be written. */
        StaffMessageDraft: {
            author?: components["schemas"]["AuthorDraft"] | null;
            /** @description The client's own id of the message. */
            clientMessageId?: string | null;
            /** @description The text. It may be empty only with `files`. */
            content: string;
            /** @description The ids of the files of the message, each once. A file that another conversation uses cannot be used. */
            files?: string[];
        };
        /** @description JSON merge patch (RFC 7396) of `StaffMessageDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        StaffMessageDraftPatch: {
            /** @description The text. It may be empty only with `files`. */
            content?: string;
        };
        /** @description A text at which the reply ends. */
        StopText: string;
        /** @description A message that a page can offer to send. */
        Suggestion: string;
        TenantId: string;
        /** @description The text that a search has found in a conversation. */
        TextMatch: {
            messageId?: components["schemas"]["MessageId"] | null;
            /** @description The part of the text around the first match: plain text in one line, at most 200 characters. */
            snippet: string;
        };
        /** @description A new ticket. */
        TicketBody: {
            /**
             * Format: int64
             * @description Seconds until the ticket expires.
             * @example 30
             */
            expiresIn: number;
            /**
             * @description The ticket, to be sent as `?ticket=` when a socket is opened.
             * @example agt_…
             */
            ticket: string;
        };
        /** @description A request for a ticket. */
        TicketRequest: {
            /**
             * @description The scopes of the ticket: a subset of the caller's that contains `events:read`, which every
             *     socket needs. Default: all scopes of the caller.
             */
            scopes?: components["schemas"]["Scope"][];
        };
        /**
         * Format: date-time
         * @example 2026-11-20T09:30:00.000Z
         */
        Timestamp: string;
        /** @description The settings of titles that a model writes. */
        TitlesConfig: {
            /**
             * @description Name of the engine that writes titles. Its fallbacks are not used, and engines without a model
             *     write none. A name that the server does not know is rejected, unless the agent had it before.
             *     Default: the engine of the agent.
             */
            engine?: string;
            /** @description The model's name at the provider. Default: `config.llm.model`; with `engine`, the operator's model. */
            model?: string;
        };
        /** @description JSON merge patch (RFC 7396) of `TitlesConfig`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        TitlesConfigPatch: {
            /**
             * @description Name of the engine that writes titles. Its fallbacks are not used, and engines without a model
             *     write none. A name that the server does not know is rejected, unless the agent had it before.
             *     Default: the engine of the agent.
             */
            engine?: string | null;
            /** @description The model's name at the provider. Default: `config.llm.model`; with `engine`, the operator's model. */
            model?: string | null;
        };
        /**
         * @description The author of the title of a conversation.
         * @enum {string}
         */
        TitleSource: "person" | "model";
        /** @description An access token. */
        TokenBody: {
            /** @description The token, opaque to clients. */
            access_token: string;
            /**
             * Format: int64
             * @description The time in whole seconds until it expires.
             */
            expires_in: number;
            /** @description Its scopes, separated by spaces. */
            scope: string;
            /** @description The type of the token, which is sent in `Authorization: Bearer`. */
            token_type: string;
        };
        /** @description A request for a token. The client may also authenticate with `Authorization: Basic`. */
        TokenRequest: components["schemas"]["ClientAuthentication"] & {
            /** @description Always `client_credentials`. */
            grant_type: string;
            /** @description The service that the token is for (RFC 8707): the public URL of this one. */
            resource?: string;
            /** @description The requested scopes, separated by spaces; all scopes of the client when absent. */
            scope?: string;
        };
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
            /** @description While it waits for approval: who may approve it. */
            approver?: components["schemas"]["Approver"];
            /**
             * @description The arguments of the call. An empty object replaces arguments that are nested more than 32
             *     levels deep, or with which those of the turn would exceed 1 MiB of JSON. Null if they are not
             *     shown to users.
             */
            arguments: unknown;
            /** @description The position in the reply at which the tool was called, in bytes of UTF-8. */
            at?: number;
            /** @description The time of the answer. */
            decidedAt?: components["schemas"]["Timestamp"];
            /** @description Who has answered it, as the `actor` of events. Absent for users. */
            decidedBy?: components["schemas"]["PrincipalId"];
            /**
             * Format: int64
             * @description The duration in milliseconds.
             */
            durationMs: number;
            /** @description The arguments with which it was made, if those who approved it have changed them. */
            editedArguments?: unknown;
            /** @description While it waits: the time from which it can no longer be answered. */
            expiresAt?: components["schemas"]["Timestamp"];
            /** @description The id of the call, unique among all turns; empty in turns of earlier versions. */
            id?: string;
            /** @description The tool's name. */
            name: string;
            /** @description While it waits: what it needs. */
            needs?: components["schemas"]["ActionNeeded"];
            /**
             * @description The result, or the reason of the failure, as the model receives it. Null if it exceeds
             *     64 KiB, or 1 MiB together with the other results of the turn, and if it is not shown to users.
             */
            result?: string | null;
            /**
             * @description The status: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
             *     or `too_many`; `running` until the call ends, and `waiting` while it waits for an answer.
             *     `approved` if staff has approved it, so that another turn makes it; `denied`, `expired`, or
             *     `dismissed` if the user has continued without answering. If its turn or its process ended first:
             *     `outcome_unknown`, since it may have taken effect, or `cancelled` if the tool changes nothing.
             *     Values can be added.
             */
            status: string;
            /** @description What users see of the call, as configured when it was made. `status` if it is absent. */
            visibility?: components["schemas"]["ToolVisibility"];
        };
        /** @description A tool of an agent, and how its calls are made and shown. */
        ToolEntry: {
            /**
             * @description Whether a person must approve a call: `never`, `always`, or if the tool is `destructive`: if it
             *     says so, or says neither that it only reads nor that it is not. Default: `destructive`.
             */
            approval?: components["schemas"]["Approval"];
            /**
             * @description Who approves a call: the `user` of the conversation (also keys and OAuth clients), or `staff`, with
             *     the scope `tools:approve`. The turn does not wait for staff. Default: `user`.
             */
            approver?: components["schemas"]["Approver"];
            /** @description The description of a tool of the client, for the model. */
            description?: string;
            /**
             * @description A built-in tool, `<server>/<tool>`, or `<server>/*` for all tools of a server, also those that
             *     it adds later. An exact name wins over `*`, and an entry over a capability. A name stands
             *     once.
             * @example crm/*
             */
            name: string;
            /**
             * @description The JSON Schema of the arguments of a tool of the client: an object, at most 16 KiB, nested at most
             *     16 deep, without references to other documents.
             */
            parameters?: Record<string, never>;
            /**
             * @description Who runs the tool: the `server`, or the `client` that sent the message. A tool of the client has a
             *     name of 1 to 64 letters, digits, `_` and `-`, a description and a schema of its arguments; the turn
             *     waits for its output. Default: `server`.
             */
            run?: components["schemas"]["ToolRunner"];
            /**
             * Format: int32
             * @description Time limit of a call in milliseconds, whether or not the tool reports progress. Default: the
             *     server's limit, or 15000.
             */
            timeoutMs?: number;
            /**
             * @description What users see of the calls. Default: `status`; `full` for tools of the client, and for calls that
             *     the user must approve.
             */
            visibility?: components["schemas"]["ToolVisibility"];
        };
        /**
         * @description Who runs a tool.
         * @enum {string}
         */
        ToolRunner: "server" | "client";
        /**
         * @description What users see of the calls of a tool. Keys, clients and principals with `conversations:all` see all of them.
         * @enum {string}
         */
        ToolVisibility: "full" | "status" | "none";
        /**
         * @description One user message and the work of replying to it; or the report of a call that staff has decided, or a
         *     message of the agent that an operator has asked for.
         */
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
            /**
             * @description The call of an earlier turn that staff has decided, and whose outcome this turn reports. It has no
             *     message of the user.
             */
            continues?: components["schemas"]["ContinuedCall"];
            /** @description The conversation of the turn. */
            conversationId: components["schemas"]["ConversationId"];
            /** @description The time at which the message was received. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description True if a fallback replied in place of the agent's engine. */
            degraded: boolean;
            /** @description The engine that produced the reply. */
            engine?: string | null;
            error?: components["schemas"]["Problem"] | null;
            /** @description The files of the user's message. */
            files?: components["schemas"]["FileReference"][];
            finishedAt?: components["schemas"]["Timestamp"] | null;
            finishReason?: components["schemas"]["FinishReason"] | null;
            /** @description The turn's id. */
            id: components["schemas"]["TurnId"];
            /** @description The user's message; empty without one. */
            input: string;
            /** @description The operator's instruction in place of a message of the user. Absent without one, and for users. */
            instruction?: string;
            /** @description The client's own string pairs. */
            metadata: components["schemas"]["Metadata"];
            /**
             * @description The model that produced the reply, as its provider names it, or else as it was asked for. Null without one,
             *     if several replied to the requests of the turn, and if nothing names it.
             */
            model?: string | null;
            /**
             * @description The JSON value of a reply that satisfies `responseSchema`; null is a value. Absent without a schema, and
             *     without a complete reply.
             */
            output?: unknown;
            /**
             * @description The model's reasoning up to now, or a summary of it, at most 64 KiB, however the turn ended. Absent without
             *     any, in events, and for callers to whom `showReasoning` does not show it.
             */
            reasoning?: string;
            /** @description True if the model has had to correct the output; otherwise absent. */
            repaired?: boolean;
            reply?: components["schemas"]["Message"] | null;
            retryOf?: components["schemas"]["TurnId"] | null;
            startedAt?: components["schemas"]["Timestamp"] | null;
            /** @description The state of the turn. */
            status: components["schemas"]["TurnStatus"];
            /**
             * @description The tool calls in order, however the turn ended, as far as they are shown. While the turn runs, the calls up to now,
             *     if it runs in the process that responds.
             */
            toolCalls: components["schemas"]["ToolCall"][];
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description The event `turn.cancelled`. */
        TurnCancelledEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.cancelled";
        };
        /** @description The event `turn.completed`. */
        TurnCompletedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.completed";
        };
        /**
         * TurnEventData
         * @description The content of `turn.*`.
         */
        TurnEventData: {
            message?: components["schemas"]["EventMessage"] | null;
            /**
             * @description True if parts larger than 32 KiB are omitted from `turn`: its `input` is then empty, its
             *     `instruction` absent, its `reply` null, or, which count together, the `arguments` of its `toolCalls` are `{}` and
             *     their `result` is null. Calls with `visibility: full` are counted without the others.
             *     Read the turn to get them.
             */
            omitted?: boolean;
            /** @description The turn, as the event's type describes it. */
            turn: components["schemas"]["Turn"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        TurnEventDataOrDeleted: components["schemas"]["TurnEventData"] | components["schemas"]["DeletedEventData"];
        /** @description The event `turn.failed`. */
        TurnFailedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.failed";
        };
        /**
         * @description An opaque id.
         * @example 019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11
         */
        TurnId: string;
        /** @description The event `turn.queued`. */
        TurnQueuedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.queued";
        };
        /** @description The event `turn.requires_action`. */
        TurnRequires_actionEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.requires_action";
        };
        /** @description The event `turn.resumed`. */
        TurnResumedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.resumed";
        };
        /** @description The event `turn.started`. */
        TurnStartedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["TurnEventDataOrDeleted"];
            /** @constant */
            type: "turn.started";
        };
        /**
         * @description The state of a turn. The last three are final, and every turn reaches exactly one of them.
         * @enum {string}
         */
        TurnStatus: "queued" | "in_progress" | "requires_action" | "completed" | "failed" | "cancelled";
        /** @description The token counts of an engine. */
        Usage: {
            /**
             * Format: int64
             * @description Those of the prompt that the provider read from its cache; absent if unknown.
             */
            cachedInputTokens?: number;
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
            /**
             * Format: int64
             * @description Those of the reply that the model spent on reasoning; absent if unknown.
             */
            reasoningTokens?: number;
        };
        /** @description What is stored about a user. Users without it can chat, too. */
        User: {
            /** @description What models are told about the user in all conversations; empty if they are told nothing. */
            context: string;
            /** @description The time of creation. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The client's own string pairs. */
            metadata: components["schemas"]["Metadata"];
            /** @description The name; null without one. */
            name?: string | null;
            /** @description The time of the last change. */
            updatedAt: components["schemas"]["Timestamp"];
            /** @description The user's id, as conversations have it. */
            userId: string;
        };
        /** @description The part of a user that a client sets, and the document that a merge patch changes. */
        UserDraft: {
            /** @description What models are told about the user in all conversations. Users do not see it. Default: empty. */
            context?: string;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["Metadata"];
            /** @description The name, for `{{user.name}}` in texts of agents. Default: none. */
            name?: string;
        };
        /** @description JSON merge patch (RFC 7396) of `UserDraft`: absent members keep their values, `null` removes an optional one, anything else replaces. */
        UserDraftPatch: {
            /** @description What models are told about the user in all conversations. Users do not see it. Default: empty. */
            context?: string | null;
            /** @description The client's own string pairs. Default: none. */
            metadata?: components["schemas"]["MetadataPatch"] | null;
            /** @description The name, for `{{user.name}}` in texts of agents. Default: none. */
            name?: string | null;
        };
        /** @description The event `user.erased`. */
        UserErasedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["UserErasedEventDataOrDeleted"];
            /** @constant */
            type: "user.erased";
        };
        /**
         * UserErasedEventData
         * @description The content of `user.erased`.
         */
        UserErasedEventData: {
            /** @description The numbers of what it has removed. */
            counts: components["schemas"]["ErasureCounts"];
            /** @description The erasure. Nothing names the user any more. */
            erasureId: components["schemas"]["ErasureId"];
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        UserErasedEventDataOrDeleted: components["schemas"]["UserErasedEventData"] | components["schemas"]["DeletedEventData"];
        /**
         * UserEventData
         * @description The content of `user.updated`.
         */
        UserEventData: {
            /** @description The user. */
            userId: string;
        };
        /** @description The state after the change, unless its subject has been deleted since. */
        UserEventDataOrDeleted: components["schemas"]["UserEventData"] | components["schemas"]["DeletedEventData"];
        /**
         * @description A scope that tokens of users can have.
         * @enum {string}
         */
        UserScope: "agents:read" | "chat:write" | "conversations:read" | "conversations:write" | "events:read";
        /** @description A token of a user. */
        UserToken: {
            /**
             * Format: int64
             * @description Seconds until the token expires.
             * @example 3600
             */
            expiresIn: number;
            /**
             * @description The token, to be sent as `Authorization: Bearer`.
             * @example eyJhbGciOiJFUzI1NiJ9.…
             */
            token: string;
        };
        /** @description A request for a token of a user. */
        UserTokenDraft: {
            /**
             * @description The only agents that the token can reach: to it, others do not exist. Agents of the caller. Default: those of
             *     the caller, usually all.
             */
            agentIds?: components["schemas"]["AgentId"][];
            /**
             * @description The only browser origins that may use the token. If the caller's key has `allowedOrigins`, a
             *     selection of them. Default: those of the key, otherwise any.
             */
            allowedOrigins?: components["schemas"]["Origin"][];
            /**
             * Format: int32
             * @description The lifetime in seconds. It is shortened to that of the caller's key or client. Default:
             *     3600.
             */
            expiresIn?: number;
            /**
             * @description The scopes of the token: only scopes that the caller has. Default: those of `chat:write`,
             *     `conversations:read`, `conversations:write` and `events:read` that the caller has.
             */
            scopes?: components["schemas"]["UserScope"][];
            /**
             * @description Your own id of the user, without control characters. It must not have the form of the user
             *     ids of a configured identity provider (`<issuer id>~…`).
             * @example grace
             */
            userId: string;
        };
        /** @description The event `user.updated`. */
        UserUpdatedEvent: components["schemas"]["EventHead"] & {
            data: components["schemas"]["UserEventDataOrDeleted"];
            /** @constant */
            type: "user.updated";
        };
        /**
         * @description The behaviour while another turn of the conversation is in progress.
         * @enum {string}
         */
        WhenBusy: "queue" | "reject";
    };
    responses: {
        /** @description The agent has not changed since the version in `If-None-Match`. */
        AgentHasNotChanged: {
            headers: {
                ETag: components["headers"]["ETag"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Event-Seq": components["headers"]["XEventSeq"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The agent does not exist. */
        AgentNotFound: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Another conversation uses a file. */
        AnotherConversationUsesAFile: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The content is too large. */
        BodyTooLarge: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The changed agent. */
        ChangedAgent: {
            headers: {
                ETag: components["headers"]["ETag"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Agent"];
            };
        };
        /** @description The client could not be authenticated. */
        ClientCouldNotBeAuthenticated: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The client does not exist. */
        ClientNotFound: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The document, compressed with gzip if the client accepts it. */
        Document: {
            headers: {
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content: {
                "application/json": unknown;
            };
        };
        /** @description The document has not changed since `If-None-Match`. */
        DocumentHasNotChanged: {
            headers: {
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The idempotency key was used, and its response contained a secret. */
        IdempotencyKeyUsed: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The credential does not allow this. */
        InsufficientScope: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description An internal error occurred. */
        Internal: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A request header is malformed. */
        InvalidHeader: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key does not exist. */
        KeyNotFound: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The lines. */
        Lines: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/x-ndjson": string;
            };
        };
        /** @description No available media type matches `Accept`. */
        NotAcceptable: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The content is too large. */
        OAuthBodyTooLarge: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description An internal error occurred. */
        OAuthInternal: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description Too many requests. */
        OAuthRateLimited: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The request's body did not arrive in time. */
        OAuthRequestTimeout: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The store cannot be reached. */
        OAuthStoreUnavailable: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The body's media type or encoding is not supported. */
        OAuthUnsupportedMediaType: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The URL is too long. */
        OAuthUriTooLong: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description A page of turns. */
        PageOfTurns: {
            headers: {
                Link: components["headers"]["Link"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Event-Seq": components["headers"]["XEventSeq"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["PageOf_Turn"];
            };
        };
        /** @description An internal error occurred. */
        PublicInternal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests. */
        PublicRateLimited: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RateLimitProblem"];
            };
        };
        /** @description The URL is too long. */
        PublicUriTooLong: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests. */
        RateLimited: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RateLimitProblem"];
            };
        };
        /** @description The request's body did not arrive in time. */
        RequestTimeout: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request violates OAuth. */
        RequestViolatesOAuth: {
            headers: {
                Pragma: components["headers"]["Pragma"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OAuthError"];
            };
        };
        /** @description The store cannot be reached. */
        StoreUnavailable: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests, or too many open streams. */
        TooManyRequests: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RateLimitProblem"];
            };
        };
        /** @description A credential is needed. */
        Unauthenticated: {
            headers: {
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body's media type or encoding is not supported. */
        UnsupportedMediaType: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The URL is too long. */
        UriTooLong: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Nothing is stored about the user. */
        UserNotFound: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is well-formed but not valid. */
        ValidationFailed: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The resource has changed since it was read. */
        VersionMismatch: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /** @description Only conversations with this agent. */
        AgentId: string;
        /** @description The agent. */
        AgentId_: components["schemas"]["AgentId"];
        /** @description The client. */
        ClientId: string;
        /** @description The conversation. */
        ConversationId: components["schemas"]["ConversationId"];
        /** @description `nextCursor` of the previous page. */
        Cursor: string;
        /** @description The file. */
        FileId: components["schemas"]["FileId"];
        /** @description Only conversations whose last message is of this time or later. */
        From: components["schemas"]["Timestamp"];
        /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
        IdempotencyKey: string;
        /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
        IfMatch: string;
        /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
        IfNoneMatch: string;
        /** @description The key. */
        KeyId: string;
        /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
        Limit: number;
        /** @description The message. */
        MessageMessageId: components["schemas"]["MessageId"];
        /** @description The message of staff. */
        MessageOfStaffMessageId: components["schemas"]["MessageId"];
        /** @description `asc`: oldest first (default). `desc`: newest first. */
        Order: "asc" | "desc";
        /** @description Only turns with this status; `open` means all that have not ended. */
        Status: "open" | "queued" | "in_progress" | "requires_action" | "completed" | "failed" | "cancelled";
        /** @description Only conversations whose last message is from before this time. */
        To: components["schemas"]["Timestamp"];
        /** @description The turn. */
        TurnId: components["schemas"]["TurnId"];
        /** @description The user. */
        UserId: string;
        /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
        XConsistency: number;
        /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
        XRequestId: string;
    };
    requestBodies: never;
    headers: {
        /** @description The entity tag, for `If-Match` and `If-None-Match`. */
        ETag: string;
        /** @description `true` if this repeats the response to an earlier request with the same idempotency key. Absent otherwise. */
        IdempotencyReplayed: boolean;
        /** @description The next page, `rel="next"` (RFC 8288). */
        Link: string;
        /** @description The path of the created resource. */
        Location: string;
        /** @description The caching of the response, for old caches. */
        Pragma: string;
        /** @description The applied preference of `Prefer`: `respond-async`. */
        PreferenceApplied: string;
        /** @description The remaining quota (`r`) and the seconds until it grows (`t`), for each limit for which the request was counted. Absent if the caller is not authenticated or the limiter is unavailable. */
        RateLimit: string;
        /** @description The time in whole seconds after which to retry. */
        RetryAfter: number;
        /** @description The supported version of the WebSocket protocol. */
        SecWebSocketVersion: string;
        /** @description The milliseconds spent in the store, in engines, and in total. Absent for a stream. */
        ServerTiming: string;
        /** @description The required protocol: `websocket`. */
        Upgrade: string;
        /** @description The challenge, with the missing credential or scope (RFC 6750). */
        WwwAuthenticate: string;
        /** @description A position in the event log that is not newer than the response: a client that follows the log from there misses no change. */
        XEventSeq: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_console: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_jwks: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeySet"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_authorization_server: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorizationServerMetadata"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_protected_resource: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProtectedResourceMetadata"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    list_agents: {
        parameters: {
            query?: {
                /** @description Only agents with this capability. Cannot be combined with `name`. */
                capability?: string;
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only the agents with these ids, at most 100, separated by commas, newest first. Ids of other agents are ignored. Cannot be combined with `name` and `capability`. `limit` is 100 by default. */
                ids?: string;
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description Only agents whose name starts with this text, ignoring case, in order of name. Cannot be combined with `capability`. */
                name?: string;
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of agents. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Agent"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "capabilities": [
                 *         "orders"
                 *       ],
                 *       "name": "Ada",
                 *       "personality": "Cheerful and brief."
                 *     }
                 */
                "application/json": components["schemas"]["AgentDraft"];
            };
        };
        responses: {
            /** @description The agent. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            304: components["responses"]["AgentHasNotChanged"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "config": {
                 *         "fallbackReply": null
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["AgentDraftPatch"];
                /**
                 * @example {
                 *       "personality": "Formal."
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["AgentDraftPatch"];
            };
        };
        responses: {
            200: components["responses"]["ChangedAgent"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_agent_config: {
        parameters: {
            query?: never;
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The configuration, with the content that the client sent. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentConfig"];
                };
            };
            304: components["responses"]["AgentHasNotChanged"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    put_agent_config: {
        parameters: {
            query?: never;
            header?: {
                /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fallbackReply": "Let me find somebody who knows.",
                 *       "rules": [
                 *         {
                 *           "keywords": [
                 *             "order"
                 *           ],
                 *           "reply": "Which order do you mean, {{user.id}}?"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ConfigBody"];
            };
        };
        responses: {
            200: components["responses"]["ChangedAgent"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_capabilities: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The capabilities. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listing_CapabilityEntry"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description `respond-async`: return the turn at once; its state can be read at its `Location`. */
                Prefer?: string | null;
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agentId": "the id of an agent",
                 *       "message": "Hello!"
                 *     }
                 */
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The agent's reply, whole or as a stream. */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Server-Timing": components["headers"]["ServerTiming"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatReply"];
                    "text/event-stream": components["schemas"]["ChatEvent"];
                };
            };
            /** @description The turn, which continues in the background. */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    Location: components["headers"]["Location"];
                    "Preference-Applied": components["headers"]["PreferenceApplied"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description The conversation is busy, the turn was cancelled, or the idempotency key is in use. */
            409: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            /** @description An internal error occurred. */
            500: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            /** @description The engine failed. */
            502: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            /** @description The store cannot be reached. */
            503: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            /** @description The engine took too long. */
            504: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
        };
    };
    list_conversations: {
        parameters: {
            query?: {
                /** @description Only conversations with this agent. */
                agentId?: components["parameters"]["AgentId"];
                /** @description Only conversations that this member of staff has taken over. Users cannot filter by it. */
                assignee?: string;
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only conversations whose last message is of this time or later. */
                from?: components["parameters"]["From"];
                /** @description `staff`: only conversations that people handle. `agent`: only the others. */
                handledBy?: "agent" | "staff";
                /** @description Only the conversation with this key of `agentId` and `userId`. Without `userId`, only a conversation that belongs to no user. */
                key?: string;
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. With `from`, `to`, `metadata.name` or `rating` one request looks at about 10,000 conversations, so a page can be short, or empty, although others follow. Default 20. */
                limit?: number;
                /** @description Only conversations with this value of the pair `name` of their metadata. Any name may follow the dot, and several pairs may be given. */
                "metadata.name"?: string;
                /** @description Only conversations whose title or one of whose messages contains all of these words, in any case; there are no operators. Sorted by their newest match. A call looks at the newest 10,000 matches, so a page may be short or empty and have a `nextCursor`. */
                q?: string;
                /** @description Only conversations with a message that is rated so. For users only their own ratings count. */
                rating?: "up" | "down";
                /** @description Only conversations whose last message is from before this time. */
                to?: components["parameters"]["To"];
                /** @description Only conversations of this user. */
                userId?: string;
                /** @description `true`: only conversations whose users wait for staff, those that wait longest first. Users cannot filter by it. */
                waiting?: "true";
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of conversations. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationPage"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_conversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agentId": "the id of an agent",
                 *       "title": "My order",
                 *       "userId": "ada"
                 *     }
                 */
                "application/json": components["schemas"]["ConversationRequest"];
            };
        };
        responses: {
            /** @description The conversation that already has this `conversationKey`, unchanged. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            /** @description The conversation. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description With `messages` or `createdAt`: the `conversationKey` is in use. */
            409: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_conversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            /** @description The conversation has not changed since the version in `If-None-Match`. */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_conversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_conversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": null
                 *     }
                 */
                "application/json": components["schemas"]["ConversationDraftPatch"];
                /**
                 * @example {
                 *       "title": "My order"
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["ConversationDraftPatch"];
            };
        };
        responses: {
            /** @description The changed conversation. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description The user has another conversation with the key of this one. */
            409: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            412: components["responses"]["VersionMismatch"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_messages: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description `asc`: oldest first (default). `desc`: newest first. */
                order?: components["parameters"]["Order"];
                /** @description `include`: also the messages that later turns have replaced. */
                superseded?: "include";
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Message"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    write_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "author": {
                 *         "name": "Grace"
                 *       },
                 *       "content": "Your parcel is on its way."
                 *     }
                 */
                "application/json": components["schemas"]["StaffMessageDraft"];
            };
        };
        responses: {
            /** @description The message. */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["AnotherConversationUsesAFile"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
                /** @description The message of staff. */
                messageId: components["parameters"]["MessageOfStaffMessageId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
                /** @description The message of staff. */
                messageId: components["parameters"]["MessageOfStaffMessageId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "Your parcel arrives today."
                 *     }
                 */
                "application/json": components["schemas"]["StaffMessageDraftPatch"];
                /**
                 * @example {
                 *       "content": "Your parcel arrives today."
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["StaffMessageDraftPatch"];
            };
        };
        responses: {
            /** @description The changed message. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    rate_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
                /** @description The message. */
                messageId: components["parameters"]["MessageMessageId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "comment": "The price is wrong.",
                 *       "rating": "down"
                 *     }
                 */
                "application/json": components["schemas"]["FeedbackDraft"];
            };
        };
        responses: {
            /** @description The rating. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Feedback"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_feedback: {
        parameters: {
            query?: {
                /** @description The user of the conversation, if a key or a client deletes its rating. */
                userId?: string;
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
                /** @description The message. */
                messageId: components["parameters"]["MessageMessageId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message has no such rating. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_notes: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of notes. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Note"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    write_note: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "author": {
                 *         "name": "Grace"
                 *       },
                 *       "content": "Promised a call back."
                 *     }
                 */
                "application/json": components["schemas"]["NoteDraft"];
            };
        };
        responses: {
            /** @description The note. */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["AnotherConversationUsesAFile"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_note: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
                /** @description The note. */
                noteId: components["schemas"]["NoteId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The note is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    follow_conversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events of the turn. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["ChatEvent"];
                };
            };
            /** @description No turn is queued or running, and none has ended in the last ten minutes. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_conversation_turns: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description `asc`: oldest first (default). `desc`: newest first. */
                order?: components["parameters"]["Order"];
                /** @description Only turns with this status; `open` means all that have not ended. */
                status?: components["parameters"]["Status"];
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The conversation. */
                id: components["parameters"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["PageOfTurns"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_engines: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The engines. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listing_EngineEntry"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description Only events about this agent. */
                agentId?: string;
                /** @description Only events about this conversation. */
                conversationId?: string;
                /** @description Maximum number of events in the page. A page also ends at about 1 MiB. Default 20. One request scans at most 10,000 events, so a filtered page can be short although more events follow. Ignored for a stream. */
                limit?: number;
                /** @description Only events after this position. Default: the head of the log, so only events that are still to come. */
                since?: number;
                /** @description Only these types, separated by commas, such as `agent.created,turn.completed`. */
                types?: string;
            };
            header?: {
                /** @description For a stream: only events after this position; takes precedence over `since`. Clients send it when they reconnect. */
                "Last-Event-ID"?: number | null;
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the log, or the log as a stream. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPageBody"];
                    "text/event-stream": components["schemas"]["LogEvent"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description The events after `since` have been removed from the log, or `since` is after its head. A stream sends an event `resync` instead. */
            410: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    export_conversations: {
        parameters: {
            query?: {
                /** @description Only conversations with this agent. */
                agentId?: components["parameters"]["AgentId"];
                /** @description `ndjson` or `openai`. Default `ndjson`. */
                format?: "ndjson" | "openai";
                /** @description Only conversations whose last message is of this time or later. */
                from?: components["parameters"]["From"];
                /** @description Only conversations whose last message is from before this time. */
                to?: components["parameters"]["To"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Lines"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_feedback: {
        parameters: {
            query?: {
                /** @description Only ratings of messages of this agent. */
                agentId?: string;
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only ratings that have changed last at this time or later. */
                from?: components["schemas"]["Timestamp"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description Only these ratings. */
                rating?: "up" | "down";
                /** @description Only ratings that have changed last before this time. */
                to?: components["schemas"]["Timestamp"];
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of ratings. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_RatedMessage"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The name of the file, such as `attachment; filename="photo.png"`. */
                "Content-Disposition"?: string | null;
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        /** @description The content, with its media type in `Content-Type`. */
        requestBody: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description The file. */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The file. */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    delete_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The file. */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description A message or a note uses the file. */
            409: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_file_content: {
        parameters: {
            query?: {
                /** @description A link, as `POST /api/files/{id}/link` returns it. It needs no credential. */
                link?: string;
            };
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The `ETag` for which `Range` holds; otherwise the whole content is returned. */
                "If-Range"?: string | null;
                /** @description One range of bytes, such as `bytes=0-1023`. */
                Range?: string | null;
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The file. */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The range. */
            206: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description `If-None-Match` has the `ETag`. */
            304: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The range begins after the end of the content. */
            416: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_file_link: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The file. */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileLink"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Key"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "allowedOrigins": [
                 *         "https://shop.example"
                 *       ],
                 *       "name": "web shop",
                 *       "scopes": [
                 *         "agents:read",
                 *         "chat:write"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["KeyDraft"];
            };
        };
        responses: {
            /** @description The key with its secret. */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyKeyUsed"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The key. */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["KeyNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The key. */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["KeyNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The key. */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "limits": {
                 *         "chatPerMinute": null
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["KeyDraftPatch"];
                /**
                 * @example {
                 *       "allowedOrigins": [
                 *         "https://shop.example"
                 *       ]
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["KeyDraftPatch"];
            };
        };
        responses: {
            /** @description The changed key. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["KeyNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The key. */
                id: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlapSeconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["KeyRotation"];
            };
        };
        responses: {
            /** @description The key with its new secret. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["KeyNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyKeyUsed"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_limits: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsBody"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_nodes: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The live nodes. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeListing"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_oauth_clients: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of clients. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Client"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_oauth_client: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "nightly import",
                 *       "scopes": [
                 *         "agents:read",
                 *         "agents:write"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ClientDraft"];
            };
        };
        responses: {
            /** @description The client, with its secret if it has one. */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientWithSecret"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyKeyUsed"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_oauth_client: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The client. */
                id: components["parameters"]["ClientId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["ClientNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    revoke_oauth_client: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The client. */
                id: components["parameters"]["ClientId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client is revoked. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["ClientNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_oauth_client: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The client. */
                id: components["parameters"]["ClientId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "expiresAt": null
                 *     }
                 */
                "application/json": components["schemas"]["ClientDraftPatch"];
                /**
                 * @example {
                 *       "limits": {
                 *         "requestsPerMinute": 60
                 *       }
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["ClientDraftPatch"];
            };
        };
        responses: {
            /** @description The changed client. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["ClientNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    rotate_oauth_client: {
        parameters: {
            query?: never;
            header?: {
                /** @description A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The client. */
                id: components["parameters"]["ClientId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlapSeconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["ClientRotation"];
            };
        };
        responses: {
            /** @description The client, with its new secret if it has one. */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["IdempotencyReplayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientWithSecret"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["ClientNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyKeyUsed"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_ping: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The region that responds. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pong"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_principal: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The principal. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalBody"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_profiles: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of profiles. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_Profile"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_profile: {
        parameters: {
            query?: never;
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The agent. */
                id: components["parameters"]["AgentId_"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_regions: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The regions. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionListing"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    test_rules: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "message": "When do you open?",
                 *       "rules": [
                 *         {
                 *           "keywords": [
                 *             "price"
                 *           ],
                 *           "reply": "It is free."
                 *         },
                 *         {
                 *           "pattern": "when .*open",
                 *           "reply": "From 9 to 18."
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RuleTestRequest"];
            };
        };
        responses: {
            /** @description The reply, and the result of each rule. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleTest"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
            /** @description The rules take too long to test. */
            504: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_turns: {
        parameters: {
            query?: {
                /** @description Only turns of this agent. */
                agentId?: string;
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only turns that were created at this time or later. */
                from?: components["schemas"]["Timestamp"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description Only turns with this value of the pair `name` of their metadata. Any name may follow the dot, and several pairs may be given. */
                "metadata.name"?: string;
                /** @description Only turns whose reply is rated so. For users only their own ratings count. */
                rating?: "up" | "down";
                /** @description Only turns with this status; `open` means all that have not ended. */
                status?: components["parameters"]["Status"];
                /** @description Only turns that were created before this time. */
                to?: components["schemas"]["Timestamp"];
                /** @description Only turns of conversations of this user. */
                userId?: string;
                /** @description Only turns with tool calls that wait for an answer: of the user or a page, or of staff. For users, calls that they do not see wait for nothing. */
                waitingFor?: "user" | "staff";
            };
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["PageOfTurns"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_turn: {
        parameters: {
            query?: never;
            header?: {
                /** @description A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region. */
                "X-Consistency"?: components["parameters"]["XConsistency"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The turn. */
                id: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turn. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Event-Seq": components["headers"]["XEventSeq"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    answer_turn: {
        parameters: {
            query?: never;
            header?: {
                /** @description `respond-async`: return the turn at once. */
                Prefer?: string | null;
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The turn. */
                id: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "actions": [
                 *         {
                 *           "callId": "the id of the call",
                 *           "decision": "approve"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ActionsRequest"];
            };
        };
        responses: {
            /** @description The turn, or its events. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "Server-Timing": components["headers"]["ServerTiming"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                    "text/event-stream": components["schemas"]["ChatEvent"];
                };
            };
            /** @description The turn, which continues in the background. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    "Preference-Applied": components["headers"]["PreferenceApplied"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            /** @description A call was answered before, or it is too late. */
            409: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            /** @description An internal error occurred. */
            500: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
            /** @description The store cannot be reached. */
            503: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ChatProblem"];
                };
            };
        };
    };
    cancel_turn: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The turn. */
                id: components["parameters"]["TurnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The turn in its current state. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Turn"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["AgentNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_user_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "userId": "grace"
                 *     }
                 */
                "application/json": components["schemas"]["UserTokenDraft"];
            };
        };
        responses: {
            /** @description The token. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserToken"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    withdraw_user_tokens: {
        parameters: {
            query: {
                /** @description The user. */
                userId: components["parameters"]["UserId"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens are withdrawn. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_users: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the previous page. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Maximum number of items in the page. A page also ends at about 1 MiB. Default 20. */
                limit?: components["parameters"]["Limit"];
                /** @description Only this user. */
                userId?: string;
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of users. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_User"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    put_user: {
        parameters: {
            query: {
                /** @description The user. */
                userId: components["parameters"]["UserId"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "context": "A customer since 2019, on the plan \"Pro\".",
                 *       "name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["UserDraft"];
            };
        };
        responses: {
            /** @description The user, of whom something was stored before. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description The user. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    erase_user: {
        parameters: {
            query: {
                /** @description The user. */
                userId: components["parameters"]["UserId"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The erasure has begun. */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BegunErasure"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    patch_user: {
        parameters: {
            query: {
                /** @description The user. */
                userId: components["parameters"]["UserId"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "context": null
                 *     }
                 */
                "application/json": components["schemas"]["UserDraftPatch"];
                /**
                 * @example {
                 *       "name": "Ada"
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["UserDraftPatch"];
            };
        };
        responses: {
            /** @description The changed user. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["UserNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    export_user: {
        parameters: {
            query: {
                /** @description The user. */
                userId: components["parameters"]["UserId"];
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Lines"];
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["UserNotFound"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    open_socket: {
        parameters: {
            query?: {
                /** @description A ticket, in place of a credential in a header. */
                ticket?: string;
            };
            header?: {
                /** @description `agent-service.v1`, if the client offers any. */
                "Sec-WebSocket-Protocol"?: string | null;
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The socket is open. */
            101: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The handshake is malformed, offers only unknown subprotocols, or carries more than one credential. */
            400: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            /** @description The request is not a WebSocket upgrade. */
            426: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "Sec-WebSocket-Version": components["headers"]["SecWebSocketVersion"];
                    Upgrade: components["headers"]["Upgrade"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_ticket: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "scopes": [
                 *         "events:read"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["TicketRequest"];
            };
        };
        responses: {
            /** @description The ticket. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicketBody"];
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            406: components["responses"]["NotAcceptable"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    get_asyncapi: {
        parameters: {
            query?: never;
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Document"];
            304: components["responses"]["DocumentHasNotChanged"];
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_livez: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["InvalidHeader"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["InsufficientScope"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            414: components["responses"]["UriTooLong"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    introspect_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client_id": "3mP0aZ9kQx1T",
                 *       "client_secret": "ags_3mP0aZ9kQx1T_…",
                 *       "token": "eyJhbGciOiJFUzI1NiJ9.…"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["AboutToken"];
            };
        };
        responses: {
            /** @description The properties of the token, if it is active. */
            200: {
                headers: {
                    Pragma: components["headers"]["Pragma"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IntrospectionBody"];
                };
            };
            400: components["responses"]["RequestViolatesOAuth"];
            401: components["responses"]["ClientCouldNotBeAuthenticated"];
            408: components["responses"]["OAuthRequestTimeout"];
            413: components["responses"]["OAuthBodyTooLarge"];
            414: components["responses"]["OAuthUriTooLong"];
            415: components["responses"]["OAuthUnsupportedMediaType"];
            429: components["responses"]["OAuthRateLimited"];
            500: components["responses"]["OAuthInternal"];
            503: components["responses"]["OAuthStoreUnavailable"];
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client_id": "3mP0aZ9kQx1T",
                 *       "client_secret": "ags_3mP0aZ9kQx1T_…",
                 *       "token": "eyJhbGciOiJFUzI1NiJ9.…"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["AboutToken"];
            };
        };
        responses: {
            /** @description The token is revoked. Every node rejects it within a second. */
            200: {
                headers: {
                    Pragma: components["headers"]["Pragma"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request violates OAuth, or the token belongs to another client. */
            400: {
                headers: {
                    Pragma: components["headers"]["Pragma"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthError"];
                };
            };
            401: components["responses"]["ClientCouldNotBeAuthenticated"];
            408: components["responses"]["OAuthRequestTimeout"];
            413: components["responses"]["OAuthBodyTooLarge"];
            414: components["responses"]["OAuthUriTooLong"];
            415: components["responses"]["OAuthUnsupportedMediaType"];
            429: components["responses"]["OAuthRateLimited"];
            500: components["responses"]["OAuthInternal"];
            503: components["responses"]["OAuthStoreUnavailable"];
        };
    };
    issue_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client_id": "3mP0aZ9kQx1T",
                 *       "client_secret": "ags_3mP0aZ9kQx1T_…",
                 *       "grant_type": "client_credentials"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description A token. */
            200: {
                headers: {
                    Pragma: components["headers"]["Pragma"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenBody"];
                };
            };
            400: components["responses"]["RequestViolatesOAuth"];
            401: components["responses"]["ClientCouldNotBeAuthenticated"];
            408: components["responses"]["OAuthRequestTimeout"];
            413: components["responses"]["OAuthBodyTooLarge"];
            414: components["responses"]["OAuthUriTooLong"];
            415: components["responses"]["OAuthUnsupportedMediaType"];
            429: components["responses"]["OAuthRateLimited"];
            500: components["responses"]["OAuthInternal"];
            503: components["responses"]["OAuthStoreUnavailable"];
        };
    };
    get_openapi: {
        parameters: {
            query?: never;
            header?: {
                /** @description The entity tag of the client's version. If it is the current one, the response is 304. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Document"];
            304: components["responses"]["DocumentHasNotChanged"];
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    list_problems: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The error catalogue. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemCatalogue"];
                    "text/html": string;
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_problem: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path: {
                /** @description The problem's code. */
                code: components["schemas"]["ProblemCode"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The meaning of the code, and the action to take. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemEntry"];
                    "text/html": string;
                };
            };
            /** @description The agent does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            429: components["responses"]["PublicRateLimited"];
            500: components["responses"]["PublicInternal"];
        };
    };
    get_readyz: {
        parameters: {
            query?: {
                /** @description If present, with any value or none: return `checks`. */
                verbose?: string;
            };
            header?: {
                /** @description The id of the request in the log. It is returned in the response, and generated if it is absent or malformed. */
                "X-Request-Id"?: components["parameters"]["XRequestId"];
            };
            path?: never; cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            414: components["responses"]["PublicUriTooLong"];
            /** @description The request is well-formed but not valid. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["PublicInternal"];
            /** @description The store cannot be reached. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
