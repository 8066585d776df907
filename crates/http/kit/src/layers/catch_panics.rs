//! Resources whose handlers may panic without closing the connection.

use actix_web::{
    Error, HttpMessage, HttpResponse, Resource,
    body::{BoxBody, MessageBody},
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    middleware::{Next, from_fn},
    web,
};
use domain::ProblemCode;
use futures::FutureExt;

use crate::problem::ApiError;

/// The pattern of the matched route: the label of its metrics.
#[derive(Debug, Clone, Copy)]
pub struct RoutePattern(pub &'static str);

/// Creates a resource at `pattern`, in a scope if `prefix` is not empty: that of the paths that begin with
/// `prefix`, as `pattern` does. A panic in one of its handlers becomes a 500.
pub fn resource_in(
    prefix: &str,
    pattern: &'static str,
) -> Resource<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    web::resource(pattern.strip_prefix(prefix).unwrap_or(pattern)).wrap(from_fn(
        move |request, next| catch_panics(RoutePattern(pattern), request, next),
    ))
}

async fn catch_panics(
    pattern: RoutePattern,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    request.extensions_mut().insert(pattern);
    // Routing is complete, so the request may be kept while the handler runs.
    let kept = request.request().clone();
    let caught = std::panic::AssertUnwindSafe(next.call(request))
        .catch_unwind()
        .await;
    match caught {
        Ok(outcome) => outcome.map(ServiceResponse::map_into_boxed_body),
        Err(_panic) => {
            let error = ApiError::new(ProblemCode::Internal).with_source("a handler panicked");
            Ok(ServiceResponse::new(kept, HttpResponse::from_error(error)))
        }
    }
}
