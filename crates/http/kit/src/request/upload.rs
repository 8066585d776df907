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
    FutureExt as _, Stream, TryStreamExt as _,
    future::{self, BoxFuture, join},
    stream,
};
use ports::BlobError;
use server::ConnectionState;
use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;

use super::{multipart, pace::Pace};
use crate::{layers::UnreadBody, problem::ApiError, state::HttpState};

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
        ready(Ok(Self {
            request: request.clone(),
            payload: mem::replace(payload, Payload::None),
            limit: state.bodies.sizes.file_bytes.into(),
            deadline: state.bodies.deadline,
            is_whole: false,
        }))
    }
}

impl Upload {
    /// Returns the outcome of `store`, which reads the content while it arrives. `quota` is that of the caller.
    pub async fn store<T>(
        mut self,
        quota: UploadQuota,
        store: impl AsyncFnOnce(FileUpload) -> Result<T, FileError>,
    ) -> Result<T, ApiError> {
        let (sender, body) = channel();
        let upload = self.read(quota, body)?;
        let stored = async { store(upload.await?).await.map_err(ApiError::from) };
        let ((), stored) = join(self.receive(sender), stored).await;
        stored
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

    /// Passes the body on as it arrives.
    async fn receive(&mut self, sender: mpsc::Sender<Result<Bytes, ApiError>>) {
        let mut pace = Pace::new(self.deadline);
        let limit = max_body_bytes(self.request.headers(), self.limit);
        loop {
            let next = tokio::select! {
                // The end of a body is noticed, although its reader needs no more.
                biased;
                next = pace.next(&mut self.payload) => next,
                () = sender.closed() => return,
            };
            let chunk = match next {
                Ok(None) => {
                    ConnectionState::of(&self.request).body_received();
                    self.is_whole = true;
                    return;
                }
                Ok(Some(_)) if pace.received() > limit => {
                    Err(ApiError::new(ProblemCode::BodyTooLarge))
                }
                Ok(Some(chunk)) => Ok(chunk),
                Err(error) => Err(error),
            };
            let is_end = chunk.is_err();
            if sender.send(chunk).await.is_err() || is_end {
                return;
            }
        }
    }
}

fn channel() -> (
    mpsc::Sender<Result<Bytes, ApiError>>,
    impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel(1);
    let body = stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
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
