//! `GET /ag-ui/agents/{id}/run`: joins a run, or reads a thread.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{PAGE_LIMIT, TurnError, chat::AcceptedTurn};
use domain::{AgentId, ConversationId, ConversationKey, FaultCode, ProblemCode, Turn};
use kit::{
    auth::{Authorized, TurnsRead, missing_conversations_read},
    problem::ApiError,
    request::{PagePermit, PathId, QueryParameters},
    state::HttpState,
};
use ports::{ListingOrder, TurnFilter};

use super::{
    PROTOCOL, RUN_ID, last_event_id,
    run_events::{Run, RunEvents},
    stream,
};
use crate::{EndUser, resend::resend_key};

/// The query. Unknown parameters are ignored, as the client may have put its own into the URL.
#[derive(Debug)]
pub(super) struct AttachQuery {
    pub(super) thread_id: Option<String>,
    /// The id of a turn, or the id that a client has given to a run.
    pub(super) run_id: Option<String>,
    /// The maximum number of messages.
    pub(super) limit: Option<usize>,
    /// The cursor of a page: the messages before that page are returned.
    pub(super) before: Option<String>,
}

impl AttachQuery {
    fn read(request: &HttpRequest) -> Result<Self, ApiError> {
        let known = ["threadId", "runId", "limit", "before"];
        let mut parameters = QueryParameters::read_known(request, &known);
        let limit = parameters.parsed("limit", "must be a whole number, at least 0");
        let text = |name| parameters.text(name).map(ToOwned::to_owned);
        let query = Self {
            thread_id: text("threadId"),
            run_id: text("runId"),
            limit,
            before: text("before"),
        };
        parameters.finish()?;
        Ok(query)
    }
}

/// Joins the run `runId`; or returns the messages of the thread `threadId` and its running turn, as
/// JSON or, if the client accepts it, as a stream that follows the turn.
pub(super) async fn attach(
    authorized: Authorized<TurnsRead>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let query = AttachQuery::read(&request)?;
    let attaching = Attaching {
        authorized: &authorized,
        state: &state,
        request: &request,
        agent_id: agent.0,
        user_id: user.0,
    };
    match (query.run_id.as_deref(), query.thread_id.as_deref()) {
        (Some(run_id), thread_id) => attaching.join(run_id, thread_id).await,
        (None, Some(thread_id)) => attaching.read_thread(thread_id, &query).await,
        (None, None) => {
            let detail = "required, unless 'runId' is given";
            Err(ApiError::parameter("threadId", FaultCode::Required, detail))
        }
    }
}

/// A client that attaches to a run or a thread.
pub(super) struct Attaching<'a> {
    pub(super) authorized: &'a Authorized<TurnsRead>,
    pub(super) state: &'a HttpState,
    pub(super) request: &'a HttpRequest,
    pub(super) agent_id: AgentId,
    pub(super) user_id: Option<String>,
}

impl Attaching<'_> {
    /// Streams a run from its beginning, or from the last event that the client has received.
    async fn join(&self, run_id: &str, thread_id: Option<&str>) -> Result<HttpResponse, ApiError> {
        let caller = self.authorized.caller();
        let found = match thread_id {
            Some(thread_id) => self.find_in_thread(run_id, thread_id).await?,
            None => self.find(run_id).await?,
        };
        let turn = found.filter(|turn| {
            let subject = turn.subject();
            let is_of_user = subject.user.get().as_deref() == self.user_id.as_deref();
            subject.agent_id == self.agent_id && is_of_user
        });
        let turn = turn.ok_or(ApiError::new(ProblemCode::TurnNotFound))?;
        if !caller.may_follow(&turn.subject().started_by) {
            return Err(missing_conversations_read());
        }
        let cursor = last_event_id(self.request)?;
        let cursor = cursor.filter(|cursor| cursor.turn_id == turn.turn_id);
        let thread = match thread_id {
            Some(thread_id) => thread_id.to_owned(),
            None => self.thread_of(turn.conversation_id).await?,
        };
        let run = Run {
            thread,
            id: run_id.to_owned(),
            knows_outcomes: false,
            is_one_message: true,
        };
        let events = RunEvents::new(run, turn.turn_id, cursor.map(|cursor| cursor.received));
        self.stream(events, turn).await
    }

    /// Finds the turn with an id, or the first run that the caller has given it.
    async fn find(&self, run_id: &str) -> Result<Option<AcceptedTurn>, ApiError> {
        let (caller, chat) = (self.authorized.caller(), &self.authorized.chat);
        if let Ok(turn_id) = run_id.parse()
            && let Some(found) = chat.find_turn(caller, turn_id).await?
        {
            return Ok(Some(found));
        }
        let user_id = self.user_id.as_deref();
        let key = resend_key(&PROTOCOL, self.agent_id, user_id, &[run_id]);
        Ok(chat.find_sent(caller, key).await?)
    }

    /// Finds the turn with an id, or the newest run that has it, in a thread.
    async fn find_in_thread(
        &self,
        run_id: &str,
        thread_id: &str,
    ) -> Result<Option<AcceptedTurn>, ApiError> {
        let (caller, authorized) = (self.authorized.caller(), self.authorized);
        let Some(conversation) = self.conversation(thread_id).await? else {
            return Ok(None);
        };
        let newest = (TurnFilter::All, ListingOrder::Descending);
        let turns = &authorized.turns;
        let page = turns.list(caller, conversation, newest, None, PAGE_LIMIT);
        let (page, _) = match page.await {
            // It has been deleted since.
            Err(TurnError::ConversationNotFound) => return Ok(None),
            page => page?.value,
        };
        let named = |turn: &Turn| turn.metadata.get(RUN_ID).is_some_and(|own| own == run_id);
        if let Some(turn) = page.items.into_iter().find(named) {
            return Ok(authorized.chat.find_turn(caller, turn.id).await?);
        }
        let found = self.find(run_id).await?;
        Ok(found.filter(|turn| turn.conversation_id == conversation))
    }

    /// Returns the conversation of a thread, if it exists.
    pub(super) async fn conversation(
        &self,
        thread_id: &str,
    ) -> Result<Option<ConversationId>, ApiError> {
        let (caller, conversations) = (self.authorized.caller(), &self.authorized.conversations);
        let key = thread_id.parse::<ConversationKey>().map_err(|error| {
            ApiError::parameter("threadId", FaultCode::BadFormat, error.to_string())
        })?;
        let user_id = self.user_id.as_deref();
        let named = conversations.find_named(caller, self.agent_id, user_id, key);
        Ok(named.await?)
    }

    /// Streams a run.
    pub(super) async fn stream(
        &self,
        events: RunEvents,
        turn: AcceptedTurn,
    ) -> Result<HttpResponse, ApiError> {
        let slot = self.authorized.open_stream(self.state).await?;
        Ok(stream::respond(
            self.state,
            self.authorized,
            self.request,
            slot,
            (events, turn),
        ))
    }

    /// Returns the thread of a conversation: its key or, without one, its id.
    async fn thread_of(&self, id: ConversationId) -> Result<String, ApiError> {
        let (caller, conversations) = (self.authorized.caller(), &self.authorized.conversations);
        let key = conversations.get(caller, id).await?.value.item.key;
        Ok(key.map_or_else(|| id.to_string(), Into::into))
    }
}
