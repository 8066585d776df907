//! State shared by the parts of one socket.

use std::{cell::RefCell, sync::Arc};

use access::AuthContext;
use actix_web::web::Data;
use application::realtime::{LogReader, Tail};
use domain::Principal;
use kit::{
    auth::{Authorized, EventsRead, Requirement, SealedServices, open_stream},
    problem::{ApiError, ProblemBody},
    state::HttpState,
};
use ports::StreamSlot;
use regions::Regions;

use super::commands::CommandOrder;

/// State shared by the parts of one socket.
pub(super) struct Context {
    /// The state of the server.
    pub(super) state: Data<HttpState>,
    /// The regions; a far one executes some commands at home.
    pub(super) regions: Data<Regions>,
    /// The use cases, sealed until the caller's scopes are checked.
    pub(super) services: SealedServices,
    /// The id of the connection, and the prefix of its request ids.
    pub(super) connection_id: String,
    /// The origin of the page that opened the socket, if any.
    pub(super) page: Option<String>,
    /// True if the upgrade names a user.
    names_user: bool,
    /// The order of commands.
    pub(super) order: CommandOrder,
    /// The authenticated caller; `None` before `connect` if the upgrade carried no credential.
    caller: RefCell<Option<Caller>>,
}

/// An authenticated caller.
#[derive(Clone)]
pub(super) struct Caller {
    /// The caller's principal and rights.
    pub(super) auth: Arc<AuthContext>,
    /// The tail of the tenant's event log.
    pub(super) tail: Arc<Tail>,
}

impl Caller {
    /// The principal.
    pub(super) fn principal(&self) -> &Principal {
        &self.auth.principal
    }
}

/// An admitted caller with all that it uses.
pub(super) struct AdmittedCaller {
    /// The caller.
    pub(super) caller: Caller,
    /// The use cases that every subscriber may use.
    pub(super) services: Authorized<EventsRead>,
    /// Its slot among the open streams of its principal; `None` if streams are not limited.
    pub(super) slot: Option<StreamSlot>,
}

impl Context {
    /// Creates the context of a new socket without a caller.
    pub(super) fn new(
        state: Data<HttpState>,
        regions: Data<Regions>,
        services: SealedServices,
        connection_id: String,
        page: Option<String>,
        names_user: bool,
    ) -> Self {
        Self {
            state,
            regions,
            services,
            connection_id,
            page,
            names_user,
            order: CommandOrder::default(),
            caller: RefCell::new(None),
        }
    }

    /// Returns the caller, once authenticated.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.caller.borrow().clone()
    }

    /// Returns whether the socket shows what a user sees that it names.
    pub(super) fn names_user(&self) -> bool {
        let caller = self.caller.borrow();
        let is_named = |caller: &Caller| caller.principal().names_user;
        self.names_user || caller.as_ref().is_some_and(is_named)
    }

    /// Sets the caller.
    pub(super) fn set_caller(&self, caller: Caller) {
        *self.caller.borrow_mut() = Some(caller);
    }

    /// Returns the use cases of the requirement `R`, if the caller meets it.
    pub(super) fn open<R: Requirement>(&self, caller: &Caller) -> Result<Authorized<R>, ApiError> {
        self.services.open(Arc::clone(&caller.auth))
    }

    /// The request id of a command, as in logs and problems; the connection id without a command.
    pub(super) fn request_id(&self, id: Option<u64>) -> String {
        match id {
            Some(id) => format!("{}-{id}", self.connection_id),
            None => self.connection_id.clone(),
        }
    }

    /// Converts an error to a problem for the client, and logs server errors.
    pub(super) fn report(&self, id: Option<u64>, error: &ApiError) -> ProblemBody {
        let request_id = self.request_id(id);
        if error.is_failure() {
            let cause = error.source.as_ref();
            let cause = cause.map(|it| ports::error::one_line(&**it));
            let status = error.code.status();
            tracing::error!(request_id, status, cause, "socket command failed");
        }
        ProblemBody::on_socket(error, request_id)
    }
}

/// Admits a caller: checks its scopes, and takes one of its stream slots.
pub(super) async fn admit(
    state: &HttpState,
    services: &SealedServices,
    auth: Arc<AuthContext>,
) -> Result<AdmittedCaller, ApiError> {
    let services = services.open::<EventsRead>(Arc::clone(&auth))?;
    let slot = open_stream(&state.rates.principals, &auth).await?;
    let log: &LogReader = &services.log;
    let tail = log.tail(&auth.principal.tenant).await?;
    Ok(AdmittedCaller {
        caller: Caller { auth, tail },
        services,
        slot,
    })
}
