//! What the parts of one socket share.

use std::{cell::RefCell, sync::Arc};

use actix_web::web::Data;
use application::{
    access::Entrant,
    realtime::{LogReader, Tail},
};
use domain::{Principal, ProblemCode};
use ports::StreamSlot;

use super::commands::Order;
use crate::{
    access::{Authorized, EventsRead, Requirement, SealedServices, open_stream},
    problem::{ApiError, ProblemBody},
    state::ApiState,
};

/// What the parts of one socket share.
pub(super) struct Context {
    /// What the layers need.
    pub(super) state: Data<ApiState>,
    /// The use cases.
    pub(super) services: SealedServices,
    /// Names the connection; part of each `requestId` here.
    pub(super) connection_id: String,
    /// The origin of the page that opened it, if one did.
    pub(super) page: Option<String>,
    /// Which commands wait for each other.
    pub(super) order: Order,
    /// Who is at the other end; nobody knows before `connect` when the upgrade carried no
    /// credential.
    caller: RefCell<Option<Caller>>,
}

/// Who is at the other end.
#[derive(Clone)]
pub(super) struct Caller {
    /// With what holds for its credential.
    pub(super) entrant: Arc<Entrant>,
    /// The log of its tenant.
    pub(super) tail: Arc<Tail>,
}

impl Caller {
    /// The principal.
    pub(super) fn principal(&self) -> &Principal {
        &self.entrant.principal
    }
}

/// What an entrant needs to be at the other end.
pub(super) struct Admission {
    /// Who it is.
    pub(super) caller: Caller,
    /// The use cases, as far as they are for all who listen.
    pub(super) services: Authorized<EventsRead>,
    /// Its place among the open streams of its principal; none when nobody counts them.
    pub(super) slot: Option<StreamSlot>,
}

impl Context {
    /// Of a socket that was just opened, by nobody as yet.
    pub(super) fn new(
        state: Data<ApiState>,
        services: SealedServices,
        connection_id: String,
        page: Option<String>,
    ) -> Self {
        Self {
            state,
            services,
            connection_id,
            page,
            order: Order::default(),
            caller: RefCell::new(None),
        }
    }

    /// Who is at the other end, if that is known.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.caller.borrow().clone()
    }

    /// Notes who is at the other end.
    pub(super) fn set_caller(&self, caller: Caller) {
        *self.caller.borrow_mut() = Some(caller);
    }

    /// The use cases for a caller that may do what `R` says.
    pub(super) fn open<R: Requirement>(&self, caller: &Caller) -> Result<Authorized<R>, ApiError> {
        self.services.open(Arc::clone(&caller.entrant))
    }

    /// The id by which a command is found again in the log; without one, the socket.
    pub(super) fn request_id(&self, id: Option<u64>) -> String {
        match id {
            Some(id) => format!("{}-{id}", self.connection_id),
            None => self.connection_id.clone(),
        }
    }

    /// What an error says to the client, and to the log when the server is at fault.
    pub(super) fn report(&self, id: Option<u64>, error: &ApiError) -> ProblemBody {
        let request_id = self.request_id(id);
        // To leave in order is no failure.
        if error.code.status() >= 500 && error.code != ProblemCode::Draining {
            let cause = error.source.as_ref();
            let cause = cause
                .map(|it| ports::error::chain(&**it))
                .unwrap_or_default();
            let status = error.code.status();
            tracing::error!(request_id, status, cause, "the command failed");
        }
        ProblemBody::on_socket(error, request_id)
    }
}

/// Admits an entrant, or says why not.
pub(super) async fn admit(
    state: &ApiState,
    services: &SealedServices,
    entrant: Arc<Entrant>,
) -> Result<Admission, ApiError> {
    let services = services.open::<EventsRead>(Arc::clone(&entrant))?;
    let slot = open_stream(&state.limits, &entrant).await?;
    let log: &LogReader = &services.log;
    let tail = log.tail(&entrant.principal.tenant).await?;
    Ok(Admission {
        caller: Caller { entrant, tail },
        services,
        slot,
    })
}
