//! Swagger UI, embedded in the binary: nothing is downloaded at build or run time.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderValue},
    middleware::Next,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::documents::PUBLIC;

/// The pages under `/docs/`. They refer to the document by a relative path, because the public URL
/// may have a path.
pub fn swagger_ui() -> SwaggerUi {
    SwaggerUi::new("/{_:.*}").config(Config::new(["../openapi.json"]))
}

/// The policy of the pages: only their own scripts, and inline styles.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The headers of everything under `/docs/`.
pub async fn swagger_headers(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let mut response = next.call(request).await?.map_into_boxed_body();
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, POLICY);
    // A missing file may exist in the next version, so errors are not cached.
    if response.status().is_success() {
        response.headers_mut().insert(header::CACHE_CONTROL, PUBLIC);
    }
    Ok(response)
}
