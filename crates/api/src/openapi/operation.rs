//! What the document takes an operation for, by its id, its method and its path.

use domain::{CredentialKind, ProblemCode};

use crate::{access::scope_table::Access, oauth, problem};

/// An operation of the document.
pub(super) struct Operation<'a> {
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) access: Access,
}

impl Operation<'_> {
    /// Whether it is of the interface itself, with the conventions that hold there.
    pub(super) fn is_api(&self) -> bool {
        self.path.starts_with("/api/")
    }

    /// Whether it speaks OAuth.
    pub(super) fn is_oauth(&self) -> bool {
        oauth::is_endpoint(self.path)
    }

    /// Whether it gives a credential a new secret.
    pub(super) fn rotates(&self) -> bool {
        self.id.starts_with("rotate_")
    }

    /// Whether it answers one of the documents that are computed once.
    fn is_document(&self) -> bool {
        ["get_openapi", "get_asyncapi"].contains(&self.id)
    }

    /// Whether it makes a ticket: of that nothing is kept to be read, and nothing to be repeated.
    pub(super) fn makes_ticket(&self) -> bool {
        self.id == "create_ticket"
    }

    /// Whether its body may be left out, and then says nothing.
    pub(super) fn may_lack_body(&self) -> bool {
        self.rotates() || self.makes_ticket()
    }

    /// Whether it makes something that a repetition must not make again. What is cancelled twice
    /// is cancelled once.
    pub(super) fn takes_idempotency_key(&self) -> bool {
        self.is_api()
            && self.method == "post"
            && !self.id.starts_with("cancel_")
            && !self.makes_ticket()
    }

    /// Whether an answer of this status may be one that is given again because the command was
    /// repeated: not what shows a secret, as all about keys does, and no refusal but what became
    /// of a turn.
    pub(super) fn repeats_its_answer(&self, status: &str) -> bool {
        let shows_a_secret = self.credentials() == Some(CredentialKind::Key);
        let may_be_repeated = status.starts_with('2') || self.tells_of_turn(status);
        self.takes_idempotency_key() && !shows_a_secret && may_be_repeated
    }

    /// Whether a refusal of this status may say what became of a turn.
    pub(super) fn tells_of_turn(&self, status: &str) -> bool {
        self.id == "chat" && ["409", "500", "502", "503", "504"].contains(&status)
    }

    /// Whether its body names what must be there: agents, keys, clients and tickets are made out
    /// of nothing.
    pub(super) fn names_something(&self) -> bool {
        self.credentials().is_none() && self.id != "create_agent" && !self.makes_ticket()
    }

    /// Whether it changes something only in the version that the caller has seen.
    pub(super) fn is_conditional_write(&self) -> bool {
        matches!(self.method, "patch" | "put" | "delete") && self.credentials().is_none()
    }

    /// The kind of credential it is about. These have no versions, and stand outside of the log.
    pub(super) fn credentials(&self) -> Option<CredentialKind> {
        if self.path.starts_with("/api/keys") {
            Some(CredentialKind::Key)
        } else if self.path.starts_with("/api/oauth-clients") {
            Some(CredentialKind::Client)
        } else {
            None
        }
    }

    /// What it answers about what is not there.
    pub(super) fn not_found(&self) -> ProblemCode {
        let kind = self.credentials();
        kind.map_or(ProblemCode::AgentNotFound, problem::not_found)
    }

    /// Whether its answer is as old as a position of the log.
    pub(super) fn reads_log(&self) -> bool {
        let is_read = self.is_api() && self.method == "get";
        is_read && self.credentials().is_none() && !self.reads_catalogue()
    }

    /// Whether it answers one page of many.
    pub(super) fn answers_pages(&self) -> bool {
        let is_list = self.is_api() && self.id.starts_with("list_");
        is_list && !self.reads_catalogue() && self.id != "list_events"
    }

    fn reads_catalogue(&self) -> bool {
        ["list_engines", "list_capabilities", "get_limits"].contains(&self.id)
    }

    /// Whether its answer has an entity tag.
    pub(super) fn answers_versions(&self) -> bool {
        let is_single = self.path.contains("{id}") && !self.path.ends_with("messages");
        let has_versions = self.credentials().is_none() && !self.path.contains("turns");
        is_single && has_versions || self.is_document()
    }
}
