//! `GET /ag-ui/agents/{id}/run`: joins a run, or reads a thread.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ACCEPT, CACHE_CONTROL},
    web::{Data, Query},
};
use application::{PAGE_LIMIT, chat::AcceptedTurn};
use domain::{
    AgentId, ConversationId, FaultCode, Message, Page, Principal, ProblemCode, Scope, Turn,
};
use ports::{ListingOrder, TurnFilter};
use serde::Deserialize;
use serde_json::json;

use super::{
    event::Outcome,
    history::{agui_messages, ui_messages},
    input::thread_key,
    last_event_id,
    run::run_key,
    run_events::{Run, RunEvents},
    stream,
};
use crate::{
    auth::{Authorized, TurnsRead, missing_scopes, open_stream},
    problem::ApiError,
    protocols::EndUser,
    request::{PagePermit, PathId, lists},
    sse::EVENT_STREAM,
    state::ApiState,
};

/// The query. Unknown parameters are ignored, as the client may have put its own into the URL.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachQuery {
    thread_id: Option<String>,
    /// The id of a turn, or the id that a client has given to a run.
    run_id: Option<String>,
    /// The maximum number of messages.
    limit: Option<usize>,
    /// The cursor of the page after this one, which has newer messages.
    before: Option<String>,
}

/// Joins the run `runId`; or returns the messages of the thread `threadId` and its running turn, as
/// JSON or, if the client accepts it, as a stream that follows the turn.
pub(super) async fn attach(
    authorized: Authorized<TurnsRead>,
    state: Data<ApiState>,
    agent: PathId<AgentId>,
    user: EndUser,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let query = Query::<AttachQuery>::from_query(request.query_string());
    let query = query
        .map_err(|error| ApiError::parameter("limit", FaultCode::BadFormat, error.to_string()))?;
    let attaching = Attaching {
        authorized: &authorized,
        state: &state,
        request: &request,
        agent_id: agent.0,
        user_id: user.0,
    };
    match (query.0.run_id.as_deref(), query.0.thread_id.as_deref()) {
        (Some(run_id), thread_id) => attaching.join(run_id, thread_id).await,
        (None, Some(thread_id)) => attaching.read_thread(thread_id, &query.0).await,
        (None, None) => {
            let detail = "required, unless 'runId' is given";
            Err(ApiError::parameter("threadId", FaultCode::Required, detail))
        }
    }
}

struct Attaching<'a> {
    authorized: &'a Authorized<TurnsRead>,
    state: &'a ApiState,
    request: &'a HttpRequest,
    agent_id: AgentId,
    user_id: Option<String>,
}

impl Attaching<'_> {
    /// Streams a run from its beginning, or from the last event that the client has received.
    async fn join(&self, run_id: &str, thread_id: Option<&str>) -> Result<HttpResponse, ApiError> {
        let (caller, chat) = (self.authorized.caller(), &self.authorized.chat);
        let found = match run_id.parse() {
            Ok(turn_id) => chat.find_turn(caller, turn_id).await?,
            Err(_) => match run_key(self.agent_id, self.user_id.as_deref(), run_id) {
                Some(key) => chat.find_sent(caller, key).await?,
                None => None,
            },
        };
        let turn = found.filter(|turn| {
            let subject = turn.subject();
            subject.agent_id == self.agent_id && subject.user_id == self.user_id
        });
        let turn = turn.ok_or(ApiError::new(ProblemCode::TurnNotFound))?;
        self.check_may_follow(&turn)?;
        let cursor = last_event_id(self.request)?;
        let cursor = cursor.filter(|cursor| cursor.turn_id == turn.turn_id);
        let thread_id = match thread_id {
            Some(thread_id) => thread_id.to_owned(),
            None => self.thread_of(turn.conversation_id).await?,
        };
        let run = Run {
            thread_id,
            run_id: run_id.to_owned(),
            knows_outcomes: false,
            is_one_message: true,
        };
        let events = RunEvents::new(run, turn.turn_id, cursor.map(|cursor| cursor.received));
        self.stream(events, turn).await
    }

    async fn read_thread(
        &self,
        thread_id: &str,
        query: &AttachQuery,
    ) -> Result<HttpResponse, ApiError> {
        let (caller, conversations) = (self.authorized.caller(), &self.authorized.conversations);
        if !reads_conversations(caller) {
            return Err(missing_scopes(
                [Scope::ConversationsRead].into_iter().collect(),
            ));
        }
        let key = thread_key(thread_id)
            .map_err(|detail| ApiError::parameter("threadId", FaultCode::BadFormat, detail))?;
        let user_id = self.user_id.as_deref();
        let named = conversations.find_named(caller, self.agent_id, user_id, key);
        let thread = match named.await? {
            Some(id) => self.thread(id, query).await?,
            None => Thread::default(),
        };
        if lists(self.request.headers(), ACCEPT, EVENT_STREAM) {
            return self.stream_thread(thread_id, thread).await;
        }
        let active = thread.open_turns.first();
        let page = match &thread.next_cursor {
            Some(cursor) => json!({ "truncated": true, "cursor": cursor }),
            None => json!({ "truncated": false }),
        };
        let body = json!({
            "messages": ui_messages(&thread.messages, &thread.open_turns),
            "activeRun": active.map(|turn| json!({ "runId": turn.id })),
            "interrupts": null,
            "page": page,
        });
        Ok(HttpResponse::Ok()
            .insert_header((CACHE_CONTROL, "no-store"))
            .json(body))
    }

    /// Streams a snapshot of the messages, and the turn that is running or waits first.
    async fn stream_thread(
        &self,
        thread_id: &str,
        thread: Thread,
    ) -> Result<HttpResponse, ApiError> {
        let messages = agui_messages(&thread.messages, &thread.open_turns);
        let turn = match thread.open_turns.first() {
            Some(open) => {
                let chat = &self.authorized.chat;
                chat.find_turn(self.authorized.caller(), open.id).await?
            }
            None => None,
        };
        let run_id = turn.as_ref().map_or_else(
            || format!("{thread_id}-history"),
            |turn| turn.turn_id.to_string(),
        );
        let run = Run {
            thread_id: thread_id.to_owned(),
            run_id,
            knows_outcomes: false,
            is_one_message: false,
        };
        let Some(turn) = turn else {
            let mut events = RunEvents::without_turn(run);
            events.add_snapshot(messages);
            events.finish(Outcome::Success, None);
            return Ok(stream::respond_at_once(events));
        };
        let mut events = RunEvents::new(run, turn.turn_id, None);
        events.add_snapshot(messages);
        self.stream(events, turn).await
    }

    async fn stream(
        &self,
        events: RunEvents,
        turn: AcceptedTurn,
    ) -> Result<HttpResponse, ApiError> {
        let slot = open_stream(&self.state.limits, self.authorized.auth_context()).await?;
        Ok(stream::respond(
            self.state,
            self.authorized,
            self.request,
            slot,
            (events, turn),
        ))
    }

    /// Reads the newest messages of a thread, or those before a cursor, and its open turns.
    async fn thread(&self, id: ConversationId, query: &AttachQuery) -> Result<Thread, ApiError> {
        let (caller, authorized) = (self.authorized.caller(), self.authorized);
        let limit = query.limit.unwrap_or(PAGE_LIMIT).clamp(1, PAGE_LIMIT);
        let before = query.before.as_deref();
        // Read first: a turn that ends meanwhile appears with its messages as well.
        let open_turns = match before {
            Some(_) => Vec::new(),
            None => {
                let listing = (TurnFilter::Open, ListingOrder::Ascending);
                let open = authorized.turns.list(caller, id, listing, None, PAGE_LIMIT);
                open.await?.value.0.items
            }
        };
        let newest = ListingOrder::Descending;
        let page = authorized
            .conversations
            .messages(caller, id, newest, before, limit, false);
        let (Page { mut items, .. }, next_cursor) = page.await?.value;
        items.reverse();
        Ok(Thread {
            messages: items,
            open_turns,
            next_cursor,
        })
    }

    /// Returns the thread of a conversation: its key or, without one, its id.
    async fn thread_of(&self, id: ConversationId) -> Result<String, ApiError> {
        let (caller, conversations) = (self.authorized.caller(), &self.authorized.conversations);
        let key = conversations.get(caller, id).await?.value.key;
        Ok(key.map_or_else(|| id.to_string(), Into::into))
    }

    /// Rejects a caller that may only follow turns of its own.
    fn check_may_follow(&self, turn: &AcceptedTurn) -> Result<(), ApiError> {
        let caller = self.authorized.caller();
        if reads_conversations(caller) || turn.subject().started_by == caller.id {
            return Ok(());
        }
        Err(missing_scopes(
            [Scope::ConversationsRead].into_iter().collect(),
        ))
    }
}

/// The messages and the open turns of a thread.
#[derive(Default)]
struct Thread {
    messages: Vec<Message>,
    open_turns: Vec<Turn>,
    next_cursor: Option<String>,
}

/// Returns whether a caller may read whole conversations: by its scope, or because it is a user, who
/// reaches only their own.
fn reads_conversations(caller: &Principal) -> bool {
    caller.scopes.contains(Scope::ConversationsRead) || caller.confined_to().is_some()
}
