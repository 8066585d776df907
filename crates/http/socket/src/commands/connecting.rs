//! The command `connect`.

use std::sync::Arc;

use access::{AccessError, AuthContext, PresentedCredential};
use domain::{FaultCode, ProblemCode};
use kit::{
    auth::{check_credential_origin, count_request, unauthenticated},
    operations,
    problem::ApiError,
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{CommandError, CommandOutcome, Connected, channels::open_channels};
use crate::{
    CloseCode,
    context::{AdmittedCaller, Caller, Context, admit},
    frames::ConnectFrame,
};

/// Executes `connect` on a socket whose upgrade carried no credential.
pub(super) async fn connect_with_token(
    context: &Context,
    frame: ConnectFrame,
) -> Result<CommandOutcome, CommandError> {
    let token = frame.token.ok_or_else(|| fatal(unauthenticated()))?;
    let auth = authenticate(context, &token).await;
    let auth = auth.map_err(|error| fatal(error.into()))?;
    let admitted = admit_authenticated(context, auth).await.map_err(fatal)?;
    let channels = open_channels(context, &admitted.caller, frame.channels, frame.since).await;
    let channels = channels.map_err(fatal)?;
    Ok(CommandOutcome::Connected(Connected {
        head: admitted.caller.tail.position(),
        admitted: Some(Box::new(admitted)),
        channels,
    }))
}

pub(super) async fn authenticate(
    context: &Context,
    token: &SecretString,
) -> Result<Arc<AuthContext>, AccessError> {
    let credential = PresentedCredential::new(token.expose_secret());
    let auth = context
        .state
        .authenticator
        .authenticate(&credential)
        .await?;
    if context.names_user() {
        return Ok(auth.naming_user());
    }
    Ok(auth)
}

async fn admit_authenticated(
    context: &Context,
    auth: Arc<AuthContext>,
) -> Result<AdmittedCaller, ApiError> {
    check_credential_origin(&auth, context.page.as_deref())?;
    count_request(&context.state, &auth, operations::ONE_REQUEST).await?;
    admit(&context.state, &context.services, auth).await
}

/// Makes the error fatal: a socket without a caller is closed.
pub(super) fn fatal(error: ApiError) -> CommandError {
    let close = match error.code {
        ProblemCode::TooManyStreams => CloseCode::TooManyConnections,
        ProblemCode::RateLimited => CloseCode::RateLimited,
        ProblemCode::HomeUnavailable => CloseCode::UseAnotherRegion,
        code if code.status() >= 500 => CloseCode::Overloaded,
        _ => CloseCode::Unauthenticated,
    };
    CommandError {
        error,
        close: Some(close),
    }
}

/// Executes `connect` on a socket whose upgrade carried a credential.
pub(super) async fn connect(
    context: &Context,
    caller: &Caller,
    frame: ConnectFrame,
) -> Result<CommandOutcome, ApiError> {
    if frame.token.is_some() {
        let detail = "The upgrade carried a credential: omit `token`.";
        return Err(ApiError::new(ProblemCode::AmbiguousCredentials).with_detail(detail));
    }
    Ok(CommandOutcome::Connected(Connected {
        admitted: None,
        head: caller.tail.position(),
        channels: open_channels(context, caller, frame.channels, frame.since).await?,
    }))
}

/// The error of a second `connect`.
pub(crate) fn already_connected() -> ApiError {
    let detail = "the socket is already connected";
    ApiError::invalid("/type", FaultCode::NotCombinable, detail)
}

/// The error of an authenticated client that sends another command before `connect`.
pub(crate) fn not_connected() -> ApiError {
    ApiError::invalid("/type", FaultCode::NotCombinable, "send `connect` first")
}
