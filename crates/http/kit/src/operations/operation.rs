//! An operation and its traits.

use actix_web::Route;
use domain::{CredentialKind, ProblemCode, RatePolicy, Scope};

use super::ONE_REQUEST;
use crate::problem;

/// The credential that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// None.
    Public,
    /// Any valid credential, whatever its scopes.
    AnyCredential,
    /// A credential with one of these scopes.
    AnyOf(&'static [Scope]),
}

/// The region in which an operation is answered, if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// At home: it writes, or reads what has no events, so that a replica cannot prove its age.
    Home,
    /// By a replica that has reached the required position, otherwise at home.
    Replica,
    /// By each node for itself.
    Here,
}

/// The requests that an operation answers with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// None.
    Never,
    /// All.
    Always,
    /// All, with lines of JSON in place of events.
    Lines,
    /// Those that accept `text/event-stream`.
    IfAccepted,
    /// Those whose body has `"stream": true`.
    IfRequested,
    /// Both; the body takes precedence.
    IfRequestedOrAccepted,
}

/// An operation. The traits are false unless its row names them.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a trait that a row names"
)]
pub struct Operation {
    /// The `operationId` in the OpenAPI document.
    pub id: &'static str,
    /// The HTTP method, in capitals.
    pub method: &'static str,
    /// The path template.
    pub path: &'static str,
    /// The required credential.
    pub access: Access,
    /// The rate limits of which a call takes one unit each.
    pub cost: &'static [RatePolicy],
    /// The region in which it is answered.
    pub served: Served,
    /// The kind of credential that it manages. Credentials have no versions and no events.
    pub credentials: Option<CredentialKind>,
    /// An `Idempotency-Key` is accepted.
    pub idempotent: bool,
    /// Responses contain a secret, and are not stored for repeated keys.
    pub secret: bool,
    /// `If-Match` is accepted.
    pub conditional: bool,
    /// Responses have an `ETag`.
    pub versioned: bool,
    /// A 201 has a `Location`.
    pub located: bool,
    /// Responses are as old as a position of the event log, in `X-Event-Seq`.
    pub reads_log: bool,
    /// Responses are one page of a list, with a `Link` to the next.
    pub paged: bool,
    /// The handler reads the query, and rejects unknown parameters.
    pub reads_query: bool,
    /// The requests that it answers with a stream.
    pub streams: Streams,
    /// A request may name the position after which it reads the event log.
    pub reads_after: bool,
    /// It opens a socket, and accepts tickets.
    pub opens_socket: bool,
    /// The credentials that it issues are bound to the page that requests them.
    pub binds_origin: bool,
    /// It starts a turn: problems may name it, and 200 has `Server-Timing`.
    pub starts_turn: bool,
    /// It ends a turn.
    pub ends_turn: bool,
    /// The maximum size in bytes of the bodies of keys and clients, if it is not that of all bodies.
    pub body_bytes: Option<usize>,
    /// The request body is a file, which the handler reads.
    pub takes_file: bool,
    /// A link in the query is enough, without a credential.
    pub takes_link: bool,
    /// The request body may contain files, and is larger then.
    pub contains_files: bool,
    /// The request body may be omitted.
    pub optional_body: bool,
    /// The request body refers to an agent, which may not exist.
    pub names_agent: bool,
    /// No rate limit counts it.
    pub unlimited: bool,
    /// It depends on the store, although it needs no credential.
    pub needs_store: bool,
    /// A request body is read up to its limit, although none is used.
    pub drains_body: bool,
    /// Creates the route, without the path.
    pub route: fn() -> Route,
}

impl Operation {
    /// Creates an operation without traits.
    pub const fn new(
        id: &'static str,
        method: &'static str,
        path: &'static str,
        access: Access,
        route: fn() -> Route,
    ) -> Self {
        Self {
            id,
            method,
            path,
            access,
            cost: ONE_REQUEST,
            served: match method.as_bytes() {
                b"GET" => Served::Replica,
                _ => Served::Home,
            },
            credentials: None,
            idempotent: false,
            secret: false,
            conditional: false,
            versioned: false,
            located: false,
            reads_log: false,
            paged: false,
            reads_query: false,
            streams: Streams::Never,
            reads_after: false,
            opens_socket: false,
            binds_origin: false,
            starts_turn: false,
            ends_turn: false,
            body_bytes: None,
            takes_file: false,
            takes_link: false,
            contains_files: false,
            optional_body: false,
            names_agent: false,
            unlimited: false,
            needs_store: false,
            drains_body: false,
            route,
        }
    }

    /// Returns whether a query is rejected before the handler is called: those of the API itself, whose
    /// handlers would ignore it. Clients of OAuth and of protocols may add their own parameters.
    pub(crate) fn rejects_query(&self) -> bool {
        self.is_api() && !self.reads_query && !self.paged && !self.opens_socket && !self.takes_link
    }

    /// Returns the route, without the path.
    pub fn route(&self) -> Route {
        (self.route)()
    }

    /// Returns whether it may change what the event log describes.
    pub fn is_write(&self) -> bool {
        self.method != "GET" && self.access != Access::Public
    }

    /// Returns whether it belongs to the API itself.
    pub fn is_api(&self) -> bool {
        super::is_api(self.path)
    }

    /// Returns whether it is an OAuth endpoint.
    pub fn is_oauth(&self) -> bool {
        super::is_oauth(self.path)
    }

    /// Returns whether a request names a resource, which may not exist.
    pub fn names_resource(&self) -> bool {
        self.path.contains('{') || self.names_agent
    }

    /// Returns the problem of a missing credential or agent. Operations on other resources document
    /// theirs.
    pub fn not_found(&self) -> ProblemCode {
        let credentials = self.credentials;
        credentials.map_or(ProblemCode::AgentNotFound, problem::not_found)
    }

    /// Returns whether a problem of this status may name the turn that has no reply.
    pub fn may_name_turn(&self, status: &str) -> bool {
        self.starts_turn && ["409", "500", "502", "503", "504"].contains(&status)
    }

    /// Returns whether a response of this status may be the stored response of an earlier request
    /// with the same idempotency key.
    pub fn replays(&self, status: &str) -> bool {
        let may_be_stored = status.starts_with('2') || self.may_name_turn(status);
        self.idempotent && !self.secret && may_be_stored
    }
}
