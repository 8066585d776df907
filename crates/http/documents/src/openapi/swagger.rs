//! Swagger UI, embedded in the binary: nothing is downloaded at build or run time.

use actix_web::{
    Error, HttpResponse, Resource,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    guard,
    http::header::{self, HeaderValue},
    middleware::Next,
    web,
};
use kit::reads::PUBLIC;
use utoipa_swagger_ui::{Config, SwaggerUi};

/// The first page under `/docs/`. It replaces the one of Swagger UI, which has another title and
/// shows each error of an operation on a screen of its own.
pub fn swagger_page() -> Resource {
    web::resource(["/", "/index.html"])
        .guard(guard::Get())
        .to(|| async {
            HttpResponse::Ok()
                .content_type("text/html; charset=utf-8")
                .body(include_str!("swagger.html"))
        })
}

/// The files under `/docs/`. They refer to the document by a relative path, because the public URL
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
