//! A limit on the pages that are read for one tenant at the same time.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use access::AuthContext;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, web::Data};
use application::KeyedSemaphore;
use domain::{ProblemCode, TenantId};
use futures::{FutureExt as _, future::LocalBoxFuture};
use tokio::sync::OwnedSemaphorePermit;

use crate::{auth::unauthenticated, problem::ApiError, state::HttpState};

/// A permit to read and serialize a page of a list, which takes some milliseconds of processor time
/// in the store and in this process for each MiB. A tenant has one permit for each core, and at
/// least two, so that a burst of large pages delays its own requests and not those of others.
#[derive(Debug)]
pub struct PagePermit {
    _permit: OwnedSemaphorePermit,
}

impl PagePermit {
    /// Creates the semaphore with the permits of all tenants.
    pub fn new_semaphore() -> KeyedSemaphore<TenantId> {
        let cores = available_parallelism().map_or(1, NonZero::get);
        KeyedSemaphore::new(cores.max(2))
    }
}

impl FromRequest for PagePermit {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let state = request.app_data::<Data<HttpState>>().cloned();
        let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
        async move {
            let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
            let auth_context = auth_context.ok_or_else(unauthenticated)?;
            let tenant = auth_context.principal.tenant.clone();
            let permit = state.page_permits.acquire(tenant).await;
            Ok(Self { _permit: permit })
        }
        .boxed_local()
    }
}
