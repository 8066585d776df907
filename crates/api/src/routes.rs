//! The routes of the HTTP interface.

use std::future::ready;

use actix_web::{
    HttpRequest, HttpResponse, Resource, Scope, dev::HttpServiceFactory, middleware::from_fn, web,
};
use domain::ProblemCode;

use crate::{
    console, documents,
    layers::resource_in,
    oauth, openapi,
    operations::{self, Operation},
    problem::ApiError,
    regions::{RegionRole, configure_endpoints},
    request::routed_path,
    settings::EnabledProtocols,
    state::ApiState,
};

/// Registers all routes, except those of protocols and of a console that are turned off.
pub fn configure(config: &mut web::ServiceConfig, state: &ApiState) {
    let enabled = &state.protocols;
    // The first segment of a path selects the protocol, so that its requests are not compared with the
    // patterns of all other operations.
    for protocol in operations::PROTOCOLS {
        if enabled.contains(protocol.name) {
            let resources = resources(protocol.operations, protocol.prefix);
            config.service(resources.fold(web::scope(protocol.prefix), Scope::service));
        }
    }
    for resource in resources(operations::OPERATIONS, "") {
        config.service(resource);
    }
    configure_pages(config);
    if matches!(state.region.role, RegionRole::Home(_)) {
        configure_endpoints(config);
    }
    if state.console.is_some() {
        configure_console(config);
    }
    let enabled = enabled.clone();
    config.default_service(web::to(move |request: HttpRequest| {
        ready(Err::<HttpResponse, _>(route_not_found(&request, &enabled)))
    }));
}

/// Returns one resource for each path below `prefix`, with the methods of its operations. Another
/// method is 405.
fn resources(
    operations: &'static [Operation],
    prefix: &'static str,
) -> impl Iterator<Item = impl HttpServiceFactory + 'static> {
    let is_first = |path: &str, index| !operations[..index].iter().any(|it| it.path == path);
    let first = operations.iter().enumerate();
    let first = first.filter(move |(index, it)| is_first(it.path, *index));
    first.map(move |(_, first)| {
        let same_path = operations.iter().filter(|it| it.path == first.path);
        let routes = same_path.map(Operation::route);
        routes.fold(resource_in(prefix, first.path), Resource::route)
    })
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
            resource_in("", "/.well-known/oauth-authorization-server/{path:.*}")
                .route(web::get().to(oauth::get_authorization_server_at_path)),
        )
        .service(
            resource_in("", "/.well-known/oauth-protected-resource/{path:.*}")
                .route(web::get().to(oauth::get_protected_resource_at_path)),
        )
        .service(resource_in("", "/docs").route(web::get().to(documents::redirect_to_docs)))
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
        .service(resource_in("", "/console").route(web::get().to(console::get_page)))
        .service(resource_in("", "/console/{path:.*}").route(web::get().to(console::get_file)));
}
