//! The routes of the HTTP interface.

use std::future::ready;

use actix_web::{HttpRequest, HttpResponse, middleware::from_fn, web};
use domain::ProblemCode;

use crate::{
    console, documents,
    layers::resource,
    oauth, openapi,
    operations::{self, Operation},
    problem::ApiError,
    request::routed_path,
    settings::EnabledProtocols,
    state::ApiState,
};

/// Registers all routes, except those of protocols and of a console that are turned off: one
/// resource for each path, with the methods of its operations. Another method is 405.
pub fn configure(config: &mut web::ServiceConfig, state: &ApiState) {
    let enabled = &state.protocols;
    let is_enabled =
        |path| operations::protocol_of(path).is_none_or(|it| enabled.contains(it.name));
    let mut paths: Vec<&str> = Vec::new();
    for operation in operations::all().filter(|operation| is_enabled(operation.path)) {
        if !paths.contains(&operation.path) {
            paths.push(operation.path);
        }
    }
    for path in paths {
        let operations = operations::all().filter(|operation| operation.path == path);
        let routes = operations.map(Operation::route);
        config.service(routes.fold(resource(path), actix_web::Resource::route));
    }
    configure_pages(config);
    if state.console.is_some() {
        configure_console(config);
    }
    let enabled = enabled.clone();
    config.default_service(web::to(move |request: HttpRequest| {
        ready(Err::<HttpResponse, _>(route_not_found(&request, &enabled)))
    }));
}

fn route_not_found(request: &HttpRequest, enabled: &EnabledProtocols) -> ApiError {
    match operations::protocol_of(routed_path(request)) {
        Some(protocol) => protocol.route_not_found(enabled.contains(protocol.name)),
        None => ProblemCode::RouteNotFound.into(),
    }
}

/// Registers what is no operation: metadata under the path of the public URL (RFC 8414 and
/// RFC 9728), and the pages of `/docs`.
fn configure_pages(config: &mut web::ServiceConfig) {
    config
        .service(
            resource("/.well-known/oauth-authorization-server/{path:.*}")
                .route(web::get().to(oauth::get_authorization_server_at_path)),
        )
        .service(
            resource("/.well-known/oauth-protected-resource/{path:.*}")
                .route(web::get().to(oauth::get_protected_resource_at_path)),
        )
        .service(resource("/docs").route(web::get().to(documents::redirect_to_docs)))
        .service(
            web::scope("/docs")
                .wrap(from_fn(openapi::swagger_headers))
                .service(openapi::swagger_page())
                .service(openapi::swagger_ui()),
        );
}

/// Registers the console. All paths below it are pages of its own, except those of its files.
fn configure_console(config: &mut web::ServiceConfig) {
    config
        .service(resource("/console").route(web::get().to(console::get_page)))
        .service(resource("/console/{path:.*}").route(web::get().to(console::get_file)));
}
