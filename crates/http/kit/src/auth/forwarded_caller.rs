//! Authenticates requests that far regions forward.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, dev::ServiceRequest};
use domain::{CallerClaims, ForwardedRequest, ProblemCode, region::REGION_CHALLENGE};

use super::authenticate::with_challenge;
use crate::{problem::ApiError, region::X_REGION_REQUEST, state::HttpState};

/// Verifies the signed head of a forwarded request, and that the credential of its caller is still
/// valid. Returns the head, or `None` for a request of a client, whose headers of this name are
/// ignored where no region may forward.
pub(super) async fn authenticate_forwarded(
    request: &ServiceRequest,
    state: &HttpState,
) -> Result<Option<Arc<ForwardedRequest>>, ApiError> {
    let Some(far_regions) = &state.region.far_regions else {
        return Ok(None);
    };
    let Some(head) = request.headers().get(X_REGION_REQUEST) else {
        return Ok(None);
    };
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let method = request.method().as_str();
    let head = head.to_str().unwrap_or_default();
    let forwarded = match far_regions.admit(head, method, path) {
        Ok(forwarded) => Arc::new(forwarded),
        Err(error) => {
            #[cfg(feature = "address-guard")]
            state.rates.address_guard.admit(request)?;
            tracing::warn!(%error, path = request.path(), "forwarded request rejected");
            return Err(rejected_region());
        }
    };
    if let Some(caller) = &forwarded.caller {
        let checked = state.authenticator.check_caller(caller.clone().into());
        let caller = checked.await.map_err(with_challenge)?;
        request.extensions_mut().insert(Arc::new(caller));
    }
    request.extensions_mut().insert(Arc::clone(&forwarded));
    Ok(Some(forwarded))
}

/// Returns the error of a forwarded request with an invalid signature. It concerns the region, not its
/// caller.
pub fn rejected_region() -> ApiError {
    ApiError {
        challenge: Some(REGION_CHALLENGE.into()),
        ..ApiError::new(ProblemCode::InvalidCredentials)
    }
}

/// Returns true if a far region has forwarded a request.
pub(crate) fn is_forwarded(request: &HttpRequest) -> bool {
    request.extensions().contains::<Arc<ForwardedRequest>>()
}

/// Returns the caller of a request that a far region has authenticated.
pub fn forwarded_caller(request: &HttpRequest) -> Option<CallerClaims> {
    let extensions = request.extensions();
    let forwarded = extensions.get::<Arc<ForwardedRequest>>()?;
    forwarded.caller.clone()
}

/// Returns true if a far region has authenticated the caller of a request, and counted it.
pub(super) fn is_counted_elsewhere(request: &impl HttpMessage) -> bool {
    let extensions = request.extensions();
    let forwarded = extensions.get::<Arc<ForwardedRequest>>();
    forwarded.is_some_and(|forwarded| forwarded.caller.is_some())
}
