//! The whole interface on one page.

use actix_web::{middleware::from_fn, web};
use domain::ProblemCode;

use crate::{
    agents, catalogue, chat, conversations, documents, events, health, layers::resource, limits,
    openapi, problem::ApiError, turns,
};

/// Registers every route. One resource a path, with its methods: what is not among them is 405.
#[rustfmt::skip]
pub fn configure(config: &mut web::ServiceConfig) {
    config
        .service(resource("/api/agents")
            .route(web::post().to(agents::create_agent))
            .route(web::get().to(agents::list_agents)))
        .service(resource("/api/agents/{id}")
            .route(web::get().to(agents::get_agent))
            .route(web::patch().to(agents::patch_agent))
            .route(web::delete().to(agents::delete_agent)))
        .service(resource("/api/agents/{id}/config")
            .route(web::get().to(agents::get_agent_config))
            .route(web::put().to(agents::put_agent_config)))
        .service(resource("/api/chat")
            .route(web::post().to(chat::chat)))
        .service(resource("/api/conversations")
            .route(web::post().to(conversations::create_conversation))
            .route(web::get().to(conversations::list_conversations)))
        .service(resource("/api/conversations/{id}")
            .route(web::get().to(conversations::get_conversation))
            .route(web::patch().to(conversations::patch_conversation))
            .route(web::delete().to(conversations::delete_conversation)))
        .service(resource("/api/conversations/{id}/messages")
            .route(web::get().to(conversations::list_messages)))
        .service(resource("/api/turns/{id}")
            .route(web::get().to(turns::get_turn)))
        .service(resource("/api/turns/{id}/cancel")
            .route(web::post().to(turns::cancel_turn)))
        .service(resource("/api/events")
            .route(web::get().to(events::list_events)))
        .service(resource("/api/engines")
            .route(web::get().to(catalogue::list_engines)))
        .service(resource("/api/capabilities")
            .route(web::get().to(catalogue::list_capabilities)))
        .service(resource("/api/limits")
            .route(web::get().to(limits::get_limits)))
        .service(resource("/livez")
            .route(web::get().to(health::get_livez)))
        .service(resource("/readyz")
            .route(web::get().to(health::get_readyz)))
        .service(resource("/metrics")
            .route(web::get().to(health::get_metrics)))
        .service(resource("/openapi.json")
            .route(web::get().to(documents::get_openapi)))
        .service(resource("/problems")
            .route(web::get().to(documents::list_problems)))
        .service(resource("/problems/{code}")
            .route(web::get().to(documents::get_problem)))
        .service(resource("/docs")
            .route(web::get().to(documents::redirect_to_docs)))
        .service(web::scope("/docs")
            .wrap(from_fn(openapi::swagger_headers))
            .service(openapi::swagger_ui()))
        .service(resource("/")
            .route(web::get().to(documents::get_console)))
        .default_service(web::to(|| async {
            Err::<actix_web::HttpResponse, _>(ApiError::new(ProblemCode::RouteNotFound))
        }));
}
