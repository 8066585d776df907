//! Who comes in, and what they follow.

use std::sync::Arc;

use application::access::{AccessError, Entrant, PresentedCredential};
use domain::{Fault, FaultCode, ProblemCode, Seq};
use secrecy::{ExposeSecret as _, SecretString};

use super::{Connected, Done, Opened, Refusal};
use crate::{
    access::{AgentEventsRead, EventsRead, check_counts, check_page, scope_table, unauthenticated},
    problem::ApiError,
    socket::{
        CloseCode,
        context::{Admission, Caller, Context, admit},
        frames::{Channel, ConnectFrame, SubscribeFrame},
    },
};

/// `connect` of a socket whose upgrade carried no credential.
pub(super) async fn enter(context: &Context, frame: ConnectFrame) -> Result<Done, Refusal> {
    let token = frame.token.ok_or_else(|| not_admitted(unauthenticated()))?;
    let entrant = present(context, &token).await;
    let entrant = entrant.map_err(|error| not_admitted(error.into()))?;
    let admission = enter_as(context, entrant).await.map_err(not_admitted)?;
    let channels = open_all(context, &admission.caller, frame.channels, frame.since).await;
    Ok(Done::Connected(Connected {
        head: admission.caller.tail.position(),
        admission: Some(Box::new(admission)),
        channels,
    }))
}

pub(super) async fn present(
    context: &Context,
    token: &SecretString,
) -> Result<Arc<Entrant>, AccessError> {
    let credential = PresentedCredential::new(token.expose_secret());
    context.state.authenticator.authenticate(&credential).await
}

async fn enter_as(context: &Context, entrant: Arc<Entrant>) -> Result<Admission, ApiError> {
    check_page(&entrant, context.page.as_deref())?;
    let counts = context
        .state
        .limits
        .take(&entrant, scope_table::ONE_REQUEST);
    check_counts(&counts.await)?;
    admit(&context.state, &context.services, entrant).await
}

/// Whoever is not admitted has come for nothing.
pub(super) fn not_admitted(error: ApiError) -> Refusal {
    let close = match error.code {
        ProblemCode::TooManyStreams => CloseCode::TooManyConnections,
        ProblemCode::RateLimited => CloseCode::RateLimited,
        code if code.status() >= 500 => CloseCode::Overloaded,
        _ => CloseCode::Unauthenticated,
    };
    Refusal {
        error,
        close: Some(close),
    }
}

/// `connect` of a socket whose upgrade carried a credential.
pub(super) async fn connect(
    context: &Context,
    caller: &Caller,
    frame: ConnectFrame,
) -> Result<Done, ApiError> {
    if frame.token.is_some() {
        let detail = "the upgrade carried a credential, so `connect` must not";
        return Err(ApiError::new(ProblemCode::AmbiguousCredentials).with_detail(detail));
    }
    Ok(Done::Connected(Connected {
        admission: None,
        head: caller.tail.position(),
        channels: open_all(context, caller, frame.channels, frame.since).await,
    }))
}

async fn open_all(
    context: &Context,
    caller: &Caller,
    names: Vec<String>,
    since: Option<i64>,
) -> Vec<(String, Result<Opened, ApiError>)> {
    let mut channels = Vec::with_capacity(names.len());
    for name in names {
        let opened = open(context, caller, &name, since).await;
        channels.push((name, opened));
    }
    channels
}

pub(super) async fn subscribe(
    context: &Context,
    caller: &Caller,
    frame: SubscribeFrame,
) -> Result<Done, ApiError> {
    let opened = open(context, caller, &frame.channel, frame.since).await?;
    Ok(Done::Subscribed(opened))
}

/// Looks whether there is such a channel for the caller.
async fn open(
    context: &Context,
    caller: &Caller,
    name: &str,
    since: Option<i64>,
) -> Result<Opened, ApiError> {
    let channel: Channel = name.parse()?;
    // Before it is looked at: when it is deleted right after, that is told as an event.
    let head = caller.tail.position();
    let who = caller.principal();
    let agent = match channel {
        Channel::Tenant => None,
        Channel::Agent(id) => {
            let services = context.open::<AgentEventsRead>(caller)?;
            services.agents.get(who, id).await?;
            None
        }
        Channel::Conversation(id) => {
            let services = context.open::<EventsRead>(caller)?;
            let found = services.conversations.get(who, id).await?;
            Some(found.value.agent_id)
        }
    };
    let since = since.map(Seq);
    let recovered = match since {
        Some(since) => reaches_back_to(context, caller, since).await?,
        None => false,
    };
    Ok(Opened {
        channel,
        agent,
        since,
        recovered,
        head,
    })
}

async fn reaches_back_to(context: &Context, caller: &Caller, since: Seq) -> Result<bool, ApiError> {
    if caller.tail.read(since, 0, |_| false).is_some() {
        return Ok(true);
    }
    let services = context.open::<EventsRead>(caller)?;
    let (first, head) = services.log.bounds(caller.tail.tenant()).await?;
    Ok(since.plus(1) >= first && since <= head)
}

/// What a client is told that connects a second time.
pub(in crate::socket) fn connected_before() -> ApiError {
    let fault = Fault::new("/type", FaultCode::NotCombinable, "a socket connects once");
    ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
}
