//! `GET /api/export` and `GET /api/users/export`.

mod export_lines;

use actix_web::{HttpRequest, HttpResponse, web::Bytes, web::Data};
use application::exports::{Export, ExportSelection};
use domain::{AgentId, FaultCode, Timestamp};
use export_lines::{ExportLines, Format};
use futures::{FutureExt as _, StreamExt as _, future::LocalBoxFuture, stream};
use kit::{
    auth::{Authorized, ConversationsRead, UsersAdmin},
    lines,
    problem::{ApiError, only_for_keys},
    request::QueryParameters,
    sse::Cut,
    state::HttpState,
};
use ports::StreamSlot;

use crate::{turns::TIME_IN_WORDS, users::user_id};

/// Export everything that is stored about a user.
///
/// Each line is a JSON object, a resource with its `type`: `user`, `conversation`, and after each conversation its
/// `message`, `turn` and `note` lines. Messages that others have replaced are included. The last line is
/// `{"type": "end", "counts": {…}}` with the number of lines of each type; without it the export is not complete.
#[utoipa::path(
    get, path = "/api/users/export", operation_id = "export_user", tag = "Users",
    params(("userId" = String, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user.")),
    responses(
        (status = 200, description = "The lines.", body = String, content_type = "application/x-ndjson"),
        (status = 404, description = "Nothing is stored about the user."),
        (status = 429, description = "Too many requests, or too many open streams."),
    ),
)]
pub async fn export_user(
    authorized: Authorized<UsersAdmin>,
    state: Data<HttpState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if authorized.caller().names_a_user() {
        return Err(only_for_keys("users:admin"));
    }
    let user_id = user_id(&request, &state)?;
    let slot = authorized.open_stream(&state).await?;
    let export = authorized.exports.user(authorized.caller(), user_id);
    Ok(respond(OpenExport {
        parts: export.await?,
        lines: ExportLines::new(Format::Resources),
        end: wait_for_end(&authorized, &state),
        _slot: slot,
    }))
}

/// Export the conversations of the tenant with their messages.
///
/// With the format `ndjson` each line is a JSON object, a resource with its `type`: `conversation`, and after each
/// its `message` lines. The last line is `{"type": "end", "counts": {…}}` with the number of lines of each type;
/// without it the export is not complete. With the format `openai` each line is one conversation as
/// `{"messages": [{"role", "content"}, …]}`, the form of examples for fine-tuning; the roles are `user` and
/// `assistant`, and there is no last line.
#[utoipa::path(
    get, path = "/api/export", operation_id = "export_conversations", tag = "Conversations",
    params(
        ("agentId" = Option<String>, Query, description = "Only conversations with this agent."),
        ("from" = Option<Timestamp>, Query, description = "Only conversations whose last message is of this time or later."),
        ("to" = Option<Timestamp>, Query, description = "Only conversations whose last message is from before this time."),
        ("format" = inline(Option<FormatParameter>), Query, description = "`ndjson` or `openai`. Default `ndjson`."),
    ),
    responses(
        (status = 200, description = "The lines.", body = String, content_type = "application/x-ndjson"),
        (status = 429, description = "Too many requests, or too many open streams."),
    ),
)]
pub async fn export_conversations(
    authorized: Authorized<ConversationsRead>,
    state: Data<HttpState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if authorized.caller().names_a_user() {
        return Err(only_for_keys("conversations:read"));
    }
    let (selection, format) = read_query(&request)?;
    let slot = authorized.open_stream(&state).await?;
    let exports = &authorized.exports;
    let export = exports.conversations(authorized.caller(), selection);
    Ok(respond(OpenExport {
        parts: export.await?,
        lines: ExportLines::new(format),
        end: wait_for_end(&authorized, &state),
        _slot: slot,
    }))
}

fn read_query(request: &HttpRequest) -> Result<(ExportSelection, Format), ApiError> {
    let mut query = QueryParameters::read(request, &["agentId", "from", "to", "format"]);
    let format = match query.text("format") {
        None | Some("ndjson") => Format::Resources,
        Some("openai") => Format::OpenAi,
        Some(_) => {
            let detail = "must be 'ndjson' or 'openai'";
            query.add_fault("format", FaultCode::UnknownValue, detail);
            Format::Resources
        }
    };
    // A malformed id selects no conversations, like the id of an agent that does not exist.
    let no_agent = AgentId::new(uuid::Uuid::nil());
    let agent = query.text("agentId");
    let selection = ExportSelection {
        agent_id: agent.map(|id| id.parse().unwrap_or(no_agent)),
        from: query.parsed("from", TIME_IN_WORDS),
        to: query.parsed("to", TIME_IN_WORDS),
    };
    query.finish()?;
    Ok((selection, format))
}

/// Waits until a stream must end before all is sent: its credential is no longer valid, or the server shuts down.
fn wait_for_end<R>(
    authorized: &Authorized<R>,
    state: &Data<HttpState>,
) -> LocalBoxFuture<'static, ()> {
    let mut watch = authorized.watch_credential(state);
    let closing = state.closing.clone();
    async move {
        tokio::select! {
            _ = watch.ended() => {}
            () = closing.cancelled() => {}
        }
    }
    .boxed_local()
}

/// An export that is being sent.
struct OpenExport {
    parts: Export,
    lines: ExportLines,
    /// Completes when the stream must end.
    end: LocalBoxFuture<'static, ()>,
    /// The stream is counted until it is dropped.
    _slot: Option<StreamSlot>,
}

impl OpenExport {
    /// Returns the next lines; `None` after the last ones. If the export cannot be completed, the connection is
    /// cut, so that the client does not take what it has received for all.
    async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        loop {
            let part = tokio::select! {
                biased;
                () = &mut self.end => return Some(Err(Cut)),
                part = self.parts.next() => part,
            };
            match part {
                Some(Ok(part)) => {
                    let lines = self.lines.write(part);
                    if !lines.is_empty() {
                        return Some(Ok(lines.into_bytes()));
                    }
                }
                Some(Err(error)) => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        "export cannot be read; cutting its connection"
                    );
                    return Some(Err(Cut));
                }
                None => return self.lines.finish().map(|last| Ok(last.into_bytes())),
            }
        }
    }
}

fn respond(open: OpenExport) -> HttpResponse {
    lines::stream(stream::unfold(open, async |mut open| {
        let next = open.next().await?;
        Some((next, open))
    }))
}

/// The schema of the parameter `format`.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum FormatParameter {
    /// Resources with their types.
    Ndjson,
    /// Examples for fine-tuning.
    Openai,
}
