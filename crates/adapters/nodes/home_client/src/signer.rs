//! The signature of a region.

use std::sync::Arc;

use domain::{ForwardedRequest, RegionKey, RegionName};
use http::{HeaderName, HeaderValue, Request, Uri};
use ports::{Clock, Forwarding, IdSource};

use crate::outgoing::{Outgoing, WireBody};

/// The header with the signed head of a request.
const SIGNATURE: HeaderName = HeaderName::from_static("x-region-request");

/// The identity of a region, with which it signs its requests.
pub struct Signer {
    /// The name of the region.
    pub region: RegionName,
    /// The key of the region.
    pub key: RegionKey,
    /// The time of signing.
    pub clock: Arc<dyn Clock>,
    /// The ids of requests.
    pub ids: Arc<dyn IdSource>,
}

impl Signer {
    /// Returns a request as it is sent to `base_url`. The path and query below it are signed.
    pub(crate) fn signed(
        &self,
        request: &Request<Outgoing>,
        forwarding: Option<&Forwarding>,
        base_url: &str,
    ) -> http::Result<Request<WireBody>> {
        let path = request.uri().path_and_query();
        let path = path.map_or("/", |it| it.as_str());
        let head = ForwardedRequest {
            region: self.region.clone(),
            sent_at: self.clock.now(),
            id: self.ids.next_id(),
            client_address: forwarding.and_then(|it| it.client_address),
            caller: forwarding.and_then(|it| it.caller.clone()),
            body_digest: request.body().digest(),
        };
        let head = head.sign(&self.key, request.method().as_str(), path);
        let mut signed = request.clone().map(|body| body.wire(&head, &self.key));
        *signed.uri_mut() = Uri::try_from(format!("{base_url}{path}"))?;
        signed
            .headers_mut()
            .insert(SIGNATURE, HeaderValue::try_from(head)?);
        Ok(signed)
    }
}
