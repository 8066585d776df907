//! Bodies that are a file: they are streamed, and never in memory as a whole.

use std::{future::ready, mem, time::Duration};

use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest,
    dev::Payload,
    http::header::{self, HeaderMap},
    web::Data,
};
use application::{FileError, FileUpload};
use domain::{FileName, ProblemCode, UploadQuota};
use futures::{
    FutureExt as _, Stream, StreamExt as _, TryStreamExt as _,
    future::{self, BoxFuture, join},
    stream,
};
use ports::{BlobError, SentBody};
use server::ConnectionState;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::bytes::Bytes;

use super::{
    multipart,
    pace::{Pace, cut_off},
};
use crate::{auth::is_forwarded, layers::UnreadBody, problem::ApiError, state::HttpState};

/// A request whose body is a file.
pub struct Upload {
    request: HttpRequest,
    payload: Payload,
    limit: u64,
    /// The time within which the next bytes must arrive, and after which their rate counts.
    deadline: Duration,
    /// True once the whole body has been read.
    is_whole: bool,
}

/// The rest of a body that is not read is held until the response is sent.
impl Drop for Upload {
    fn drop(&mut self) {
        if !self.is_whole {
            let unread_body = UnreadBody(mem::replace(&mut self.payload, Payload::None));
            self.request.extensions_mut().insert(unread_body);
        }
    }
}

impl FromRequest for Upload {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let Some(state) = request.app_data::<Data<HttpState>>() else {
            return ready(Err(ApiError::new(ProblemCode::Internal)));
        };
        let payload = mem::replace(payload, Payload::None);
        ready(Ok(Self::new(request.clone(), payload, state)))
    }
}

impl Upload {
    /// Takes the body of a request.
    pub fn new(request: HttpRequest, payload: Payload, state: &HttpState) -> Self {
        Self {
            request,
            payload,
            limit: state.bodies.sizes.file_bytes.into(),
            deadline: state.bodies.deadline,
            is_whole: false,
        }
    }

    /// Returns the outcome of `store`, which reads the content while it arrives. `quota` is that of the caller.
    pub async fn store<T>(
        mut self,
        quota: UploadQuota,
        store: impl AsyncFnOnce(FileUpload) -> Result<T, FileError>,
    ) -> Result<T, ApiError> {
        let (sender, body) = channel();
        let upload = self.read(quota, body)?;
        let stored = async { store(upload.await?).await.map_err(ApiError::from) };
        outcome(join(self.receive(sender), stored).await)
    }

    /// Returns the outcome of `send`, which passes the body on while it arrives.
    pub async fn pass_on<T>(
        mut self,
        send: impl AsyncFnOnce(SentBody) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let (sender, body) = channel();
        let body = SentBody::Streamed(body.map_err(Into::into).boxed());
        outcome(join(self.receive(sender), send(body)).await)
    }

    /// Reads what a body says about its content.
    fn read(
        &self,
        quota: UploadQuota,
        body: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
    ) -> Result<BoxFuture<'static, Result<FileUpload, ApiError>>, ApiError> {
        let headers = self.request.headers();
        if multipart::is_form(headers) {
            let file = multipart::read_file(body, multipart::boundary(headers)?, self.limit, quota);
            return Ok(file.boxed());
        }
        let disposition = headers.get(header::CONTENT_DISPOSITION);
        let declared = headers.get(header::CONTENT_TYPE);
        let interrupted = |error: ApiError| BlobError::Interrupted(error.into());
        let upload = FileUpload {
            name: disposition.and_then(|value| FileName::from_disposition(value.as_bytes())),
            declared_type: declared.and_then(|value| value.to_str().ok().map(ToOwned::to_owned)),
            quota,
            content: Box::pin(body.map_err(interrupted)),
        };
        Ok(future::ready(Ok(upload)).boxed())
    }

    /// Passes the body to its reader as it arrives, until that needs no more.
    async fn receive(&mut self, sender: mpsc::Sender<Option<Bytes>>) -> Result<(), ApiError> {
        let mut pace = if is_forwarded(&self.request) {
            Pace::of_region(self.deadline)
        } else {
            Pace::new(self.deadline)
        };
        let limit = max_body_bytes(self.request.headers(), self.limit);
        loop {
            let next = tokio::select! {
                // The end of a body is noticed, although its reader needs no more.
                biased;
                next = pace.next(&mut self.payload) => next?,
                () = sender.closed() => return Ok(()),
            };
            if next.is_none() {
                ConnectionState::of(&self.request).body_received();
                self.is_whole = true;
            } else if pace.received() > limit {
                return Err(ApiError::new(ProblemCode::BodyTooLarge));
            }
            let passed_at = Instant::now();
            if sender.send(next).await.is_err() || self.is_whole {
                return Ok(());
            }
            pace.pause(passed_at.elapsed());
        }
    }
}

/// Returns the outcome of a reader, or why it has not received the whole body.
fn outcome<T>(
    (received, read): (Result<(), ApiError>, Result<T, ApiError>),
) -> Result<T, ApiError> {
    read.or_else(|error| received.and(Err(error)))
}

/// The parts of a body, `None` at its end. Without one the reader receives an error: its other side has ended
/// before.
fn channel() -> (
    mpsc::Sender<Option<Bytes>>,
    impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel(1);
    let body = stream::unfold(Some(receiver), |receiver| async {
        let mut receiver: mpsc::Receiver<Option<Bytes>> = receiver?;
        match receiver.recv().await {
            Some(Some(part)) => Some((Ok(part), Some(receiver))),
            Some(None) => None,
            None => Some((Err(cut_off()), None)),
        }
    });
    (sender, body)
}

/// Returns the maximum size of the body of a content of at most `limit` bytes.
pub(crate) fn max_body_bytes(headers: &HeaderMap, limit: u64) -> u64 {
    if multipart::is_form(headers) {
        limit + multipart::MAX_FRAME_BYTES
    } else {
        limit
    }
}
