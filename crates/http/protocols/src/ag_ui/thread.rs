//! Threads: their messages and their active runs.

use actix_web::{
    HttpResponse,
    http::header::{ACCEPT, CACHE_CONTROL},
};
use application::PAGE_LIMIT;
use domain::{ConversationId, Message, Page, Role, Turn};
use kit::{auth::missing_conversations_read, problem::ApiError, request::lists, sse::EVENT_STREAM};
use ports::{ListingOrder, TurnFilter};
use serde_json::json;

use super::{
    attach::{AttachQuery, Attaching},
    event::Outcome,
    history::{agui_messages, ui_messages},
    run_events::{Run, RunEvents},
    stream,
};

/// The messages and the open turns of a thread.
#[derive(Default)]
struct Thread {
    messages: Vec<Message>,
    open_turns: Vec<Turn>,
    next_cursor: Option<String>,
}

impl Attaching<'_> {
    /// Returns the messages of a thread and its active run.
    pub(super) async fn read_thread(
        &self,
        thread_id: &str,
        query: &AttachQuery,
    ) -> Result<HttpResponse, ApiError> {
        if !self.authorized.caller().may_read_conversations() {
            return Err(missing_conversations_read());
        }
        let thread = match self.conversation(thread_id).await? {
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
            "messages": ui_messages(&thread.messages, &thread.open_turns, &self.file_links().await?),
            "activeRun": active.map(|turn| json!({ "runId": turn.id })),
            "interrupts": null,
            "page": page,
        });
        Ok(HttpResponse::Ok()
            .insert_header((CACHE_CONTROL, "no-store"))
            .json(body))
    }

    async fn file_links(&self) -> Result<application::files::TenantLinks, ApiError> {
        let tenant = &self.authorized.caller().tenant;
        Ok(self.authorized.files.tenant_links(tenant).await?)
    }

    /// Streams a snapshot of the messages, and the turn that is running or waits first.
    async fn stream_thread(
        &self,
        thread_id: &str,
        thread: Thread,
    ) -> Result<HttpResponse, ApiError> {
        let followed = thread.open_turns.first().map(|turn| turn.id);
        // The stream of a turn that waits begins with its reply.
        let is_before = |message: &&Message| {
            message.role == Role::User || followed.is_none() || message.turn_id != followed
        };
        let messages: Vec<_> = thread.messages.iter().filter(is_before).cloned().collect();
        let messages = agui_messages(&messages, &thread.open_turns, &self.file_links().await?);
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
            thread: thread_id.to_owned(),
            id: run_id,
            knows_outcomes: false,
            is_one_message: false,
        };
        let Some(turn) = turn else {
            let mut events = RunEvents::without_turn(run);
            events.add_snapshot(messages);
            events.finish(Outcome::SUCCESS);
            return Ok(stream::respond_at_once(events));
        };
        let mut events = RunEvents::new(run, turn.turn_id, None);
        events.add_snapshot(messages);
        self.stream(events, turn).await
    }

    /// Reads the newest messages of a thread, or those before a cursor, and its open turns.
    async fn thread(&self, id: ConversationId, query: &AttachQuery) -> Result<Thread, ApiError> {
        let (caller, authorized) = (self.authorized.caller(), self.authorized);
        let limit = query.limit.unwrap_or(PAGE_LIMIT).clamp(1, PAGE_LIMIT);
        let before = query.before.as_deref();
        // Read first: a turn that ends meanwhile appears with its messages as well.
        let open_turns = if before.is_some() {
            Vec::new()
        } else {
            let listing = (TurnFilter::Open, ListingOrder::Ascending);
            let open = authorized.turns.list(caller, id, listing, None, PAGE_LIMIT);
            open.await?.value.0.items
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
}
