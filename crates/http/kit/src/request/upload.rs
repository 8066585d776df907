//! Bodies that are a file: they are streamed, and never in memory as a whole.

use std::{future::ready, mem, time::Duration};

use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest, dev::Payload, http::header, web::Data,
};
use application::{FileError, FileUpload};
use domain::{FileName, ProblemCode};
use futures::{StreamExt as _, future::join};
use ports::{BlobError, BlobStream};
use server::ConnectionState;
use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;

use super::pace::Pace;
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
    /// Returns the outcome of `store`, which reads the content while it arrives.
    pub async fn store<T>(
        mut self,
        store: impl AsyncFnOnce(FileUpload) -> Result<T, FileError>,
    ) -> Result<T, ApiError> {
        let headers = self.request.headers();
        let disposition = headers.get(header::CONTENT_DISPOSITION);
        let declared = headers.get(header::CONTENT_TYPE);
        let (sender, content) = channel();
        let upload = FileUpload {
            name: disposition.and_then(|value| FileName::from_disposition(value.as_bytes())),
            declared_type: declared.and_then(|value| value.to_str().ok().map(ToOwned::to_owned)),
            content,
        };
        let ((), stored) = join(self.receive(sender), store(upload)).await;
        Ok(stored?)
    }

    /// Passes the body on as it arrives.
    async fn receive(&mut self, sender: mpsc::Sender<Result<Bytes, ApiError>>) {
        let mut pace = Pace::new(self.deadline);
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
                Ok(Some(_)) if pace.received() > self.limit => {
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

fn channel() -> (mpsc::Sender<Result<Bytes, ApiError>>, BlobStream) {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, ApiError>>(1);
    let content = futures::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    let content = content.map(|chunk| chunk.map_err(|error| BlobError::Interrupted(error.into())));
    (sender, Box::pin(content))
}
