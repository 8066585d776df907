//! Files that a far region streams to the home region.

use std::{io, sync::Arc};

use actix_web::{
    HttpMessage as _,
    dev::{Payload, ServiceRequest},
    error::PayloadError,
    web::{Bytes, BytesMut, Data},
};
use domain::{
    ForwardedRequest, ProblemCode,
    region::{StreamedDigest, TRAILER_BYTES},
};
use futures::{StreamExt as _, stream};
use kit::{problem::ApiError, region::X_REGION_REQUEST, state::HttpState};

/// Returns the body of a forwarded request as it arrives, without its trailer. It ends with an error if it is
/// not what the far region has sent, so that nothing of it is stored.
pub(super) fn verified(
    request: &mut ServiceRequest,
    forwarded: Arc<ForwardedRequest>,
    state: Data<HttpState>,
) -> Payload {
    let head = request.headers().get(X_REGION_REQUEST).cloned();
    let verify = move |digest: StreamedDigest, trailer: &[u8]| {
        let far_regions = state.region.far_regions.as_ref();
        let head = head.as_ref().and_then(|head| head.to_str().ok());
        let is_valid = far_regions.zip(head).is_some_and(|(regions, head)| {
            regions.has_trailer(&forwarded.region, head, digest, trailer)
        });
        if !is_valid {
            tracing::warn!(region = %forwarded.region, "forwarded request rejected: other or cut body");
        }
        is_valid
    };
    let receiver = Receiver {
        payload: request.take_payload(),
        digest: StreamedDigest::default(),
        unread: BytesMut::new(),
        verify,
    };
    let content = stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.next().await {
            Some(Ok(chunk)) => Some((Ok(chunk), Some(receiver))),
            Some(Err(error)) => Some((Err(error), None)),
            None => receiver.end().map(|error| (Err(error), None)),
        }
    });
    Payload::from(content.boxed_local())
}

/// Receives a body, the last bytes of which are its trailer.
struct Receiver<Verify> {
    payload: Payload,
    digest: StreamedDigest,
    /// The last bytes that were received, which may be the trailer.
    unread: BytesMut,
    verify: Verify,
}

impl<Verify: FnOnce(StreamedDigest, &[u8]) -> bool> Receiver<Verify> {
    async fn next(&mut self) -> Option<Result<Bytes, PayloadError>> {
        loop {
            let chunk = match self.payload.next().await? {
                Ok(chunk) => chunk,
                Err(error) => return Some(Err(error)),
            };
            self.unread.extend_from_slice(&chunk);
            let length = self.unread.len().saturating_sub(TRAILER_BYTES);
            if length > 0 {
                let data = self.unread.split_to(length).freeze();
                self.digest.push(&data);
                return Some(Ok(data));
            }
        }
    }

    /// Returns an error if the trailer is not that of the body.
    fn end(self) -> Option<PayloadError> {
        let is_valid = (self.verify)(self.digest, &self.unread);
        let rejected = || {
            // Its client can repeat the request, which has changed nothing.
            let error = ApiError::new(ProblemCode::HomeUnavailable);
            error.with_detail("The body was changed or cut off between the regions.")
        };
        (!is_valid).then(|| PayloadError::Io(io::Error::other(rejected())))
    }
}
