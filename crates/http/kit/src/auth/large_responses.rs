//! Limits the memory of large responses that wait for slow clients.

use std::{collections::HashMap, sync::Arc};

use actix_web::{
    HttpResponse,
    body::{BodySize, MessageBody as _},
    dev::ServiceResponse,
    http::Method,
};
use domain::{ProblemCode, TenantId};
use parking_lot::Mutex;
use server::hold_until_sent;

use crate::problem::ApiError;

/// The minimum size of a large response; smaller ones fit into the buffers of their connection.
const MIN_LARGE_BYTES: u64 = 64 * 1024;
/// The maximum number of bytes in a tenant's large responses that are being sent.
const MAX_TENANT_BYTES: u64 = 128 * 1024 * 1024;

/// The bytes in large responses that are being sent, by tenant.
#[derive(Clone, Default)]
pub struct LargeResponses(Arc<Mutex<HashMap<TenantId, u64>>>);

impl LargeResponses {
    /// Counts a large response until it is sent. If the tenant's limit is exceeded, the request is
    /// rejected instead. Only GET is limited: requests that change something always receive their
    /// response.
    pub(super) fn bound(&self, tenant: &TenantId, response: ServiceResponse) -> ServiceResponse {
        let bytes = match response.response().body().size() {
            BodySize::Sized(bytes) if bytes >= MIN_LARGE_BYTES => bytes,
            _ => return response,
        };
        if *response.request().method() != Method::GET {
            return response;
        }
        if let Some(reservation) = self.reserve(tenant, bytes) {
            return hold_until_sent(response, reservation);
        }
        let refusal = HttpResponse::from_error(ApiError::new(ProblemCode::Overloaded));
        response.into_response(refusal)
    }

    fn reserve(&self, tenant: &TenantId, bytes: u64) -> Option<Reservation> {
        let mut sent = self.0.lock();
        let taken = sent.get(tenant).copied().unwrap_or(0) + bytes;
        if taken > MAX_TENANT_BYTES {
            return None;
        }
        sent.insert(tenant.clone(), taken);
        Some(Reservation {
            responses: self.clone(),
            tenant: tenant.clone(),
            bytes,
        })
    }
}

/// The share of one large response; released when dropped.
struct Reservation {
    responses: LargeResponses,
    tenant: TenantId,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut sent = self.responses.0.lock();
        if let Some(taken) = sent.get_mut(&self.tenant) {
            *taken -= self.bytes;
            if *taken == 0 {
                sent.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn response(method: Method, bytes: u64) -> ServiceResponse {
        let bytes = usize::try_from(bytes).unwrap();
        let request = TestRequest::with_uri("/api/events").method(method);
        let response = HttpResponse::Ok().body(vec![b'x'; bytes]);
        request.to_srv_request().into_response(response)
    }

    #[test]
    fn a_tenant_over_its_limit_is_rejected_and_others_are_not() {
        let responses = LargeResponses::default();
        let (slow, other): (TenantId, TenantId) =
            ("slow".parse().unwrap(), "other".parse().unwrap());
        let large = || response(Method::GET, MAX_TENANT_BYTES / 4);
        let status = |tenant: &TenantId, given| responses.bound(tenant, given).status().as_u16();
        let mut waiting: Vec<_> = (0..4).map(|_| responses.bound(&slow, large())).collect();
        assert!(waiting.iter().all(|response| response.status() == 200));
        assert_eq!(status(&slow, large()), 503);
        assert_eq!(
            status(&slow, response(Method::GET, MIN_LARGE_BYTES - 1)),
            200
        );
        assert_eq!(status(&slow, response(Method::POST, MIN_LARGE_BYTES)), 200);
        assert_eq!(status(&other, large()), 200);
        waiting.pop();
        assert_eq!(status(&slow, large()), 200);
        drop(waiting);
        assert!(responses.0.lock().is_empty());
    }
}
