//! The share of a tenant in the reading of pages.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, web::Data};
use application::{KeyedSemaphore, access::Entrant};
use domain::{ProblemCode, TenantId};
use futures::{FutureExt as _, future::LocalBoxFuture};
use tokio::sync::OwnedSemaphorePermit;

use crate::{access::unauthenticated, problem::ApiError, state::ApiState};

/// The right to read a page of a list and write it out, which takes the store and this process
/// some milliseconds of processor time for each MiB. A tenant has one for each core, and at
/// least two, so that a burst of large pages delays its own requests rather than those of others.
#[derive(Debug)]
pub struct PagePermit {
    _permit: OwnedSemaphorePermit,
}

impl PagePermit {
    /// The permits of all tenants.
    pub fn of_tenants() -> KeyedSemaphore<TenantId> {
        let cores = available_parallelism().map_or(1, NonZero::get);
        KeyedSemaphore::new(cores.max(2))
    }
}

impl FromRequest for PagePermit {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let state = request.app_data::<Data<ApiState>>().cloned();
        let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
        async move {
            let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
            let entrant = entrant.ok_or_else(unauthenticated)?;
            let tenant = entrant.principal.tenant.clone();
            let permit = state.page_permits.acquire(tenant).await;
            Ok(Self { _permit: permit })
        }
        .boxed_local()
    }
}
