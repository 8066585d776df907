//! `/api/files`.

use std::{fmt::Write as _, ops::Range};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{self, HeaderValue},
    web::Data,
};
use application::FileUpload;
use domain::{File, FileId, FileLink, ProblemCode};
use futures::TryStreamExt as _;
use kit::{
    auth::{Authorized, ChatWrite, FileReader, TurnsRead, report_uploads},
    problem::ApiError,
    request::{IdempotencyHeader, PathId, Upload, created_response, etag_matches},
    state::HttpState,
};

/// The content of a file.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its schema is used")]
struct FileContent(Vec<u8>);

/// Upload a file for a message.
///
/// The body is the content; `Content-Disposition` can name the file. The content decides about the type; the
/// declared type distinguishes kinds of text. A file that nothing uses is deleted after 24 hours.
#[utoipa::path(
    post, path = "/api/files", operation_id = "create_file", tag = "Files",
    params(("Content-Disposition" = Option<String>, Header, description = "The name of the file, such as `attachment; filename=\"photo.png\"`.")),
    request_body(content = inline(FileContent), content_type = "*/*", description = "The content, with its media type in `Content-Type`."),
    responses((status = 201, description = "The file.", body = File)),
)]
pub async fn create_file(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    key: IdempotencyHeader,
    upload: Upload,
) -> Result<HttpResponse, ApiError> {
    let (files, caller) = (&authorized.files, authorized.caller());
    let quota = authorized.upload_quota();
    let mut watch = authorized.watch_credential(&state);
    let store = async |upload: FileUpload| files.upload(caller, upload, key.0).await;
    // An erasure withdraws the tokens of its user, who must not store more.
    let created = tokio::select! {
        created = upload.store(quota, store) => created,
        end = watch.ended() => return Err(end.into()),
    };
    let mut response = match created {
        Ok(created) => {
            let path = format!("/api/files/{}", created.value.reference.id);
            created_response(path, created.is_replayed).json(created.value)
        }
        Err(error) => HttpResponse::from_error(error),
    };
    if let Ok(Some(allowance)) = files.allowance(caller, quota).await {
        report_uploads(response.headers_mut(), &allowance);
    }
    Ok(response)
}

/// Read what is known about a file.
///
/// A file that nothing uses can be read by its creator. Later it can be read by those who can reach one of the
/// conversations that use it.
#[utoipa::path(
    get, path = "/api/files/{id}", operation_id = "get_file", tag = "Files",
    params(("id" = FileId, Path, description = "The file.")),
    responses((status = 200, description = "The file.", body = File)),
)]
pub async fn get_file(
    authorized: Authorized<TurnsRead>,
    id: PathId<FileId>,
) -> Result<HttpResponse, ApiError> {
    let found = authorized.files.find(authorized.caller(), id.0).await?;
    Ok(HttpResponse::Ok().json(found))
}

/// Delete a file that nothing uses.
#[utoipa::path(
    delete, path = "/api/files/{id}", operation_id = "delete_file", tag = "Files",
    params(("id" = FileId, Path, description = "The file.")),
    responses(
        (status = 204, description = "The file is deleted."),
        (status = 409, description = "A message or a note uses the file."),
    ),
)]
pub async fn delete_file(
    authorized: Authorized<ChatWrite>,
    id: PathId<FileId>,
) -> Result<HttpResponse, ApiError> {
    authorized.files.delete(authorized.caller(), id.0).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Make a link to the content of a file.
///
/// The address needs no credential, so that a page can show the file as an image. It is valid for an hour, and
/// ends with the file.
#[utoipa::path(
    post, path = "/api/files/{id}/link", operation_id = "create_file_link", tag = "Files",
    params(("id" = FileId, Path, description = "The file.")),
    responses((status = 201, description = "The link.", body = FileLink)),
)]
pub async fn create_file_link(
    authorized: Authorized<TurnsRead>,
    id: PathId<FileId>,
) -> Result<HttpResponse, ApiError> {
    let link = authorized.files.link(authorized.caller(), id.0).await?;
    Ok(HttpResponse::Created().json(link))
}

/// Read the content of a file, or a range of it.
#[utoipa::path(
    get, path = "/api/files/{id}/content", operation_id = "get_file_content", tag = "Files",
    params(
        ("id" = FileId, Path, description = "The file."),
        ("link" = Option<String>, Query, description = "A link, as `POST /api/files/{id}/link` returns it. It needs no credential."),
        ("Range" = Option<String>, Header, description = "One range of bytes, such as `bytes=0-1023`."),
        ("If-Range" = Option<String>, Header, description = "The `ETag` for which `Range` holds; otherwise the whole content is returned."),
    ),
    responses(
        (status = 200, description = "The content.", content_type = "*/*", body = inline(FileContent)),
        (status = 206, description = "The range.", content_type = "*/*", body = inline(FileContent)),
        (status = 304, description = "`If-None-Match` has the `ETag`."),
        (status = 416, description = "The range begins after the end of the content."),
    ),
)]
pub async fn get_file_content(
    reader: FileReader,
    id: PathId<FileId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let found = reader.find(id.0).await?;
    let file = &found.file;
    if etag_matches(request.headers(), &etag(file)) {
        let mut response = HttpResponse::NotModified();
        add_headers(&mut response, file);
        return Ok(response.finish());
    }
    let size = file.reference.bytes;
    let range = requested_range(&request, file);
    let mut response = match &range {
        Some(range) if range.is_empty() => {
            return Ok(range_not_satisfiable(size));
        }
        Some(range) => {
            let described = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            let mut response = HttpResponse::PartialContent();
            response.insert_header((header::CONTENT_RANGE, described));
            response
        }
        None => HttpResponse::Ok(),
    };
    let range = range.unwrap_or(0..size);
    let content = reader.read(&found, range.clone()).await?;
    response.no_chunking(range.end - range.start);
    add_headers(&mut response, file);
    let unavailable = |error| ApiError::new(ProblemCode::FilesUnavailable).with_source(error);
    Ok(response.streaming(content.map_err(unavailable)))
}

fn range_not_satisfiable(size: u64) -> HttpResponse {
    let error = ApiError::new(ProblemCode::RangeNotSatisfiable);
    let error = error.with_detail(format!("The content has {size} bytes."));
    let mut response = HttpResponse::from_error(error);
    let range = HeaderValue::from_str(&format!("bytes */{size}"));
    // A number is valid in a header.
    if let Ok(range) = range {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

fn add_headers(response: &mut HttpResponseBuilder, file: &File) {
    let media_type = file.reference.media_type;
    let kind = if media_type.is_inline() {
        "inline"
    } else {
        "attachment"
    };
    response
        .insert_header((header::CONTENT_TYPE, media_type.as_str()))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        .insert_header((header::ETAG, etag(file)))
        .insert_header((header::CACHE_CONTROL, "private, no-cache"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "sandbox"))
        .insert_header((
            header::CONTENT_DISPOSITION,
            disposition(kind, &file.reference.name),
        ));
}

fn etag(file: &File) -> String {
    format!("\"{}\"", file.sha256)
}

/// The header with a name of any characters (RFC 6266).
fn disposition(kind: &str, name: &str) -> HeaderValue {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    let value = format!("{kind}; filename*=UTF-8''{encoded}");
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

/// Returns the range that `Range` and `If-Range` ask for: `None` for the whole content, and an empty one if it begins
/// after the end. Several ranges, and malformed ones, are ignored.
fn requested_range(request: &HttpRequest, file: &File) -> Option<Range<u64>> {
    let headers = request.headers();
    let text = |name| {
        let value: Option<&HeaderValue> = headers.get(name);
        value.and_then(|value| value.to_str().ok())
    };
    let is_current = text(header::IF_RANGE).is_none_or(|tag| tag == etag(file));
    let range = text(header::RANGE).filter(|_| is_current)?;
    let (first, last) = range.strip_prefix("bytes=")?.trim().split_once('-')?;
    let size = file.reference.bytes;
    match (position(first), position(last)) {
        (Some(first), Some(last)) if first <= last => Some(first..last.saturating_add(1).min(size)),
        (Some(first), None) if last.is_empty() => Some(first..size),
        (None, Some(length)) if first.is_empty() => Some(size.saturating_sub(length)..size),
        _ => None,
    }
}

/// Digits only: a sign and white space are no position.
fn position(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}
