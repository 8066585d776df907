//! The routes of the HTTP interface.

use std::future::ready;

use actix_web::{HttpRequest, HttpResponse, Resource, Scope, dev::HttpServiceFactory, web};
use domain::ProblemCode;
use kit::{
    layers::resource_in, operations::Operation, problem::ApiError, request::routed_path,
    state::HttpState,
};

use crate::wiring::ServerParts;

/// Registers the states and all routes, except those of protocols and of a console that are turned
/// off.
pub fn configure(config: &mut web::ServiceConfig, parts: &ServerParts) {
    let ServerParts {
        state, surfaces, ..
    } = parts;
    config
        .app_data(state.clone())
        .app_data(parts.services.clone())
        .app_data(surfaces.rest.clone())
        .app_data(surfaces.sockets.clone())
        .app_data(surfaces.regions.clone())
        .app_data(surfaces.documents.clone());
    // The first segment of a path selects the protocol, so that its requests are not compared with the
    // patterns of all other operations.
    for protocol in state.operations.protocols() {
        let operations: Vec<&Operation> = protocol.operations.iter().collect();
        let resources = resources(&operations, protocol.prefix);
        let resources = resources.into_iter();
        config.service(resources.fold(web::scope(protocol.prefix), Scope::service));
    }
    for resource in resources(state.operations.own(), "") {
        config.service(resource);
    }
    rest::configure_metadata(config);
    documents::configure_docs(config);
    if surfaces.regions.is_home() {
        regions::configure_endpoints(config);
    }
    if surfaces.documents.console.is_some() {
        documents::configure_console(config);
    }
    config.default_service(web::to(|request: HttpRequest| {
        ready(Err::<HttpResponse, _>(route_not_found(&request)))
    }));
}

/// Returns one resource for each path below `prefix`, with the methods of its operations. Another
/// method is 405.
fn resources(
    operations: &[&'static Operation],
    prefix: &'static str,
) -> Vec<impl HttpServiceFactory + use<>> {
    let is_first = |path: &str, index| !operations[..index].iter().any(|it| it.path == path);
    let first = operations.iter().enumerate();
    let first = first.filter(|(index, it)| is_first(it.path, *index));
    let resources = first.map(|(_, first)| {
        let same_path = operations.iter().filter(|it| it.path == first.path);
        let routes = same_path.map(|it| it.route());
        routes.fold(resource_in(prefix, first.path), Resource::route)
    });
    resources.collect()
}

fn route_not_found(request: &HttpRequest) -> ApiError {
    let operations = request.app_data::<web::Data<HttpState>>();
    let operations = operations.map(|state| &state.operations);
    let protocol = operations.and_then(|it| it.protocol_of(routed_path(request)).zip(Some(it)));
    match protocol {
        Some((protocol, table)) => protocol.route_not_found(table.is_enabled(protocol)),
        None => ProblemCode::RouteNotFound.into(),
    }
}
