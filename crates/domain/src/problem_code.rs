//! The error catalogue: every problem code that a client can receive, in one table.

use crate::open_enum::open_enum;

macro_rules! problem_codes {
    ($($name:ident = $slug:literal, $status:literal, $title:literal, $retryable:literal, $remedy:literal;)*) => {
        open_enum! {
            /// The kind of a problem, for programs.
            ProblemCode[31] {
                $(#[doc = $title] $name = $slug,)*
            }
        }

        impl ProblemCode {
            /// Returns the HTTP status of the code.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* Self::Other(_) => 500 }
            }

            /// Returns a short sentence for people.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                    Self::Other(_) => "An error of a newer version.",
                }
            }

            /// Returns `true` if the same request can succeed later.
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$name => $retryable,)* Self::Other(_) => false }
            }

            /// Returns the advice for the client.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* Self::Other(_) => "See the server's log." }
            }
        }
    };
}

problem_codes! {
    MalformedJson = "malformed_json", 400, "The body is not JSON.", false, "Send one UTF-8 JSON document, nested at most 64 deep.";
    InvalidCursor = "invalid_cursor", 400, "The cursor does not belong to this listing.", false, "Start again without a cursor; keep the same filters for all pages.";
    InvalidHeader = "invalid_header", 400, "A request header is malformed.", false, "Correct the header named in `errors`.";
    InvalidSubprotocol = "invalid_subprotocol", 400, "The WebSocket subprotocol is not known.", false, "Offer `agent-service.v1`, or none.";
    AmbiguousCredentials = "ambiguous_credentials", 400, "More than one credential was sent.", false, "Send either `Authorization` or `X-API-Key`, once.";
    Unauthenticated = "unauthenticated", 401, "A credential is needed.", false, "Send an API key in `X-API-Key`, or a token in `Authorization: Bearer`.";
    InvalidCredentials = "invalid_credentials", 401, "The credential is not valid.", false, "Check the key or token; it may be mistyped, revoked, or from another service.";
    TokenExpired = "token_expired", 401, "The token has expired.", false, "Fetch a new token.";
    InvalidTicket = "invalid_ticket", 401, "The ticket is not valid.", false, "Fetch a new ticket; each is valid once, for 30 seconds.";
    OwnConversation = "own_conversation", 403, "Nobody acts for staff in their own conversation.", false, "Let another member of staff do it, without `X-User-Id`.";
    InsufficientScope = "insufficient_scope", 403, "The credential does not allow this.", false, "Use a credential with the scope named in `detail`.";
    OriginNotAllowed = "origin_not_allowed", 403, "Pages of this origin may not do this.", false, "Call from an origin that `SERVER__ALLOWED_ORIGINS` and the `allowedOrigins` of the credential, if it has any, allow.";
    RouteNotFound = "route_not_found", 404, "No resource exists at this path.", false, "Compare the path with `/openapi.json`.";
    AgentNotFound = "agent_not_found", 404, "The agent does not exist.", false, "Check the id; the agent may have been deleted.";
    ConversationNotFound = "conversation_not_found", 404, "The conversation does not exist.", false, "Check the id; the conversation or its agent may have been deleted.";
    TurnNotFound = "turn_not_found", 404, "The turn does not exist.", false, "Check the id.";
    ActionNotFound = "action_not_found", 404, "The turn has no such tool call.", false, "Read the turn for the ids of its calls.";
    KeyNotFound = "key_not_found", 404, "The key does not exist.", false, "Check the id.";
    ClientNotFound = "client_not_found", 404, "The client does not exist.", false, "Check the id.";
    NoteNotFound = "note_not_found", 404, "The conversation has no such note.", false, "List the notes of the conversation.";
    FileNotFound = "file_not_found", 404, "The file does not exist.", false, "Check the id; a file that nothing uses is deleted after 24 hours.";
    MessageNotFound = "message_not_found", 404, "The conversation has no such message.", false, "List the messages of the conversation: only those with an `author` can be changed, and only those of agents and staff rated.";
    UserNotFound = "user_not_found", 404, "Nothing is stored about the user.", false, "Store the user with `PUT /api/users` first.";
    MethodNotAllowed = "method_not_allowed", 405, "This path does not support this method.", false, "Use one of the methods in `Allow`.";
    NotAcceptable = "not_acceptable", 406, "No available media type matches `Accept`.", false, "Accept `application/json`, or `text/event-stream` where the operation can stream, or omit the header.";
    RequestTimeout = "request_timeout", 408, "The request's body did not arrive in time.", true, "Send the whole body within 15 seconds.";
    ConversationBusy = "conversation_busy", 409, "A turn is in progress in this conversation.", true, "Wait for it to end, or let the turn queue.";
    ConversationKeyInUse = "conversation_key_in_use", 409, "The user has a conversation with this key.", false, "Continue in that conversation, or delete it first.";
    FileInUse = "file_in_use", 409, "A message or a note uses the file.", false, "Upload the file again for another conversation; delete the conversation to delete its files.";
    MessageSuperseded = "message_superseded", 409, "The message was replaced by a later turn.", false, "Read the messages again, and choose one that is not superseded.";
    TurnCancelled = "turn_cancelled", 409, "The turn was cancelled.", false, "Send the message again if it is still wanted.";
    ActionRequired = "action_required", 409, "A tool call of this conversation waits for an answer.", false, "Answer it, or send the message without `onBusy: \"reject\"`, which dismisses it.";
    ActionDecided = "action_decided", 409, "The tool call was answered before, or its turn has ended.", false, "Read the turn to see how it was answered.";
    ActionExpired = "action_expired", 409, "Nobody answered the tool call in time.", false, "Send the message again if it is still wanted.";
    IdempotencyKeyInUse = "idempotency_key_in_use", 409, "The idempotency key is in use.", true, "Wait, or use a new key for a new request.";
    IdempotencyKeyUsed = "idempotency_key_used", 409, "The idempotency key was used, and its response contained a secret.", false, "Read the created resource by the id in `detail`, or use a new key.";
    CursorExpired = "cursor_expired", 410, "The log does not contain this position.", false, "Read the current state, then follow from the head.";
    VersionMismatch = "version_mismatch", 412, "The resource has changed since it was read.", false, "Read it again and repeat the change on the new version.";
    BodyTooLarge = "body_too_large", 413, "The content is too large.", false, "Keep to the limit in `/api/limits`.";
    UriTooLong = "uri_too_long", 414, "The URL is too long.", false, "Keep to the limit in `/api/limits`.";
    UnsupportedMediaType = "unsupported_media_type", 415, "The body's media type or encoding is not supported.", false, "Send `application/json` without a `Content-Encoding`.";
    RangeNotSatisfiable = "range_not_satisfiable", 416, "The range begins after the end of the content.", false, "Read the whole content, or a range within the `bytes` of the file.";
    ValidationFailed = "validation_failed", 422, "The request is well-formed but not valid.", false, "Correct every item of `errors`.";
    FileTypeNotAccepted = "file_type_not_accepted", 422, "Files like this are not accepted.", false, "Send a file whose content has one of the types in the documentation.";
    FileRejected = "file_rejected", 422, "The file is rejected.", false, "Send another file: the scanner of the operator has found something in this one.";
    IdempotencyKeyReused = "idempotency_key_reused", 422, "The idempotency key was used with another command.", false, "Use a new key for a new command.";
    InvalidRule = "invalid_rule", 422, "A rule is invalid.", false, "Correct the rules named in `errors`.";
    UnknownEngine = "unknown_engine", 422, "The server has no such reply engine.", false, "Choose one that `/api/engines` lists.";
    UnknownTool = "unknown_tool", 422, "The server has no such tool.", false, "Choose one that `/api/capabilities` lists.";
    UnknownCommand = "unknown_command", 422, "The command is unknown.", false, "Compare the frame with `/asyncapi.json`.";
    UpgradeRequired = "upgrade_required", 426, "This path requires WebSocket.", false, "Send a WebSocket upgrade.";
    RateLimited = "rate_limited", 429, "Too many requests.", true, "Wait for the seconds in `retryAfter`.";
    TooManyStreams = "too_many_streams", 429, "Too many open streams.", true, "Close a stream or socket first.";
    Internal = "internal", 500, "An internal error occurred.", true, "Try again; report the `requestId` if the error persists.";
    EngineFailed = "engine_failed", 502, "The reply engine failed.", false, "Check the agent's configuration; see the server's log for details.";
    InvalidOutput = "invalid_output", 502, "The reply does not satisfy its schema.", true, "Send the message again; `errors` has what is wrong with the output. If it stays so, make the schema simpler or choose another model.";
    EngineUnavailable = "engine_unavailable", 503, "The reply engine is unavailable.", true, "Try again later, or give the agent fallbacks.";
    StoreUnavailable = "store_unavailable", 503, "The store cannot be reached.", true, "The outcome of a write is unknown: repeat it with the same Idempotency-Key.";
    HomeUnavailable = "home_unavailable", 503, "The home region cannot be reached.", true, "Nothing was changed: send the request again after the seconds in `retryAfter`.";
    IssuerUnavailable = "issuer_unavailable", 503, "The token's issuer cannot be reached.", true, "The token could not be checked: send it again after the seconds in `retryAfter`.";
    FilesUnavailable = "files_unavailable", 503, "Files cannot be stored or read now.", true, "Try again later. If it stays so, the operator has to repair the store or the scanner of files.";
    Overloaded = "overloaded", 503, "The server is overloaded.", true, "Try again after the seconds in `retryAfter`.";
    Draining = "draining", 503, "The server is shutting down.", true, "Try again; another node will reply.";
    Upgrading = "upgrading", 503, "A process of an earlier version still runs.", true, "Try again once the upgrade is complete.";
    Interrupted = "interrupted", 503, "The turn was interrupted.", true, "Send the message again.";
    EngineTimeout = "engine_timeout", 504, "The reply engine took too long.", true, "Try again, or raise the agent's `timeoutMs`.";
}

impl ProblemCode {
    /// Returns the default `retryAfter` in whole seconds, for 429 and 503.
    pub const fn default_retry_after(self) -> Option<u32> {
        match self.status() {
            429 | 503 => Some(1),
            _ => None,
        }
    }
}
