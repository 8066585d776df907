//! Large answers that wait in memory for clients that read slowly.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix_web::{
    HttpResponse,
    body::{BodySize, MessageBody as _},
    dev::ServiceResponse,
    http::Method,
};
use domain::{ProblemCode, TenantId};

use crate::{connection::hold, problem::ApiError};

/// Smaller answers fit into the buffers of their connection.
const LARGE: u64 = 64 * 1024;
/// The maximum number of bytes of a tenant's large answers that are being sent.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// Bytes of the large answers that are being sent, by tenant.
#[derive(Clone, Default)]
pub struct LargeAnswers(Arc<Mutex<HashMap<TenantId, u64>>>);

impl LargeAnswers {
    /// Counts a large answer until it is sent. In place of one for which its tenant has no room
    /// left the client is refused; requests that change something are always answered.
    pub(super) fn bound(&self, tenant: &TenantId, response: ServiceResponse) -> ServiceResponse {
        let bytes = match response.response().body().size() {
            BodySize::Sized(bytes) if bytes >= LARGE => bytes,
            _ => return response,
        };
        if *response.request().method() != Method::GET {
            return response;
        }
        if let Some(place) = self.take(tenant, bytes) {
            return hold(response, place);
        }
        let refusal = HttpResponse::from_error(ApiError::new(ProblemCode::Overloaded));
        response.into_response(refusal)
    }

    fn take(&self, tenant: &TenantId, bytes: u64) -> Option<Place> {
        let mut sent = self.lock();
        let taken = sent.get(tenant).copied().unwrap_or(0) + bytes;
        if taken > MOST_BYTES {
            return None;
        }
        sent.insert(tenant.clone(), taken);
        Some(Place {
            answers: self.clone(),
            tenant: tenant.clone(),
            bytes,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one large answer; free when dropped.
struct Place {
    answers: LargeAnswers,
    tenant: TenantId,
    bytes: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sent = self.answers.lock();
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

    fn answer(method: Method, bytes: u64) -> ServiceResponse {
        let bytes = usize::try_from(bytes).unwrap();
        let request = TestRequest::with_uri("/api/events").method(method);
        let answer = HttpResponse::Ok().body(vec![b'x'; bytes]);
        request.to_srv_request().into_response(answer)
    }

    #[test]
    fn a_tenant_whose_answers_wait_is_refused_more_of_them_and_others_are_not() {
        let answers = LargeAnswers::default();
        let (slow, other): (TenantId, TenantId) =
            ("slow".parse().unwrap(), "other".parse().unwrap());
        let large = || answer(Method::GET, MOST_BYTES / 4);
        let status = |tenant: &TenantId, given| answers.bound(tenant, given).status().as_u16();
        let mut waiting: Vec<_> = (0..4).map(|_| answers.bound(&slow, large())).collect();
        assert!(waiting.iter().all(|answer| answer.status() == 200));
        assert_eq!(status(&slow, large()), 503);
        assert_eq!(status(&slow, answer(Method::GET, LARGE - 1)), 200);
        assert_eq!(status(&slow, answer(Method::POST, LARGE)), 200);
        assert_eq!(status(&other, large()), 200);
        waiting.pop();
        assert_eq!(status(&slow, large()), 200);
        drop(waiting);
        assert!(answers.lock().is_empty());
    }
}
