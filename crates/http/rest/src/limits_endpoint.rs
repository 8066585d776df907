//! `GET /api/limits`.

use actix_web::{HttpResponse, web::Data};
use domain::{Quota, RateLimits, Sizes, UploadQuota};
use kit::{
    auth::{AnyCredential, Authorized},
    socket_limits::SocketLimits,
    state::HttpState,
};
use serde::Serialize;
use utoipa::ToSchema;

/// All limits for the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsBody {
    /// The rate limits.
    rates: Rates,
    /// The maximum sizes.
    sizes: Sizes,
    /// The time in seconds in which a body must arrive.
    body_seconds: u64,
    /// The limits of each socket.
    sockets: SocketLimits,
}

/// The rate limits of the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rates {
    /// Requests, including commands on sockets.
    requests: Quota,
    /// Chats, which are counted as requests too.
    chat: Quota,
    /// Tokens that the caller issues to users.
    user_tokens: Quota,
    /// Bytes of the events of created and changed agents. Each event contains the whole agent.
    log_bytes: Quota,
    /// Streams and sockets that are open at the same time.
    streams: u32,
    /// Files that the caller uploads on a day of UTC; absent if they are not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    files_per_day: Option<u32>,
    /// Their bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    file_bytes_per_day: Option<u64>,
    /// Requests from one address without a recently verified credential; absent if they are not
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<Quota>,
}

impl Rates {
    fn new(limits: RateLimits, uploads: UploadQuota, address: Option<Quota>) -> Self {
        let RateLimits {
            requests,
            chat,
            user_tokens,
            log_bytes,
            streams,
        } = limits;
        Self {
            requests,
            chat,
            user_tokens,
            log_bytes,
            streams,
            files_per_day: uploads.files,
            file_bytes_per_day: uploads.bytes,
            address,
        }
    }
}

/// Read all limits for the caller.
#[utoipa::path(
    get, path = "/api/limits", operation_id = "get_limits", tag = "Catalogue",
    responses((status = 200, description = "The limits.", body = LimitsBody)),
)]
pub async fn get_limits(
    authorized: Authorized<AnyCredential>,
    state: Data<HttpState>,
) -> HttpResponse {
    let limits = state
        .rates
        .principals
        .in_force(&authorized.auth_context().limits);
    HttpResponse::Ok().json(LimitsBody {
        rates: Rates::new(limits, authorized.upload_quota(), state.rates.address_quota),
        sizes: state.bodies.sizes.clone(),
        body_seconds: state.bodies.deadline.as_secs(),
        sockets: state.rates.sockets,
    })
}
