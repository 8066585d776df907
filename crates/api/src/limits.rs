//! `GET /api/limits`.

use actix_web::{HttpResponse, web::Data};
use domain::{Quota, RateLimits, Sizes};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    access::{AnyCredential, Authorized},
    socket::{SOCKET_LIMITS, frames::SocketLimits},
    state::ApiState,
};

/// Every limit in force for the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsBody {
    /// How often the caller may come.
    rates: Rates,
    /// How large things may be.
    sizes: Sizes,
    /// Seconds in which a body must arrive.
    body_seconds: u64,
    /// What holds for each socket.
    sockets: SocketLimits,
}

/// How often the caller may come.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rates {
    /// Requests, and commands on sockets.
    requests: Quota,
    /// Chats, which are requests too.
    chat: Quota,
    /// Bytes of events of agents that are created or changed: each event carries the whole agent.
    log_bytes: Quota,
    /// Open streams and sockets at once.
    streams: u32,
    /// Requests from one address without a credential that was verified lately; absent when
    /// nobody counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<Quota>,
}

impl Rates {
    fn new(limits: RateLimits, address: Option<Quota>) -> Self {
        let RateLimits {
            requests,
            chat,
            log_bytes,
            streams,
        } = limits;
        Self {
            requests,
            chat,
            log_bytes,
            streams,
            address,
        }
    }
}

/// Read every limit in force for the caller.
#[utoipa::path(
    get, path = "/api/limits", operation_id = "get_limits", tag = "Catalogue",
    responses((status = 200, description = "The limits.", body = LimitsBody)),
)]
pub async fn get_limits(
    authorized: Authorized<AnyCredential>,
    state: Data<ApiState>,
) -> HttpResponse {
    let limits = state.limits.of(authorized.entrant());
    HttpResponse::Ok().json(LimitsBody {
        rates: Rates::new(limits, state.address_quota),
        sizes: state.sizes.clone(),
        body_seconds: state.body_deadline.as_secs(),
        sockets: SOCKET_LIMITS,
    })
}
