//! Bodies of `multipart/form-data`, whose only part is a file.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use actix_web::http::header::HeaderMap;
use application::FileUpload;
use domain::{FaultCode, FileName, ProblemCode, UploadQuota};
use futures::{
    Stream, StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream, Fuse},
};
use multer::{Field, Multipart};
use parking_lot::Mutex;
use ports::{BlobError, BlobStream};
use tokio_util::bytes::Bytes;

use crate::problem::ApiError;

/// The maximum size in bytes of what is around the content, also of what is before it and after it.
pub(crate) const MAX_FRAME_BYTES: u64 = 16 * 1024;

const MEDIA_TYPE: &str = "multipart/form-data";
/// A body, whose parser does not read what follows the form.
type Body = Arc<Mutex<Fuse<BoxStream<'static, Result<Bytes, ApiError>>>>>;

/// The name of the part.
const FILE: &str = "file";

/// Returns whether a body is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    content_type(headers).is_some_and(|text| {
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(MEDIA_TYPE)
    })
}

/// Returns the boundary of a form.
pub(super) fn boundary(headers: &HeaderMap) -> Result<String, ApiError> {
    let boundary = multer::parse_boundary(content_type(headers).unwrap_or_default());
    let malformed = |_| ApiError::header("Content-Type", "must have a boundary");
    boundary.map_err(malformed)
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get("content-type")?.to_str().ok()
}

/// Reads the head of the part, and returns its content as it arrives, at most `limit` bytes.
pub(super) async fn read_file(
    body: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
    boundary: String,
    limit: u64,
    quota: UploadQuota,
) -> Result<FileUpload, ApiError> {
    let is_content = Arc::new(AtomicBool::new(false));
    let body: Body = Arc::new(Mutex::new(
        bounded(body, Arc::clone(&is_content)).boxed().fuse(),
    ));
    let mut parser = Multipart::new(rest(&body), boundary);
    let field = parser.next_field().await.map_err(rejected)?;
    let field = field.ok_or_else(|| fault(FaultCode::Required, "must have a part `file`"))?;
    if field.name() != Some(FILE) {
        return Err(other_part());
    }
    is_content.store(true, Ordering::Relaxed);
    let header = |name| field.headers().get(name);
    let name = header("content-disposition");
    let name = name.and_then(|value| FileName::from_disposition(value.as_bytes()));
    let declared = header("content-type");
    let declared_type = declared.and_then(|value| value.to_str().ok().map(ToOwned::to_owned));
    let form = Form {
        parser,
        field: Some(field),
        is_content,
        body,
        received: 0,
        limit,
    };
    Ok(FileUpload {
        name,
        declared_type,
        quota,
        content: form.content(),
    })
}

/// Limits what is not content: the parser would collect a whole body in search of the end of a head.
fn bounded(
    body: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
    is_content: Arc<AtomicBool>,
) -> impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static {
    let mut other = 0;
    body.map(move |chunk| {
        let chunk = chunk?;
        if is_content.load(Ordering::Relaxed) {
            other = 0;
        } else if other > MAX_FRAME_BYTES {
            return Err(malformed());
        } else {
            other += chunk.len() as u64;
        }
        Ok(chunk)
    })
}

/// A form whose only part is being read.
struct Form {
    parser: Multipart<'static>,
    /// `None` after its end: the parser looks for another one only then.
    field: Option<Field<'static>>,
    /// True until its end.
    is_content: Arc<AtomicBool>,
    body: Body,
    received: u64,
    limit: u64,
}

impl Form {
    /// Returns the content, which ends with an error if another part follows.
    fn content(self) -> BlobStream {
        let chunks = stream::try_unfold(self, |mut form| async move {
            let chunk = form.next().await?;
            Ok::<_, ApiError>(chunk.map(|chunk| (chunk, form)))
        });
        Box::pin(chunks.map_err(|error| BlobError::Interrupted(error.into())))
    }

    /// Reads the next bytes of the part.
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        if let Some(field) = &mut self.field {
            if let Some(chunk) = field.chunk().await.map_err(rejected)? {
                self.received += chunk.len() as u64;
                if self.received > self.limit {
                    return Err(ApiError::new(ProblemCode::BodyTooLarge));
                }
                return Ok(Some(chunk));
            }
            self.field = None;
            self.is_content.store(false, Ordering::Relaxed);
        }
        if self.parser.next_field().await.map_err(rejected)?.is_some() {
            return Err(other_part());
        }
        // Only the end of the body shows that it is whole.
        rest(&self.body).try_for_each(|_| ready(Ok(()))).await?;
        Ok(None)
    }
}

/// Returns what is left of a body.
fn rest(body: &Body) -> impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static {
    let body = Arc::clone(body);
    stream::poll_fn(move |context| body.lock().poll_next_unpin(context))
}

fn rejected(error: multer::Error) -> ApiError {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast::<ApiError>() {
            Ok(error) => *error,
            Err(cause) => malformed().with_source(cause),
        },
        _ => malformed(),
    }
}

fn malformed() -> ApiError {
    fault(FaultCode::BadFormat, "must be multipart/form-data")
}

fn other_part() -> ApiError {
    fault(
        FaultCode::UnknownMember,
        "must have no other part than `file`",
    )
}

fn fault(code: FaultCode, detail: &str) -> ApiError {
    ApiError::invalid("", code, detail)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures::FutureExt as _;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const BOUNDARY: &str = "a-boundary";

    /// The name and the content of a form that arrives in pieces of this size.
    fn read(body: &[u8], piece: usize) -> Result<(Option<FileName>, Vec<u8>), ApiError> {
        let pieces = body
            .chunks(piece)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)));
        let pieces: Vec<_> = pieces.collect();
        let read = async {
            let body = stream::iter(pieces);
            let file = read_file(body, BOUNDARY.to_owned(), 1_000, UploadQuota::default()).await?;
            let content = file
                .content
                .map_ok(|piece| piece.to_vec())
                .try_concat()
                .await;
            let content = content.map_err(|error| match error {
                BlobError::Interrupted(cause) => *cause.downcast::<ApiError>().unwrap(),
                other => panic!("{other:?}"),
            });
            Ok((file.name, content?))
        };
        read.now_or_never().expect("all pieces are there")
    }

    fn form(content: &[u8]) -> Vec<u8> {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
        );
        [
            head.as_bytes(),
            content,
            format!("\r\n--{BOUNDARY}--\r\n").as_bytes(),
        ]
        .concat()
    }

    proptest! {
        #[test]
        fn a_form_is_read_in_any_pieces(content in vec(any::<u8>(), 0..300), piece in 1_usize..400) {
            let (name, read) = read(&form(&content), piece).unwrap();
            prop_assert_eq!(name, FileName::new("a.txt"));
            prop_assert_eq!(read, content);
        }

        #[test]
        fn other_bodies_are_rejected(body in vec(any::<u8>(), 0..300), piece in 1_usize..400) {
            let error = read(&body, piece).unwrap_err();
            prop_assert_eq!(error.code, ProblemCode::ValidationFailed);
        }

        #[test]
        fn a_form_that_is_cut_off_is_rejected(content in vec(any::<u8>(), 0..100), cut in 3_usize..100) {
            let form = form(&content);
            let kept = form.len().saturating_sub(cut);
            prop_assert!(read(&form[..kept], 7).is_err());
        }
    }

    #[tokio::test]
    async fn a_body_that_is_cut_off_after_the_form_is_rejected() {
        let form = form(b"Well");
        let cut = stream::once(async {
            tokio::task::yield_now().await;
            Err(ApiError::new(ProblemCode::MalformedJson))
        });
        let body = stream::iter([Ok(form.into())]).chain(cut);
        let file = read_file(body, BOUNDARY.to_owned(), 1_000, UploadQuota::default());
        let content = file.await.expect("a head").content;
        content.try_collect::<Vec<_>>().await.unwrap_err();
    }

    #[test]
    fn a_long_head_is_rejected_before_the_content_and_after_it() {
        let long = vec![b'a'; 100_000];
        let head = format!("--{BOUNDARY}\r\n").into_bytes();
        let whole = form(b"Well");
        let other_head = [&whole[..whole.len() - 4], b"\r\n"].concat();
        for start in [head, other_head] {
            let endless = [start, long.clone()].concat();
            let pieces = endless.chunks(1_000).map(Bytes::copy_from_slice);
            let pieces: Vec<_> = pieces.map(Ok).collect();
            let read_pieces = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&read_pieces);
            let body = stream::iter(pieces).inspect(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            let read = async {
                let boundary = BOUNDARY.to_owned();
                let file = read_file(body, boundary, 1_000, UploadQuota::default()).await;
                let content = file.map_err(|_rejected| ())?.content;
                content.try_for_each(|_| ready(Ok(()))).await.map_err(drop)
            };
            assert_eq!(read.now_or_never(), Some(Err(())));
            assert!(read_pieces.load(Ordering::Relaxed) < 20);
        }
    }

    #[test]
    fn a_content_above_the_limit_is_rejected() {
        assert!(read(&form(&[b'a'; 1_000]), 100).is_ok());
        let error = read(&form(&[b'a'; 1_001]), 100).unwrap_err();
        assert_eq!(error.code, ProblemCode::BodyTooLarge);
    }
}
